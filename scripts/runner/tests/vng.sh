#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# vng.sh [PROGRAM...]: the commands of Documentation/ci.rst for virtme-ng, with Debian's, in
# the lab's root file system: the machine that vng copies is that one, with rdma-core and the
# kernel's modules in it.  Run by "make vng-test".
#
# A good run ends with status 0 and has a result of each test; one without the device, and
# one of a program that is not there, end with another.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

PROGRAMS=${*:-var dm}

if [ "${1:-}" = --inside ]; then
	# As a user would, but for the paths, and without KVM, which not every /dev/kvm gives.
	export PATH=/vng/usr/bin:$PATH PYTHONPATH=/vng/usr/lib/python3/dist-packages HOME=/tmp
	export LD_LIBRARY_PATH=/vng/usr/lib/x86_64-linux-gnu MAGIC=/vng/usr/lib/file/magic.mgc
	# As the package of a kernel does when it is installed.
	depmod "$2" || exit 1
	shift 2
	cd /src || exit 1
	exec "$@"
fi

kernel=$("$LAB/kernel.sh" path)
release=$("$LAB/kernel.sh" version)
virtme=$("$LAB/virtme-ng.sh")
build=$("$LAB/build.sh" modules user selftests)
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# What gen_tar makes of the suite in a kernel tree.
make_tarball()
{
	local suite=$w/tree/rdma/uobj_lifetime
	mkdir -p "$w/tree/rdma"
	cp -r "$build/install/." "$w/tree"
	mv "$w/tree/uobjscope" "$suite"
	mkdir -p "$suite/modules"
	find "$build/modules" -name '*.ko' -exec cp {} "$suite/modules/" \;
	sed 's,^uobjscope:,rdma/uobj_lifetime:,' "$build/install/kselftest-list.txt" \
		> "$w/tree/kselftest-list.txt"
	tar -C "$w/tree" -cf "$w/kselftest.tar" .
}

# vng LOG COMMAND: that command in a guest.
vng()
{
	timeout 300 "$LAB/in-rootfs.sh" --bind "$TOP:/src" --bind "$virtme:/vng" \
		--bind "$virtme/usr/bin/busybox:/usr/bin/busybox" --bind "$w:/out" \
		--bind "$virtme/usr/bin/busybox:/usr/sbin/poweroff" \
		--bind "$kernel/vmlinuz:/boot/vmlinuz-$release" \
		--bind "$kernel/root/usr/lib/modules:/usr/lib/modules:cow" \
		/src/scripts/runner/tests/vng.sh --inside "$release" \
		vng --disable-kvm --run "/boot/vmlinuz-$release" --user root --memory 2G --cpus 2 \
		--rw --exec "$2" > "$1" 2>&1 < /dev/null
}

results() { sed -n 's/.*<TEST_CASE_ID=\([^ ]*\) RESULT=\([a-z]*\)>.*/\1 \2/p' "$1"; }

good_run()
{
	vng "$w/good" "VHCA=hcas=1 TESTS='$PROGRAMS' examples/ci/lava.sh /out/kselftest.tar" ||
		{ tail -n 40 "$w/good"; return 1; }
	results "$w/good" > "$w/results"
	local program
	for program in $PROGRAMS; do
		grep -q "^$program\\..* pass\$" "$w/results" ||
			{ cat "$w/good"; echo "expected a test of $program to pass"; return 1; }
	done
	! grep ' fail$' "$w/results"
}

no_device()
{
	! vng "$w/bad" "VHCA=bar_phys=1 TESTS=var examples/ci/lava.sh /out/kselftest.tar" ||
		{ tail -n 20 "$w/bad"; echo "expected another status than 0"; return 1; }
	[ "$(results "$w/bad")" = "setup fail" ] || { tail -n 20 "$w/bad"; return 1; }
}

no_program()
{
	! vng "$w/none" "VHCA=hcas=1 TESTS=no_such examples/ci/lava.sh /out/kselftest.tar" ||
		{ tail -n 20 "$w/none"; echo "expected another status than 0"; return 1; }
	[ "$(results "$w/none")" = "nothing-was-run fail" ] || { tail -n 20 "$w/none"; return 1; }
}

make_tarball
check vng-good-run good_run
check vng-device-does-not-load no_device
check vng-no-such-program no_program
tally_end
