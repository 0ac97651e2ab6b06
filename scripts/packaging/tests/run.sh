#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh: what make dist and make package give, held against what it should be: the tarball
# has the same bytes twice, and everything builds from it; the packages are what lintian
# takes and have their files; dkms builds for a kernel with the drivers under test, and
# leaves out one without.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
version=$(sed -nE 's/^VERSION[ \t]*:= *//p' "$TOP/user/Makefile")

versions_agree()
{
	grep -qx "PACKAGE_VERSION=\"$version\"" "$TOP/dkms.conf" ||
		{ grep VERSION= "$TOP/dkms.conf"; return 1; }
	head -n 1 "$TOP/debian/changelog" | grep -qF "uobjscope ($version) " ||
		{ head -n 1 "$TOP/debian/changelog"; return 1; }
}

# Another clone, at another time, with another umask.
dist_is_reproducible()
{
	local one two
	git clone -q "$TOP" "$w/clone" &&
		git -C "$w/clone" checkout -q "$(git -C "$TOP" rev-parse HEAD)" || return 1
	one=$("$TOP/scripts/packaging/dist.sh" "$w/one") || return 1
	two=$(umask 077 && TZ=Asia/Tokyo "$w/clone/scripts/packaging/dist.sh" "$w/two") || return 1
	cmp "$one" "$two"
}

dist_wants_a_repository()
{
	mkdir "$w/plain"
	tar xzf "$w/one/uobjscope-$version.tar.gz" -C "$w/plain"
	! "$w/plain/uobjscope-$version/scripts/packaging/dist.sh" "$w/none" 2> "$w/err" &&
		[ "$(wc -l < "$w/err")" = 1 ] && grep -q 'is no git repository' "$w/err"
}

# As a person builds and installs it, to a folder of its own.
dist_builds_and_installs()
{
	"$LAB/in-rootfs.sh" --bind "$w:/w:rw" --bind "$source:/ksrc" \
		--bind "$CACHE/ccache:/ccache:rw" env CCACHE_DIR=/ccache \
		KDIR="/usr/src/linux-headers-$release" VERSION="$version" sh -ec '
		cd /w/plain/uobjscope-$VERSION
		make -j2 install DESTDIR=/w/root PREFIX=/usr KDIR=$KDIR KSRC=/ksrc CC="ccache gcc"
		make -j2 -C selftests KSFT=/ksrc/tools/testing/selftests CC="ccache gcc" \
			OUTPUT=/tmp/tests all
		[ -x /tmp/tests/var ]
		cd /w/root
		find . ! -type d |
			sed "s,/lib/modules/[^/]*,/lib/modules/R,; s,[.]ko[.][gxz]*\$,.ko," |
			grep -v "/modules/R/modules[.]" | LC_ALL=C sort > /w/installed
		cd /w/plain/uobjscope-$VERSION
		make uninstall DESTDIR=/w/root PREFIX=/usr KDIR=$KDIR
		find /w/root ! -type d ! -path "*/modules.*" > /w/left' || return 1
	[ ! -s "$w/left" ] || { cat "$w/left"; return 1; }
	sed "s/VERSION/$version/" > "$w/expected" <<-'FILES'
		./lib/modules/R/updates/kernel/importer/dmabuf_importer.ko
		./lib/modules/R/updates/kernel/uobjscope/uobjscope.ko
		./lib/modules/R/updates/kernel/vhca/mlx5_vhca.ko
		./lib/modules/R/updates/selftests/modules/fail_allocation.ko
		./lib/modules/R/updates/selftests/modules/late_return.ko
		./lib/modules/R/updates/selftests/modules/mlx5_capability.ko
		./lib/modules/R/updates/selftests/modules/mlx5_raw_command.ko
		./lib/modules/R/updates/selftests/modules/refuse_offline.ko
		./lib/modules/R/updates/selftests/modules/slow_function.ko
		./usr/bin/uobjscope
		./usr/include/uobjscope.h
		./usr/lib/libuobjscope.a
		./usr/lib/libuobjscope.so
		./usr/lib/libuobjscope.so.0
		./usr/lib/libuobjscope.so.VERSION
		./usr/lib/pkgconfig/uobjscope.pc
		./usr/share/bash-completion/completions/uobjscope
		./usr/share/man/man1/uobjscope.1
		./usr/share/man/man3/libuobjscope.3
	FILES
	diff "$w/expected" "$w/installed"
}

packages_build()
{
	export BUILD=$w
	"$TOP/scripts/packaging/deb.sh" "$w/one/uobjscope-$version.tar.gz" > "$w/deb.path" ||
		return 1
	unset BUILD
	(cd "$w/deb" && ls ./*.deb ./*.dsc ./*.tar.*) | grep -v dbgsym |
		LC_ALL=C sort > "$w/packages"
	sed "s/VERSION/$version/" <<-'FILES' | diff - "$w/packages"
		./libuobjscope-dev_VERSION_amd64.deb
		./libuobjscope0_VERSION_amd64.deb
		./uobjscope-dkms_VERSION_all.deb
		./uobjscope_VERSION.dsc
		./uobjscope_VERSION.tar.xz
		./uobjscope_VERSION_amd64.deb
	FILES
}

# in_packaging COMMAND...: where packages are looked at.
in_packaging()
{
	ROOTFS=$("$TOP/scripts/packaging/rootfs.sh") "$LAB/in-rootfs.sh" --bind "$w:/w:rw" \
		--bind "$TOP:/src" env VERSION="$version" RELEASE="$release" "$@"
}

lintian_is_content()
{
	in_packaging sh -ec 'lintian --allow-root --tag-display-limit 0 --fail-on error,warning \
		/w/deb/*.changes'
}

manual_pages_are_content()
{
	in_packaging sh -c 'mandoc -T lint -W warning /src/user/man/*.[0-9]'
}

# Installed, the command runs and a program is built with the library.
packages_install()
{
	in_packaging sh -ec '
	cd /w/deb
	mkdir /tmp/root
	for p in uobjscope_* libuobjscope0_* libuobjscope-dev_*; do
		case $p in *.deb) dpkg-deb -x $p /tmp/root ;; esac
	done
	lib=/tmp/root/usr/lib/x86_64-linux-gnu
	echo "#include <uobjscope.h>
	int main(void) { return !uobjscope_version(); }" > /tmp/a.c
	export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=/tmp/root
	gcc /tmp/a.c $(pkg-config --cflags --libs uobjscope) -o /tmp/a
	LD_LIBRARY_PATH=$lib /tmp/a
	/tmp/root/usr/bin/uobjscope -V | grep -F "$VERSION"
	/tmp/root/usr/bin/uobjscope -f /src/user/tests/samples/live.txt show | grep UFILE'
}

# dkms with the package's files, for the lab's kernel or a copy of its headers that lacks an
# option: prints what dkms says and its status.
dkms_build()	# OPTION to take away, or nothing
{
	in_packaging sh -c '
	dpkg-deb -x /w/deb/uobjscope-dkms_*_all.deb /tmp/root
	mv /tmp/root/usr/src /tmp/src
	headers=/usr/src/linux-headers-$RELEASE
	if [ -n "$1" ]; then
		mkdir /tmp/headers
		cp -r $headers/. /tmp/headers/
		sed -i "/^$1=/d" /tmp/headers/.config /tmp/headers/include/config/auto.conf
		headers=/tmp/headers
	fi
	mkdir -p /tmp/dkms /tmp/modules
	dkms build --dkmstree /tmp/dkms --sourcetree /tmp/src --installtree /tmp/modules \
		--kernelsourcedir $headers -k $RELEASE -m uobjscope -v $VERSION 2>&1
	echo "status $?"
	find /tmp/dkms -name "*.ko*"
	tail -n 20 /tmp/dkms/uobjscope/$VERSION/build/make.log' sh "${1:-}" > "$w/dkms" 2>&1
}

dkms_builds()
{
	dkms_build
	if grep -x 'status 0' "$w/dkms" && grep '/mlx5_vhca.ko' "$w/dkms" &&
		grep '/dmabuf_importer.ko' "$w/dkms"; then return 0; fi
	cat "$w/dkms"
	return 1
}

dkms_leaves_out()	# OPTION
{
	dkms_build "$1"
	# 77 is dkms's own for a kernel that is none of the module's.
	if grep -x 'status 77' "$w/dkms" && ! grep '[.]ko' "$w/dkms"; then return 0; fi
	cat "$w/dkms"
	return 1
}

source=$("$LAB/kernel.sh" source)
release=$("$LAB/kernel.sh" version)
mkdir -p "$CACHE/ccache"
check versions-agree versions_agree
check dist-is-reproducible dist_is_reproducible
check dist-wants-a-repository dist_wants_a_repository
check dist-builds-and-installs dist_builds_and_installs
check packages-build packages_build
check lintian lintian_is_content
check manual-pages manual_pages_are_content
check packages-install packages_install
check dkms-builds dkms_builds
for option in CONFIG_MLX5_CORE CONFIG_MLX5_INFINIBAND CONFIG_INFINIBAND_USER_ACCESS; do
	check "dkms-leaves-out-$option" dkms_leaves_out "$option"
done
tally_end
