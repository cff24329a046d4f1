# fill.awk - a template with numbers of results/VERSION.tsv instead of {...}
#
# usage: awk -F '\t' [-v bars=FILE] -f fill.awk results/VERSION.tsv TEMPLATE
#
#	{kernel:setup:kind}		the number; kernel:setup:kind:mean is the mean
#	{+ kernel:setup:kind}		what it costs over the vanilla kernel, nothing on
#	{- A; B}	{/ A; B}	A less B, the cost of A in terms of that of B
#	{% A; B}			percent that A is more than B
#	{: A; B}			A divided by B
#	{* kernel:setup:kind}		the number, a ratio
#	{head}  {bars}			the results' head; the text of the file bars
#
# A number that was not measured is an error.

function get(which,	part, n) {
	n = split(which, part, ":")
	which = part[1] ":" part[2] ":" part[3]
	if (!(which in best)) {
		print "fill.awk: " which " was not measured" >"/dev/stderr"
		failed = 1
		return 1
	}
	return n > 3 ? mean[which] : best[which]
}
function cost(which,	part) {
	split(which, part, ":")
	return get(which) - get("vanilla" (part[1] ~ /-Os$/ ? "-Os" : "") ":off:" part[3])
}
function file(name,	line, all) {
	while ((getline line <name) > 0)
		all = all (all ? "\n" : "") line
	return all
}
function value(text,	op, a, b) {
	if (text == "head")
		return head
	if (text == "bars")
		return file(bars)
	op = substr(text, 1, 1)
	if (!index("+-/%:*", op))
		return number(get(text))
	text = substr(text, 3)
	a = b = text
	sub(/;.*/, "", a)
	sub(/.*; */, "", b)
	if (op == "+")
		return number(cost(text))
	if (op == "*")
		return sprintf("%.2f", get(text))
	if (op == "-")
		return number(get(a) - get(b))
	if (op == "/")
		return sprintf("%.2f", cost(a) / cost(b))
	if (op == ":")
		return sprintf("%.2f", get(a) / get(b))
	return sprintf("%.2f", (get(a) / get(b) - 1) * 100)
}
function number(n) {
	n = sprintf("%.0f", n)
	return n == "-0" ? "0" : n
}
FNR == NR {
	if (sub(/^# /, "")) {
		head = head (head ? "\n" : "") $0
	} else {
		best[$1 ":" $2 ":" $3] = $4
		mean[$1 ":" $2 ":" $3] = $5
	}
	next
}
{
	while (match($0, /\{[^}]*\}/))
		$0 = substr($0, 1, RSTART - 1) value(substr($0, RSTART + 1, RLENGTH - 2)) \
		     substr($0, RSTART + RLENGTH)
	print
}
END { exit failed }
