# section.awk - the table of one machine from the TAP output of its tests
#
# usage: awk -v machine=MACHINE -f section.awk impossible LOG...

function fail(text) {
	print text
	failed = 1
	exit 1
}

# The vector that a test's variant raises: the name up to an underscore.
function vector_of(name) {
	if (name ~ /^old_mf/)
		return "OLD_MF"
	sub(/_.*/, "", name)
	return name in by_variant ? by_variant[name] : ""
}

function has(mode, vector) {
	return (mode, vector) in passed || (mode, vector) in reason
}

BEGIN {
	FS = "\t"
	rows = split("#DE #DB NMI #BP #OF #BR #UD #NM #DF OLD_MF #TS #NP #SS #GP #PF " \
		     "SPURIOUS #MF #AC #MC #XF #VE #CP #VC IRET", row, " ")
	split("0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 29 32", number, " ")
	for (i = 1; i <= rows; i++) {
		variant = tolower(row[i])
		sub(/^#/, "", variant)
		by_variant[variant] = row[i]
	}
	modes = machine ~ /^x86_64/ ? 3 : 2
	split(modes == 3 ? "user user32 kernel" : "user kernel", mode, " ")
	results = split("MINOR MAJOR RETRY OOM SIGBUS HWPOISON SIGSEGV FIXUP SPURIOUS KERNEL " \
			"CONSUMED EMULATED HANDLED OOPS SIGNAL", result, " ")
	split(modes == 3 ? "64-bit program,32-bit program,kernel" : "program,kernel", title, ",")
}

# --- impossible
FILENAME ~ /impossible$/ {
	if (/^#/)
		next
	if ($1 == "*" || $1 == machine)
		for (i = 1; i <= modes; i++)
			if ($2 == "*" || $2 == mode[i])
				why[mode[i], $3] = $4
	if (($1 == "*" || $1 == machine) && $2 == "result")
		why["result", $3] = $4
	next
}

# --- logs
/^# machine: / {
	if (!name) {
		# Another package of the same release does not make the page stale.
		name = substr($0, 12)
		sub(/QEMU emulator version/, "QEMU", name)
		sub(/ \(Debian[^)]*\)/, "", name)
		while (match(name, /[0-9]+\.[0-9]+[.+~-][^ ,;]*/)) {
			rest = substr(name, RSTART + RLENGTH)
			before = substr(name, 1, RSTART - 1)
			version = substr(name, RSTART, RLENGTH)
			match(version, /[0-9]+\.[0-9]+/)
			name = before substr(version, 1, RLENGTH) rest
		}
	}
	next
}
/^# test / {
	program = $0
	sub(/.*:/, "", program)
	next
}
# The line of a test that expects an exception to end so
/^# [^ ]*:result [A-Z]+$/ {
	sub(/.* /, "")
	expected[$0]
	next
}
/^(not )?ok / {
	test = $0
	sub(/^(not )?ok [0-9]+ /, "", test)
	skip = ""
	if (match(test, / # SKIP /)) {
		skip = substr(test, RSTART + 8)
		test = substr(test, 1, RSTART - 1)
	}
	for (r in expected)
		if (skip == "" && !/^not /)
			ended[r]++
	split("", expected)
	split(test, part, ".")
	in_mode = program ~ /_32$/ ? "user32" : "user"
	if (part[1] == "kernel" || part[2] ~ /^kernel/)
		in_mode = "kernel"
	if (part[1] ~ /^(trap|kernel)$/)
		vector = vector_of(part[2])
	else if (part[1] ~ /^(fault|several)$/)
		vector = "#PF"
	else if (part[1] ~ /^kernel_/) {
		vector = vector_of(substr(part[1], 8))
		in_mode = "kernel"
	} else if (part[1] == "nmi")
		vector = "NMI"
	else if (part[1] == "double_fault")
		vector = "#DF"
	else
		next
	if (vector == "")
		fail("no vector is known for " test)
	if ($0 ~ /^not /)
		fail(test " failed")
	if (skip == "")
		passed[in_mode, vector]++
	else
		reason[in_mode, vector] = skip
}

END {
	if (failed)
		exit 1
	printf "## %s\n\n| vector | |", name
	for (i = 1; i <= modes; i++)
		printf " %s |", title[i]
	printf "\n| --- | --- |"
	for (i = 1; i <= modes; i++)
		printf " --- |"
	print ""
	for (r = 1; r <= rows; r++) {
		printf "| %d | %s |", number[r], row[r]
		for (i = 1; i <= modes; i++) {
			if ((mode[i], row[r]) in passed) {
				if ((mode[i], row[r]) in why)
					fail(row[r] ": " mode[i] ": passed, and impossible says: " why[mode[i], row[r]])
				printf " %d passed |", passed[mode[i], row[r]]
			} else if ((mode[i], row[r]) in reason)
				printf " %s |", reason[mode[i], row[r]]
			else if ((mode[i], row[r]) in why)
				printf " %s |", why[mode[i], row[r]]
			else
				fail(row[r] ": " mode[i] ": no test and no reason")
		}
		print ""
	}
	print "\n| ended with | |\n| --- | --- |"
	for (r = 1; r <= results; r++) {
		printf "| %s | ", result[r]
		if (result[r] in ended) {
			if (("result", result[r]) in why)
				fail(result[r] ": passed, and impossible says: " why["result", result[r]])
			printf "%d passed |\n", ended[result[r]]
		} else if (("result", result[r]) in why)
			printf "%s |\n", why["result", result[r]]
		else
			fail(result[r] ": no test and no reason")
	}
}
