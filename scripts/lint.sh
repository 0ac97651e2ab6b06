#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Static checks of everything in the tree.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"
cd "$TOP"

files()		# of the tree: what git has and what is new and not ignored
{
	git ls-files --cached --others --exclude-standard "$@" | while read -r f; do
		[ ! -f "$f" ] || echo "$f"
	done
}

shell_scripts()
{
	files '*.sh' .ci/run
	files | grep -E '^scripts/guest/init$'
}

check_shell()
{
	# SC2016: what other shells are to expand stands in single quotes.
	# shellcheck disable=SC2046
	shellcheck --exclude=SC2016 --external-sources --source-path="$TOP" $(shell_scripts)
}

check_python()
{
	files '*.py' | while read -r f; do
		python3 -W error -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$f"
	done
}

check_spdx()
{
	local bad=0 f
	for f in $(files '*.c' '*.h' '*.sh' '*.py' '*.rst' '*Makefile' '*Kbuild' .ci/run scripts/guest/init); do
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0' || {
			echo "$f: no SPDX line"
			bad=1
		}
	done
	return $bad
}

# What the virtual HCA knows and complains of is in its documentation, and so is the lab.
check_documentation()
{
	local text=Documentation/vhca.rst bad=0 commands violations word
	commands=$(sed -nE 's/^\t(OTHER|PLAIN|CREATE|DESTROY|COMMAND)\(([A-Z0-9_]+),.*/\2/p' \
		kernel/vhca/cmd_table.c)
	violations=$(grep -hoE 'violation(_of)?\((w->)?v, "[a-z_]+"' kernel/vhca/*.c | cut -d'"' -f2 | sort -u)
	if [ "$(echo "$commands" | wc -l)" -lt 40 ] || [ "$(echo "$violations" | wc -l)" -lt 10 ]; then
		echo "the tables of kernel/vhca are not where they were"
		return 1
	fi
	for word in $commands $violations; do
		grep -qwF -- "$word" "$text" || { echo "$text: nothing of $word"; bad=1; }
	done
	text=Documentation/lab.rst
	for word in scripts/lab/*.sh; do
		word=${word##*/}
		[ "$word" = lib.sh ] || grep -q "^$word " "$text" ||
			{ echo "$text: nothing of $word"; bad=1; }
	done
	return $bad
}

# The catalogue, the tests' comments and Documentation/invariants.rst agree.
check_invariants()
{
	scripts/invariants.py check
}

# Stated exceptions, each for a reason:
#   FILE_PATH_CHANGES   there is no MAINTAINERS file in this tree
#   LINE_SPACING        kselftest_harness.h declares fixtures with function-like macros
#   MACRO_ARG_REUSE     the harness' own macros, and ours that wrap them
#   CAMELCASE           libibverbs' names
#   USE_NEGATIVE_ERRNO  functions of ours return an errno as those of libibverbs do
#   PREFER_DEFINED_ATTRIBUTE_MACRO  it is the definition of that macro
#   PREFER_KERNEL_TYPES the programs' types are those of rdma-core's interfaces
#   OPEN_ENDED_LINE, PARENTHESIS_ALIGNMENT  headers of tracepoints, which the kernel writes so
exceptions=FILE_PATH_CHANGES,CAMELCASE
trace_exceptions=$exceptions,OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT
user_exceptions=$exceptions,LINE_SPACING,MACRO_ARG_REUSE,PREFER_KERNEL_TYPES,USE_NEGATIVE_ERRNO,PREFER_DEFINED_ATTRIBUTE_MACRO

check_patch()	# EXCEPTIONS FILE...
{
	local ignore=$1 rc=0
	shift
	# Some at a time, as it takes long to begin, on all processors.
	printf '%s\0' "$@" | xargs -0 -n 25 -P "$(nproc)" \
		perl "$("$LAB/kernel.sh" source)/scripts/checkpatch.pl" --strict --no-tree --quiet \
		--terse --show-types --max-line-length=100 --ignore "$ignore" --file > "$said" ||
		rc=1
	grep -v '^total: 0 errors, 0 warnings, 0 checks' "$said"
	return $rc
}

# Candidate fixes are what a mailing list wants to have, but for a name below them.
check_fixes()
{
	local rc=0 f
	# What git knows is looked at as a file, and not as the patch that it is.
	for f; do
		perl "$("$LAB/kernel.sh" source)/scripts/checkpatch.pl" --strict --no-tree --quiet \
			--terse --show-types --no-signoff - < "$f" | sed "s,^-:,$f:," > "$said"
		grep -v '^total: 0 errors, 0 warnings, 0 checks' "$said" && rc=1
	done
	return $rc
}

# All patches of the kernel are for this one, and apply as they are.
check_patches_apply()
{
	local source rc=0 p
	source=$("$LAB/kernel.sh" source)
	for p; do
		patch -p1 -s -f --fuzz=0 --dry-run -d "$source" -r - -i "$TOP/$p" || {
			echo "$p does not apply to ${source%/*}"
			rc=1
		}
	done
	return $rc
}

check_modules()
{
	local log=$BUILD/$KERNEL/modules.log
	rm -rf "${BUILD:?}/$KERNEL/modules"
	MODULE_FLAGS=C=2 "$LAB/build.sh" modules || return 1
	# sparse that did not run has no warnings either.  release.c is for older kernels only.
	checked=$(grep -c '^ *CHECK ' "$log") || :
	[ "$checked" -ge "$(files 'kernel/*.c' 'selftests/modules/*.c' | grep -vc '_kunit\|/release[.]c')" ] ||
		{ echo "sparse looked at $checked files only"; return 1; }
	scripts/warnings.sh "$log"
}

check_selftests()
{
	rm -rf "${BUILD:?}/$KERNEL/selftests"
	"$LAB/build.sh" selftests || return 1
	scripts/warnings.sh "$BUILD/$KERNEL/selftests.log"
}

said=$(mktemp)
trap 'rm -f "$said"' EXIT
# In the folders of the runs, which then have nothing left to build.
export BUILD=${BUILD:-$TOP/build}
check shellcheck check_shell
check python-syntax check_python
check spdx check_spdx
check documentation check_documentation
check invariants check_invariants
mapfile -t kernel_files < <(files 'kernel/*.[ch]' 'selftests/modules/*.[ch]' | grep -v '/trace\.h$')
mapfile -t trace_files < <(files 'kernel/*/trace.h')
mapfile -t user_files < <(files 'selftests/*.[ch]' 'user/*.[ch]' | grep -v '^selftests/modules/')
[ ${#kernel_files[@]} = 0 ] || check checkpatch-kernel check_patch "$exceptions" "${kernel_files[@]}"
check checkpatch-trace check_patch "$trace_exceptions" "${trace_files[@]}"
[ ${#user_files[@]} = 0 ] || check checkpatch-user check_patch "$user_exceptions" "${user_files[@]}"
mapfile -t fixes < <(files 'selftests/fixes/*.patch')
check checkpatch-fixes check_fixes "${fixes[@]}"
mapfile -t patches < <(files 'selftests/mutants/*.patch' 'selftests/fixes/*.patch' |
	grep -v '/rdma-core/')
check patches-apply check_patches_apply "${patches[@]}"
for KERNEL in ${LINT_SERIES:-7.2 7.3}; do
	export KERNEL
	# The second kernel is checked where it is at hand, and always by its own run.
	if [ "$KERNEL" != 7.2 ] && ! ls -d "$CACHE/kernel-$KERNEL-"* > /dev/null 2>&1; then
		skip "modules-$KERNEL" "kernel $KERNEL is not in the cache (make lab KERNEL=$KERNEL)"
		continue
	fi
	check "modules-$KERNEL-W1-sparse" check_modules
	check "selftests-$KERNEL" check_selftests
done
tally_end
