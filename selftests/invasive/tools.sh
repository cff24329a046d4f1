#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What perf, trace-cmd and bpftrace make of the traps events: all that a program
# raised, with names, filtered. While perf and BPF look at the program's stack and
# memory, they raise page faults themselves, which must not be recorded.
#
# Without a tool its tests are skipped.

dir=$(dirname "$(readlink -f "$0")")
. "$dir/../kselftest/ktap_helpers.sh"

faults=100
# See raise_traps.c.
frame=0x10000000 pages='address >= 0x20000000 && address < 0x30000000'
# How they are shown, and what follows the error code.
address='address=0x2[0-9a-f]{7}'
rest='ip=0x[0-9a-f]+ mode=user result=MINOR flags=[A-Z0-9_|]+ duration=[1-9][0-9]*ns$'
tracing=/sys/kernel/tracing
instance=$tracing/instances/traps_tools_$$
optimization=/proc/sys/debug/kprobes-optimization optimized=''
work=$(mktemp -d) || exit "$KSFT_FAIL"

cleanup() {
	[ -z "$optimized" ] || echo "$optimized" >$optimization
	[ ! -d "$instance" ] || rmdir "$instance"
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# Lines of a FILE with a PATTERN; the number expected.
expect_lines() {
	count=$(grep -cE -- "$2" "$3")
	[ "$count" -eq "$1" ] || {
		ktap_print_msg "$count lines with '$2', not $1"
		return 1
	}
}

# needs TOOL NAME: else the test NAME is skipped
needs() {
	command -v "$1" >/dev/null && return
	ktap_test_skip "$2: no $1"
	return 1
}

raise="$dir/raise_traps $faults"

# --- Tests of faults of the recording itself

# In a trace instance, all that the program raises; with the old event, which also
# has the faults on the frame that is not present.
start_instance() {
	mkdir "$instance" &&
		echo 8192 >"$instance/buffer_size_kb" &&
		echo "address == $frame" >"$instance/events/exceptions/page_fault_kernel/filter" &&
		echo 1 >"$instance/events/exceptions/page_fault_kernel/enable" &&
		echo 1 >"$instance/events/traps/enable"
}

# Were faults on the frame raised, at least once for each fault of the program, and
# none recorded?
stop_instance() {
	echo 0 >"$instance/tracing_on"
	grep -E '^ *raise_traps-.*: (page_fault_kernel|page_fault_e[a-z]*|trap_e[a-z]*): ' \
		"$instance/trace" >"$work/trace"
	rmdir "$instance"
	raised=$(grep -c "page_fault_kernel: address=$frame" "$work/trace")
	[ "$raised" -ge "$faults" ] || {
		ktap_print_msg "only $raised page faults were raised on the way"
		return 1
	}
	expect_lines 0 "page_fault_e.*: address=$frame " "$work/trace" &&
		expect_lines "$faults" "page_fault_entry: $address .* mode=user$" "$work/trace" &&
		expect_lines "$faults" "page_fault_exit: $address .* mode=user result=MINOR" \
			"$work/trace" &&
		expect_lines 2 'trap_exit: vector=#BP mode=user .* result=SIGNAL' "$work/trace"
}

# survives NAME CMD...: CMD runs the program, and records the events too
survives() {
	name=$1
	shift
	if start_instance && "$@" >"$work/out" 2>&1 && stop_instance; then
		ktap_test_pass "$name"
	else
		tail -n 3 "$work/out" | while read -r line; do ktap_print_msg "$line"; done
		ktap_test_fail "$name"
	fi
}

# perf_script ARG...: what perf records, in $work/script
perf_script() {
	perf record -q -B -N -m 2048 -o "$work/perf.data" "$@" &&
		perf script -i "$work/perf.data" -F event,trace >"$work/script" 2>/dev/null
}

perf_record() {
	perf_script "$@" &&
		expect_lines "$faults" "traps:page_fault_entry: $address " "$work/script" &&
		expect_lines "$faults" "traps:page_fault_exit: $address " "$work/script"
}

callchains() {
	name="perf record --call-graph $1"
	needs perf "$name" || return
	# shellcheck disable=SC2086 # a command
	survives "$name" perf_record -e 'traps:*' --call-graph "$1" $raise
}

bpf() {
	name="bpftrace: $2 in $1"
	needs bpftrace "$name" || return
	survives "$name" timeout 600 bpftrace -e "$1 /comm == \"raise_traps\"/ { $2 }" -c "$raise"
}

# --- Tests of what the tools show

perf_stat() {
	# shellcheck disable=SC2086 # a command
	perf stat -x ' ' -o "$work/stat" -e 'traps:*' $raise || return
	entries=$(awk '$2 == "traps:page_fault_entry" { print $1 }' "$work/stat")
	exits=$(awk '$2 == "traps:page_fault_exit" { print $1 }' "$work/stat")
	expect_lines 1 '^2 +traps:trap_entry ' "$work/stat" &&
		expect_lines 1 '^2 +traps:trap_exit ' "$work/stat" &&
		[ "$entries" -ge $faults ] && [ "$entries" = "$exits" ]
}

# perf_filtered COUNT FILTER: the lines of perf script
perf_filtered() {
	# shellcheck disable=SC2086 # a command
	perf_script -e traps:page_fault_exit --filter "$2" $raise &&
		expect_lines "$1" "traps:page_fault_exit: $address error_code=USER $rest" \
			"$work/script"
}

# Fields that are 0 are left out; numbers depend on the version of perf.
perf_trace() {
	page="(0x20000000|$((0x20000000)))"
	# shellcheck disable=SC2086 # a command
	perf trace --no-syscalls -e 'traps:*' -o "$work/out" $raise &&
		expect_lines 1 "traps:page_fault_entry\(address: $page, error_code: 4, " \
			"$work/out" &&
		expect_lines 1 "traps:page_fault_exit\(address: $page, .*duration: [1-9]" \
			"$work/out" &&
		expect_lines 2 'traps:trap_exit\(vector: (0x)?3, .*duration: [1-9]' "$work/out"
}

trace_cmd_filtered() {
	# shellcheck disable=SC2086 # a command
	trace-cmd record -q -o "$work/trace.dat" -e traps:page_fault_exit -f "$pages" $raise \
		>"$work/out" 2>&1 &&
		trace-cmd report -q -i "$work/trace.dat" >"$work/out" &&
		expect_lines "$faults" "page_fault_exit: +$address error_code=USER $rest" \
			"$work/out" &&
		expect_lines "$faults" 'page_fault_exit:' "$work/out"
}

# What is recorded in the instance, by the kernel and by trace-cmd, which leaves out the
# size of a function.
trace_cmd_text() {
	mkdir "$instance" &&
		echo 1 >"$instance/events/traps/enable" &&
		$raise &&
		echo 0 >"$instance/tracing_on" || return
	event='s/.*: (trap_e[a-z]*|page_fault_e[a-z]*): */\1: /p'
	sed -nE "s,(\+0x[0-9a-f]+)/0x[0-9a-f]+,\1,; $event" "$instance/trace" >"$work/trace"
	trace-cmd extract -B "${instance##*/}" -o "$work/trace.dat" >"$work/out" 2>&1 || return
	[ ! -d "$instance" ] || rmdir "$instance"
	trace-cmd report -q -i "$work/trace.dat" | sed -nE "$event" >"$work/out"
	[ -s "$work/trace" ] && cmp "$work/trace" "$work/out"
}

# shows TOOL NAME FUNCTION ARG...
shows() {
	tool=$1 name=$2
	shift 2
	needs "$tool" "$name" || return
	if "$@"; then
		ktap_test_pass "$name"
	else
		ktap_test_fail "$name"
	fi
}

ktap_print_header
if [ "$(id -u)" -ne 0 ] || [ ! -d "$tracing/events/traps" ]; then
	ktap_skip_all 'needs root and events/traps in tracefs'
	exit "$KSFT_SKIP"
fi
ktap_set_plan 11

callchains fp
callchains dwarf,1024
bpf tracepoint:traps:page_fault_entry "@ = str(uptr($frame));"
bpf tracepoint:traps:page_fault_exit "@ = *(uint64 *)uptr($frame);"
# By a breakpoint: optimized, it would not be in an NMI's context.
optimized=$(cat $optimization)
echo 0 >$optimization
bpf kprobe:trace_event_raw_event_page_fault_exit "@ = str(uptr($frame));"
echo "$optimized" >$optimization

shows perf 'perf stat: all are counted' perf_stat
shows perf 'perf record: filter that accepts' perf_filtered $faults 'duration > 0'
shows perf 'perf record: filter that rejects' perf_filtered 0 'result == 6'
shows perf 'perf trace: all fields' perf_trace
shows trace-cmd 'trace-cmd record: filter' trace_cmd_filtered
shows trace-cmd 'trace-cmd report: the text of the kernel' trace_cmd_text
ktap_finished
