# Completion of raise(1) for bash.
# shellcheck shell=bash disable=SC2207

_raise() {
	COMPREPLY=($(compgen -W "-q --list $(raise --list | cut -d ' ' -f 1)" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _raise raise
