# SPDX-License-Identifier: GPL-2.0
#
# kselftest-results.awk: of what run_kselftest.sh prints, with the results of each program
# nested behind number signs, a line for each test: "PROGRAM.TEST pass|fail|skip".  A test
# that was planned and has no result is a failure, as is a program that ends badly with good
# results only, and one that does not end.

function tell(name, result)
{
	gsub(/[^-A-Za-z0-9_.@:]/, "_", name)
	print name, result
	if (result == "fail")
		failed = 1
}

# As TAP has it; a known fault that was seen (XFAIL) counts as passed.
function verdict(line)
{
	if (line ~ /^not ok/)
		return "fail"
	return line ~ /# *SKIP/ ? "skip" : "pass"
}

function begin(name)
{
	if (program)
		end("not ok")
	program = name
	plan = seen = failed = skipped_whole = 0
}

function end(line, n)
{
	for (n = seen + 1; n <= plan; n++)
		tell(program ".not-run-" n, "fail")
	if (skipped_whole && !seen)
		tell(program, verdict(line) == "fail" ? "fail" : "skip")
	else if (!seen && !plan)
		tell(program, verdict(line))
	else if (line ~ /^not ok/ && !failed)
		tell(program, "fail")
	program = ""
}

/^1[.][.][0-9]+/ && !planned { planned = substr($1, 4) + 0 }
/^# selftests: [^ ]+: [^ ]+$/ { begin($4); begun++; next }
program && /^# 1[.][.][0-9]+/ {
	plan = substr($2, 4) + 0
	skipped_whole = plan == 0 && /# *SKIP/
	next
}
program && /^# (not )?ok / {
	line = substr($0, 3)
	result = verdict(line)
	sub(/^(not )?ok *[0-9]* *(- )?/, "", line)
	sub(/ *#.*/, "", line)
	tell(program "." (line ? line : "test-" seen + 1), result)
	seen++
	next
}
program && /^(not )?ok [0-9]+ selftests: / { end($0) }
END {
	if (program)
		end("not ok")
	for (n = begun + 1; n <= planned; n++)
		tell("program-" n ".not-run", "fail")
	if (!begun)
		tell("nothing-was-run", "fail")
}
