# Checks that a viewer can show this trace in the Chrome trace event format: each event has
# its fields, tracks have names, slices of one track nest. Prints what is wrong, or nothing.

# Microseconds in nanoseconds; the decimals in the file may be off by 1 ns.
def ns: . * 1000 | round;

def nests:
	[ .[] | { from: (.ts | ns), to: (.ts + .dur | ns), name } ] | sort_by(.from, -.to) |
	reduce .[] as $slice ({ open: [], wrong: [] };
		.open |= map(select(.to > $slice.from + 1)) |
		if (.open | length) > 0 and $slice.to > .open[-1].to + 1
		then .wrong += [ "\($slice.name) at \($slice.from) ends after \(.open[-1].name), in which it began" ]
		else .open += [ $slice ] end) |
	.wrong[];

.traceEvents as $events |
($events | map(select(.ph == "M" and .name == "thread_name") | { key: "\(.pid) \(.tid)", value: .args.name }) | from_entries) as $threads |
($events | map(select(.ph == "M" and .name == "process_name") | { key: "\(.pid)", value: .args.name }) | from_entries) as $processes |
(if ($events | map(select(.ph == "X")) | length) == 0 then "no slices" else empty end),
($events[] | select((.ph | IN("X", "i", "M") | not) or (.pid | type) != "number" or (.tid | type) != "number" or (.name | type) != "string") | "not an event: \(.)"),
($events[] | select(.ph == "X") | select((.ts | type) != "number" or (.dur | type) != "number" or .ts < 0 or .dur < 0) | "not a slice: \(.)"),
($events[] | select(.ph == "i") | select((.ts | type) != "number" or .s != "t") | "not an instant: \(.)"),
($events[] | select(.ph != "M") | select($threads["\(.pid) \(.tid)"] == null or $processes["\(.pid)"] == null) | "a track without a name: \(.pid) \(.tid)"),
($events | map(select(.ph == "M" and .name == "thread_name")) | group_by([.pid, .tid])[] | select(length > 1) | "a track with two names: \(.[0].pid) \(.[0].tid)"),
($events | map(select(.ph == "X")) | group_by([.pid, .tid])[] | nests)
