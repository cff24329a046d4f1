# Completion of slowfault(1) and lend(8) for bash.
# shellcheck shell=bash disable=SC2207

_slowfault() {
	local cases
	cases=$("$1" 2>/dev/null | sed -n 's/^\([a-z]*\)  .*/\1/p')
	COMPREPLY=($(compgen -W "-n $cases" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _slowfault slowfault

_lend() {
	local first=3
	[[ ${COMP_WORDS[1]} != zram ]] || first=2
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W 'swap zram disk memory' -- "${COMP_WORDS[1]}"))
	elif ((COMP_CWORD >= first)) && declare -F _command_offset >/dev/null; then
		_command_offset $first
	fi
}
complete -F _lend lend
