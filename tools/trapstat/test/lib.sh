# Sourced by the scripts here (sh), which run in the guest, and whose argument is BUILD: trapstat,
# raise and slowfault are built there, and in trapstat/sanitized a trapstat with sanitizers.
# shellcheck shell=sh disable=SC2034 # variables of the scripts, and of guest.sh

. "$(dirname "$0")/../../../ci/checks/guest.sh"
trapstat=$1/trapstat/trapstat raise=$1/raise/raise slowfault=$1/slowfault/slowfault
sanitized=$1/trapstat/sanitized/trapstat
# without any feature that can be left out
bare=$1/trapstat/bare/trapstat without='trapstat was built without it; to build it in, install'
here=$(cd "$(dirname "$0")" && pwd)
PATH=$1/trapstat:$1/raise:$1/slowfault:$PATH
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
export LSAN_OPTIONS=suppressions=${sanitized%/*}/libraries:print_suppressions=0
cd "$(mktemp -d)" || exit 1

# expect STATUS TEXT CMD...: what CMD exits with and the only line it says on stderr
expect() {
	status=$1 text=$2
	shift 2
	timeout 900 "$@" 2>said >/dev/null </dev/null
	got=$?
	[ "$got" -eq "$status" ] || { echo "$*: exit status $got, not $status"; cat said; return 1; }
	[ "$(cat said)" = "${text:+trapstat: $text}" ] || { echo "$*: says"; cat said; return 1; }
}

# A row's figure: number FILE TABLE 'JQ CONDITION' FIELD
number() { jq -s "[.[].$2.rows[] | select($3) | .$4] | add // 0" "$1"; }
equal() { [ "$1" -eq "$2" ] || { echo "$1, not $2"; return 1; }; }

[ -z "${on_host-}" ] || { first_state=''; return 0; }

instances() { ls $tracing/instances; }
programs() { bpftool prog show | grep '^[0-9]' | cut -d ' ' -f 2-5; }
programs_before=$(programs)
# The kernel frees programs a moment after their last user has ended.
no_programs() { [ "$(programs)" = "$programs_before" ]; }
# clean: trapstat has left no instance, program, recorder or file of one
clean() {
	wait_for no_programs || programs
	left=$(instances; pgrep -ax trace-cmd; find . -name '*.cpu[0-9]*' -o -name '*.trapstat')
	[ -z "$left" ] || { echo "left: $left"; return 1; }
	no_programs
}
lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
# go_on NUMBER PID...: when trapstat has written so many intervals to json, or never will
go_on() {
	wait_for lines json "$1"
	shift
	kill -s CONT "$@"
}
# is_counting PID: by BPF or a histogram
is_counting() {
	find "/proc/$1/fd" -lname 'anon_inode:bpf*link*' 2>/dev/null | grep -q . ||
		grep -qs '^hist' "$tracing/instances/trapstat-$1/events/traps/page_fault_exit/trigger"
}

# The first recording makes the kernel's buffer as large as it is said to be.
sched() { trace-cmd record -q -e sched:sched_switch -o sched.dat true && trace-cmd reset; }
check 'another recording is made' sched
