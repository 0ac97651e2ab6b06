# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Run the suite's programs where they cannot test, and look at what they answer.  Sourced
# by the programs of this folder, after test_lib.sh.

SUITE=/uobjscope/install/uobjscope

# Those that are run when nobody asks for others.
suite()
{
	sed -n 's/^uobjscope://p' /uobjscope/install/kselftest-list.txt | grep -vE '^(bench|drgn|pyverbs)_'
}

# answer COMMAND...: what the program said is in $w/said, its exit status in $status.
answer()
{
	(cd $SUITE && timeout 100 "$@") > "$w/said" 2>&1 < /dev/null
	status=$?
}

results() { grep -E '^(not )?ok [0-9]|^1[.][.]0 # SKIP' "$w/said"; }

# In a crowd of diagnostics what is asked for is hard to find.
show_answer()
{
	echo "exit status $status; it said:"
	grep -vE '^#' "$w/said" | head -n 40
	grep -E '^#' "$w/said" | tail -n 20
}

# What needs nothing of the machine is run wherever it is.
NEEDS_NOTHING='ok [0-9]* [a-z_]*[.]*rules_of_known_issues$'

# all_skipped: each test was, with a reason, and the exit status says so.
all_skipped()
{
	expected=$KSFT_SKIP
	! results | grep -q "^$NEEDS_NOTHING" || expected=0
	if ! results | grep -qE '# SKIP ..' || [ "$status" != "$expected" ] ||
	   results | grep -v "^$NEEDS_NOTHING" | grep -vE '^(ok [0-9]|1[.][.]0).*# SKIP ..'; then
		show_answer
		return 1
	fi
}

# none_failed: tests passed, or were skipped with a reason.
none_failed()
{
	if ! results | grep -q . || results | grep -qE '^not ok|# SKIP *$' ||
	   { [ "$status" != 0 ] && [ "$status" != "$KSFT_SKIP" ]; }; then
		show_answer
		return 1
	fi
}

# every_program COMMAND...: a test for each program of the suite, which the command gets
# the path of.  All must be skipped, of those in $independent none may fail.
independent=
every_program()
{
	for program in $(suite); do
		check=all_skipped
		case " $independent " in *" $program "*) check=none_failed ;; esac
		run_as "$program" one_program "$check" "$@" "./$program"
	done
}

one_program()
{
	check=$1
	shift
	answer "$@"
	"$check"
}

begin()		# NUMBER of tests beside the programs
{
	w=$(mktemp -d)
	trap 'rm -rf "$w"' EXIT
	ktap_print_header
	plan $(($(suite | wc -l) + $1))
}
