#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All host-side tests of libuobjscope and the uobjscope command; prints TAP.
#
# OUTPUT is where the user folder was built, CC the compiler.  Ends with 0 only
# if every test was run and none failed.

cd "$(dirname "$0")/.." || exit 1
: "${OUTPUT:?}" "${CC:=cc}" "${MAKE:=make}"
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
build=$OUTPUT/tests
samples=tests/samples
flags="-std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -Iinclude"
sanitize="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
count=0 failed=0

mkdir -p "$build"
scratch=$(mktemp -d "$build/scratch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

result()	# ok|not ok, NAME
{
	count=$((count + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $count $2"
}

# suite NAME COMMAND...: number its "ok" lines; a crash is a failure of its own.
suite()
{
	local name=$1 before=$count line status
	shift
	timeout 300 "$@" > "$scratch/suite" 2> "$scratch/suite.err"
	status=$?
	while read -r line; do
		case $line in
		"ok "*) result ok "${line#ok }" ;;
		"not ok "*) result "not ok" "${line#not ok }" ;;
		*) echo "# $line" ;;
		esac
	done < "$scratch/suite"
	if grep -q '^not ok' "$scratch/suite"; then
		[ "$status" = 1 ] || result "not ok" "$name.ends-properly # status $status"
	elif [ "$status" != 0 ] || [ "$count" = "$before" ]; then
		result "not ok" "$name.ends-properly # status $status, $((count - before)) tests"
	fi
	[ "$status" = 0 ] || sed 's/^/# /' "$scratch/suite.err" | head -n 60
}

# step NAME COMMAND...: a test that is a command.
step()
{
	local name=$1
	shift
	if "$@" > "$scratch/step" 2>&1; then
		result ok "$name"
	else
		result "not ok" "$name"
		sed 's/^/# /' "$scratch/step" | head -n 60
	fi
}

skip()		# NAME REASON
{
	result ok "$1 # SKIP $2"
}

echo "TAP version 13"

# ---- what is built besides

step build.with-sanitizers "$MAKE" CC="$CC" OUTPUT="$build/sanitized" CFLAGS="$sanitize" all
wrap=-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
# shellcheck disable=SC2086
{
	step build.library-tests "$CC" $sanitize $flags tests/library.c \
		"$build/sanitized/libuobjscope.a" -lpthread -o "$build/library"
	step build.plain-library-tests "$CC" -O2 $flags tests/library.c \
		"$OUTPUT/libuobjscope.a" -lpthread -o "$build/library-plain"
	step build.memory-tests "$CC" $sanitize $flags $wrap tests/memory.c \
		"$build/sanitized/libuobjscope.a" -o "$build/memory"
	step build.fuzz "$CC" $sanitize $flags tests/fuzz.c \
		"$build/sanitized/libuobjscope.a" -o "$build/fuzz"
	echo '#include <uobjscope.h>' > "$scratch/header.c"
	step build.header-alone "$CC" -std=c99 -pedantic -Wall -Wextra -Werror -Iinclude \
		-fsyntax-only "$scratch/header.c"
}
if command -v "${CXX:=g++}" > /dev/null; then
	step build.header-in-c++ "$CXX" -Wall -Wextra -Werror -Iinclude -fsyntax-only \
		-x c++ "$scratch/header.c"
else
	skip build.header-in-c++ "no $CXX"
fi

only_exports()
{
	local names
	names=$(nm -D --defined-only "$OUTPUT"/libuobjscope.so.* | awk '{ print $3 }' | sort)
	"$CC" -E -P include/uobjscope.h | grep -oE 'uobjscope_[a-z_]+ *\(' |
		grep -oE '[a-z_]+' | sort -u > "$scratch/declared"
	diff "$scratch/declared" <(echo "$names")
}
step build.exports-what-the-header-declares only_exports

no_json()
{
	local text
	text=$("$MAKE" --no-print-directory PKG_CONFIG=false OUTPUT="$scratch/nojson" all 2>&1) && return 1
	echo "$text"
	[ "$(echo "$text" | grep -c .)" = 1 ] && [[ $text == *"install libjson-c-dev"* ]]
}
step build.json-c-missing-is-one-line no_json

installs()
{
	local file
	"$MAKE" OUTPUT="$OUTPUT" DESTDIR="$scratch/root" PREFIX=/usr install || return 1
	for file in bin/uobjscope lib/libuobjscope.a lib/libuobjscope.so include/uobjscope.h \
		share/man/man1/uobjscope.1 share/man/man3/libuobjscope.3 \
		share/bash-completion/completions/uobjscope \
		lib/pkgconfig/uobjscope.pc; do
		[ -s "$scratch/root/usr/$file" ] || { echo "no $file"; return 1; }
	done
	"$scratch/root/usr/bin/uobjscope" --version
	printf '%s\n' '#include <uobjscope.h>' 'int main(void) { return !uobjscope_version(); }' \
		> "$scratch/user.c"
	"$CC" "$scratch/user.c" -I"$scratch/root/usr/include" -L"$scratch/root/usr/lib" \
		-luobjscope -o "$scratch/user" &&
		LD_LIBRARY_PATH=$scratch/root/usr/lib "$scratch/user"
}
step build.install installs

# The manual's example, built with nothing but what pkg-config says of the folder that was
# installed to last, with the library of either kind.
builds_with_pkg_config()
{
	local root=$scratch/root linked flags pc version
	pc=(env PKG_CONFIG_PATH="$root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" pkg-config)
	version=$("$root/usr/bin/uobjscope" -V | grep -oE '[0-9]+([.][0-9]+){2}')
	"${pc[@]}" --exact-version="$version" uobjscope ||
		{ "${pc[@]}" --modversion uobjscope; return 1; }
	sed '1,/^[.]Sh EXAMPLES/d; 1,/^[.]Bd/d; /^[.]Ed/,$d; s/\\e/\\/g' \
		"$root/usr/share/man/man3/libuobjscope.3" > "$scratch/reads.c"
	sed -nE 's/^ufile .* ref=([0-9]+) .* pid=([0-9]+) .*/pid \2 ref \1/p' $samples/live.txt \
		> "$scratch/expected"
	for linked in "" -static; do
		flags=$("${pc[@]}" --cflags --libs ${linked:+--static} uobjscope) || return 1
		# shellcheck disable=SC2086
		"$CC" -Wall -Werror $linked "$scratch/reads.c" $flags -o "$scratch/reads" &&
			LD_LIBRARY_PATH=$root/usr/lib "$scratch/reads" $samples/live.txt \
				> "$scratch/read" || return 1
		diff "$scratch/expected" "$scratch/read" && grep -q . "$scratch/read" || return 1
		# It asks for the library by the name that stays when the version does not.
		[ -n "$linked" ] || readelf -d "$scratch/reads" |
			grep -q 'NEEDED.*\[libuobjscope.so.0\]' || return 1
	done
}
step build.pkg-config builds_with_pkg_config

# What was built for one folder is installed in another: the file says that one.
other_prefix()
{
	local root=$scratch/other
	"$MAKE" OUTPUT="$OUTPUT" DESTDIR="$root" PREFIX=/opt/u LIBDIR=/opt/u/lib64 install ||
		return 1
	grep -x 'libdir=/opt/u/lib64' "$root/opt/u/lib64/pkgconfig/uobjscope.pc" &&
		grep -x 'includedir=/opt/u/include' "$root/opt/u/lib64/pkgconfig/uobjscope.pc"
}
step build.install-elsewhere other_prefix

uninstalls()
{
	touch "$scratch/root/usr/bin/another"
	"$MAKE" OUTPUT="$OUTPUT" DESTDIR="$scratch/root" PREFIX=/usr uninstall || return 1
	(cd "$scratch/root" && find . ! -type d) > "$scratch/left"
	diff - "$scratch/left" <<< ./usr/bin/another
}
step build.uninstall uninstalls

# ---- the tests

mkdir "$scratch/library" "$scratch/library-plain" "$scratch/cli"
suite library "$build/library" $samples "$scratch/library" 10
# Once more as it is used, for the time it takes.
if timeout 600 "$build/library-plain" $samples "$scratch/library-plain" 1 \
	> "$scratch/plain" 2>&1 && grep -q '^ok size' "$scratch/plain"; then
	result ok size.20000-objects-in-a-second
else
	result "not ok" "size.20000-objects-in-a-second # $(grep '^not ok' "$scratch/plain" | head -n 1)"
fi
suite memory "$build/memory" $samples/live.txt $samples/live.fds $samples/freed.txt
suite fuzz "$build/fuzz" "${FUZZ_ROUNDS:-10000}" "${FUZZ_SEED:-1}" $samples/live.txt \
	$samples/freed.txt $samples/unbound.txt $samples/later-keys.txt
suite cli tests/cli.sh "$build/sanitized/uobjscope" "$OUTPUT/uobjscope" "$scratch/cli"

# ---- what is not code

quiet()
{
	local text
	text=$("$@" 2>&1 > /dev/null)
	echo "$text"
	[ -z "$text" ]
}
if command -v mandoc > /dev/null; then
	step man.mandoc mandoc -T lint -W warning man/uobjscope.1
else
	skip man.mandoc "no mandoc"
fi
if command -v groff > /dev/null; then
	step man.groff quiet groff -man -mdoc -ww -z man/uobjscope.1
else
	skip man.groff "no groff"
fi

completes()
{
	# shellcheck source=/dev/null
	. completion/uobjscope
	complete_words()	# WORD...: the last one is to be completed
	{
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_uobjscope 2> /dev/null
		echo "${COMPREPLY[*]}"
	}
	[ "$(complete_words uobjscope tr)" = tree ] &&
		[ "$(complete_words uobjscope -d mlx5_0 show dm)" = "dm dmabuf" ] &&
		[ "$(complete_words uobjscope --j)" = --json ] &&
		[ "$(complete_words uobjscope leaks "")" = -- ] &&
		[[ " $(complete_words uobjscope leaks -- mkfif) " == *" mkfifo "* ]] &&
		[ "$(complete_words uobjscope holders u)" = ufile: ]
}
step completion.bash completes

echo "1..$count"
[ "$failed" = 0 ] && [ "$count" -gt 100 ]
