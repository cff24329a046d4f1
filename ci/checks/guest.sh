# Sourced by what a check runs in the guest (sh): counts what succeeds, in a directory of its own,
# and looks whether tracefs is left as it was.
# shellcheck shell=sh

tracing=/sys/kernel/tracing
passed=0 failed=0

# In seconds; a check may set the clock.
uptime() { cut -d . -f 1 /proc/uptime; }

# check WHAT CMD...: CMD succeeds. With $STOP, the first that fails twice is the last.
check() {
	what=$1 began=$(uptime)
	shift
	if "$@" >out 2>err || { [ "${STOP-}" ] && "$@" >out 2>err; }; then
		passed=$((passed + 1))
		echo "ok: $what ($(($(uptime) - began)) s)"
	else
		failed=$((failed + 1))
		echo "not ok: $what"
		sed 's/^/  | /' out err | tail -n 15
		[ -z "${STOP-}" ] || exit 1
	fi
}

# expect_lines NUMBER PATTERN [FILE]: so many of FILE, or of "lines"
expect_lines() {
	count=$(grep -cE -- "$2" "${3-lines}")
	[ "$count" -eq "$1" ] || { echo "$count lines with '$2', not $1"; head -n 20 "${3-lines}"; return 1; }
}

# stopped PID: by a signal
stopped() { grep -q '^State:.T' "/proc/$1/status"; }

# wait_for CMD...: until CMD succeeds; a quarter of an hour is not that of a slow machine
wait_for() {
	since=$(uptime)
	until "$@"; do
		[ $(($(uptime) - since)) -lt 900 ] || { echo "waited in vain: $*"; return 1; }
		sleep 0.05
	done
}

# What a program that traces has to leave as it was. If it cannot be read, it is never the same.
state() {
	(
		cd $tracing || { date +%N; exit 1; }
		grep -s '' tracing_on trace_clock trace_options current_tracer buffer_size_kb set_event \
			set_event_pid set_event_notrace_pid tracing_cpumask set_ftrace_filter \
			set_ftrace_pid events/enable events/traps/*/enable events/traps/*/filter \
			events/traps/*/trigger events/sched/sched_*/trigger dynamic_events \
			synthetic_events osnoise/[a-z]*
		ls instances
	)
}
# The buffer gets its size now, and not when something is recorded first.
buffer_size=$(sed -n 's/.*expanded: \([0-9]*\).*/\1/p' $tracing/buffer_size_kb 2>/dev/null)
[ -z "$buffer_size" ] || echo "$buffer_size" >$tracing/buffer_size_kb
first_state=$(state)
same_state() { printf '%s\n' "$first_state" >state.first && state | diff state.first -; }
# as_it_was: of which the summary makes a check, if the script has not done so
as_it_was() {
	[ -z "$first_state" ] || check 'tracefs is as it was' same_state
	first_state=''
}

summary() {
	as_it_was
	echo "$passed checks passed, $failed failed"
	[ $failed -eq 0 ]
}
