# callsites.awk - the exception handlers of arch/x86, and what records them
#
# Reads asm/idtentry.h first, then the files that define handlers. Prints a line
#
#	MACRO(NAME) <tab> FILE:LINE <tab> RECORDED-BY
#
# for each handler. RECORDED-BY is "macro", "itself", the functions of the same file that
# the handler reaches and that record, the handlers that it calls, or "-". What records
# one end of a handler has to record the other one, too.

function is_recording(text) {
	return text ~ /[^a-z_]record_(trap|page_fault)\(/ ||
	       text ~ /[^a-z_](trap_begin|record_trap_entry)\(/ && text ~ /[^a-z_](trap_end|record_trap_exit)\(/
}

# Does the macro record by itself?
function macro_records(macro) {
	if (macro in recording)
		return recording[macro]
	recording[macro] = 0
	if (is_recording(macro_text[macro]))
		recording[macro] = 1
	else if (match(macro_text[macro], /DEFINE_(IDT|FRED)ENTRY[A-Z_]*/))
		recording[macro] = macro_records(substr(macro_text[macro], RSTART, RLENGTH))
	return recording[macro]
}

# The name of the function that the macro defines.
function function_of(macro, name) {
	if (macro ~ /^DEFINE_FREDENTRY/)
		return "fred_" name
	return macro ~ /_(NOIST|MCE_USER|DEBUG_USER)$/ ? "noist_" name : name
}

# Add what records the function to result[], going through the calls of its file.
function reach(file, name, direct,	text, call, rest) {
	if (seen[file, name]++)
		return
	text = body[file, name]
	if (is_recording(text)) {
		add(direct ? "itself" : name)
		return
	}
	rest = text
	while (match(rest, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
		call = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
		sub(/[ \t]*\($/, "", call)
		if (call in handler && direct)
			add(call)
		else if ((file, call) in body)
			reach(file, call, 0)
	}
}

function add(name) {
	if (!((" " result " ") ~ (" " name " ")))
		result = result (result ? " " : "") name
}

FNR == 1 {
	header = NR == 1
	inside = ""
	comment = 0
}

# Comments are no code.
{
	if (comment) {
		if (!sub(/^.*\*\//, ""))
			next
		comment = 0
	}
	gsub(/\/\*[^*]*\*\//, "")
	if (sub(/\/\*.*$/, ""))
		comment = 1
	sub(/\/\/.*$/, "")
}

header && /^#define[ \t]+DEFINE_(IDT|FRED)ENTRY/ {
	macro = $2
	sub(/\(.*/, "", macro)
	text = $0
	sub(/^#define[ \t]+[A-Z_]+(\([a-z_, ]*\))?/, "", text)
	while (/\\$/ && (getline > 0))
		text = text "\n" $0
	macro_text[macro] = macro_text[macro] text
	next
}

header && /^DECLARE_IDTENTRY/ {
	name = $0
	sub(/\).*/, "", name)
	sub(/.*[ \t,(]/, "", name)
	declared[name] = FILENAME ":" FNR
	how[name] = $0
	sub(/\(.*/, "", how[name])
	next
}

header { next }

# A handler begins.
/^DEFINE_(IDT|FRED)ENTRY[A-Z_]*\(/ {
	macro = $0
	sub(/\(.*/, "", macro)
	name = $0
	sub(/^[A-Z_0-9]*\([ \t]*/, "", name)
	sub(/[ \t]*[,)].*/, "", name)
	n++
	# Two definitions of one name, told apart by #ifdef, differ in their macros.
	inside = text_of[n] = macro "(" name ")"
	place[n] = FILENAME ":" FNR
	file_of[n] = FILENAME
	macro_of[n] = macro
	defined[name] = 1
	handler[function_of(macro, name)] = 1
	next
}

# Any other function: what comes before the first parenthesis at the margin.
/^[A-Za-z_].*\(/ && !/;[ \t]*$/ && !/^(static )?(DEFINE|DECLARE|EXPORT|MODULE)/ {
	inside = $0
	sub(/[ \t]*\(.*/, "", inside)
	sub(/.*[ \t*]/, "", inside)
	next
}

/^}/ { inside = "" }
inside { body[FILENAME, inside] = body[FILENAME, inside] "\n" $0 }

END {
	for (i = 1; i <= n; i++) {
		result = ""
		split("", seen)
		if (macro_records(macro_of[i]))
			result = "macro"
		else
			reach(file_of[i], text_of[i], 1)
		print text_of[i] "\t" place[i] "\t" (result ? result : "-")
	}
	for (name in declared)
		if (!(name in defined))
			print how[name] "(" name ")\t" declared[name] "\t-"
}
