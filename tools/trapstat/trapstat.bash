# Completion of trapstat(8) for bash.
# shellcheck shell=bash

_trapstat() {
	local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
	local options='-a -C -c -d -e -f -g -h -i -l -m -n -o -p -S -s -t -u -v --json --lines --no-bpf --openmetrics --total --version --help'

	# After -c, complete another command.
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -c && ${COMP_WORDS[1]} != report ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
			elif ((i + 1 == COMP_CWORD)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$current")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$current")
			fi
			return
		fi
	done
	[[ ${COMP_WORDS[1]} == report && $COMP_CWORD -gt 1 ]] && options='-a -d -f -g -l -n -s -t -v -w --perfetto --json --lines --help'
	[[ ${COMP_WORDS[1]} == serve && $COMP_CWORD -gt 1 ]] && options='-C -e -g -p -S --no-bpf --help'
	[[ ${COMP_WORDS[1]} == top && $COMP_CWORD -gt 1 ]] && options='-a -C -d -e -f -g -h -l -n -p -S -s -t -v --no-bpf --lines --help'

	case $previous in
	-o | --openmetrics) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
	-p) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$current") ;;
	-g) mapfile -t COMPREPLY < <(compgen -W 'thread process command user cgroup' -- "$current") ;;
	-C | -e | -i | -m | -n | -S | -w) COMPREPLY=() ;;
	*)
		if [[ $current == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
		elif [[ ${COMP_WORDS[1]} == report && $COMP_CWORD -gt 1 ]]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
		elif ((COMP_CWORD == 1)); then
			mapfile -t COMPREPLY < <(compgen -W 'report serve top' -- "$current")
		fi
		;;
	esac
}
complete -o filenames -F _trapstat trapstat
