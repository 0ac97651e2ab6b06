# SPDX-License-Identifier: GPL-2.0
#
# The only thing a person types; see make help.

# Kernel under test: 7.2 (Debian forky), 7.3 (trixie-backports), or a lane, slab or debug.
KERNEL ?= 7.2
TESTS ?=
export KERNEL
ifdef CACHE
export CACHE
endif
ifdef MIRROR
export MIRROR
endif
ifdef QEMU
export QEMU
endif
ifdef APPEND
export APPEND
endif
ifdef VHCA
export VHCA
endif
ifdef FILTER
export FILTER
endif
ifdef REPEAT
export REPEAT
endif
ifdef SEED
export SEED
endif
ifdef STRESS
export STRESS
endif
ifdef JOBS
export JOBS
endif
ifdef MUTANT
export MUTANT
endif
ifdef MUTANTS_DIR
export MUTANTS_DIR
endif
ifdef ALL
export ALL
endif
ifdef RESUME
export RESUME
endif
ifdef LIST
export LIST
endif
ifdef SERIES
export SERIES
endif
ifdef FIXES
export FIXES
endif

ifdef QUICK
export QUICK
endif
ifdef DEBUG
export DEBUG
endif

.PHONY: help run matrix shell test bench coverage fuzz golden debug mutants drgn pyverbs perftest browser-test \
	lint test-host test-runner \
	test-machines test-faults test-skips test-32bit vng-test lab modules modules_install selftests \
	install install-user uninstall uninstall-user dist package package-test \
	in-tree in-tree-patches in-tree-test run-local clean distclean

help:
	@echo 'In the lab (a virtual machine; no card, no kernel of the host is touched):'
	@echo '  make run              install what the host lacks, build, boot, run the suite'
	@echo '  make test             all that CI runs: lint, host tests, runner tests, lanes'
	@echo '  make matrix           the suite on each kernel that it is for, in one table'
	@echo '  make bench            what looking, the device and a verdict cost, in one table'
	@echo '  make mutants          does the suite kill the faults of selftests/mutants?'
	@echo '  make debug            build the debug kernel (half an hour), or say where it is'
	@echo '  make golden           two kernels whose difference is known: does the suite see it?'
	@echo '                        (QUICK=1 without debug kernels)'
	@echo '  make coverage         which lines that decide lifetimes does the suite not reach?'
	@echo '  make fuzz             random input of the virtual HCA under KASAN, for STRESS minutes'
	@echo '  make drgn             uobjscope.ko against drgn with debug symbols (1.2 GB to download)'
	@echo '  make pyverbs          rdma-core'\''s own Python tests against two virtual HCAs'
	@echo '  make perftest         ib_write_bw, rping and others between two virtual HCAs'
	@echo '  make browser-test     pages of uobjscope timeline in Debian'\''s Chromium (1 GB to download)'
	@echo '  make shell            an interactive guest with everything loaded'
	@echo '  make lint             static checks only'
	@echo '  make test-host        tests of the scripts, without a guest'
	@echo '  make test-runner      tests of the runner, in guests that fail, hang and panic'
	@echo '  make test-machines    the virtual HCA in guests of other shapes: IOMMUs, 1 CPU, ...'
	@echo '  make test-faults      what takes seconds: faults of the device, memory that does not go'
	@echo '  make test-skips       the suite where it cannot test: no root, another device, ...'
	@echo '  make test-32bit       what two processes share, where one of them has 32 bits'
	@echo '  make vng-test         the suite under virtme-ng, as Documentation/ci.rst says'
	@echo '  make lab              make the caches, build nothing'
	@echo 'Outside the lab:'
	@echo '  make modules          kernel modules for KDIR (default: the running kernel)'
	@echo '  make modules_install  install them there (INSTALL_MOD_PATH=)'
	@echo '  make install-user     library, command, manual page, header (DESTDIR=, PREFIX=)'
	@echo '  make install          both; make uninstall, or uninstall-user, removes them'
	@echo '  make dist             the sources of HEAD as a tarball in build/'
	@echo '  make package          Debian packages of them, made in the lab'
	@echo '  make package-test     are tarball and packages what they should be?'
	@echo '  make in-tree TREE=DIR install the suite in a kernel tree'
	@echo '  make in-tree-patches TREE=DIR OUT=DIR   the same as patches'
	@echo '  make in-tree-test     build, pack, run and clean it there'
	@echo '  make run-local        build for the running kernel and test a ConnectX that is here'
	@echo '                        (KSRC= its source, DEVICE=mlx5_0, ALLOW="unbind exhaustion")'
	@echo '  make selftests        the test programs (KSFT= a kernel tree'\''s tools/testing/selftests)'
	@echo 'And:'
	@echo '  make clean            remove what was built here'
	@echo '  make distclean        the same, and the results'
	@echo
	@echo 'Variables:'
	@echo '  KERNEL=6.12|7.2|7.3|slab|debug'
	@echo '                        kernel under test (slab: 7.2 with slab_debug=FZPU; debug:'
	@echo '                        built with KASAN and more, see make debug; also debug-7.3)'
	@echo '  TESTS="var dmabuf"    programs to run; var:TEST for one test'
	@echo '  FILTER=REGEX          only tests of that name, in all programs or those of TESTS='
	@echo '                        (DMABUF-05 and dmabuf_05 are the same)'
	@echo '  REPEAT=N              the selection N times in one boot; names what is flaky'
	@echo '  SEED=N                of the tests'\'' random numbers (default: another each time)'
	@echo '  STRESS=MINUTES        how long tests go on that can'
	@echo '  JOBS=N                guests side by side (default: 2, on one processor 1)'
	@echo '  MUTANT="M02 M05"      mutants to try, MUTANTS_DIR=DIR of the patches, ALL=1 to go on'
	@echo '                        after the first failure'
	@echo '  SERIES="7.2 7.3"      kernels of make matrix (default: 6.12 7.2 7.3)'
	@echo '  RESUME="DIR DIR"      make mutants, make matrix: results of earlier runs, whose'
	@echo '                        verdicts count'
	@echo '  LIST=N                of these, only print a shell line for each of N jobs'
	@echo '  FIXES=1               make run with the candidate fixes of selftests/fixes, or with'
	@echo '                        some: FIXES="L05 L07"'
	@echo '  CACHE=DIR             root file systems, kernels, sources (default: XDG cache folder)'
	@echo '  MIRROR=URL            Debian mirror (default: the one that apt uses)'
	@echo '  QEMU=PROGRAM          another QEMU than the root file system'\''s own'
	@echo '  APPEND=... VHCA=...   more kernel arguments, more parameters of mlx5_vhca.ko'
	@echo '                        (APPEND=RECORD=1 records the events all the time)'
	@echo '  LLVM=1                with KSRC=: built by clang and lld'
	@echo '  KDIR=DIR KSRC=DIR     kernel build tree and matching kernel source (make modules)'
	@echo '  KSRC=DIR O=DIR        your kernel source and, if not in the cache, where to build it'
	@echo '                        (make run, make run KERNEL=debug, make debug)'

# A developer's own tree: brought up to date first, as a kernel of no lane of ours if none is
# asked for.
ifdef KSRC
own_lane = $(if $(filter file,$(origin KERNEL)),own,$(if $(filter debug own,$(KERNEL)),$(KERNEL),$(error \
	KSRC= goes with KERNEL=debug or without KERNEL=, seen KERNEL=$(KERNEL))))
own_kernel = @KERNEL=$(own_lane:debug=own-debug) scripts/lab/kernel.sh build > /dev/null
endif

ifdef LLVM
$(if $(filter 1,$(LLVM)),,$(error LLVM=$(LLVM): expected 1))
$(if $(KSRC)$(filter modules% install% selftests,$(MAKECMDGOALS)),,$(error \
	LLVM=1 goes with KSRC=: Debian's kernels were built with gcc))
endif

run:
	@scripts/lab/host-packages.sh
	$(own_kernel)
	@python3 scripts/$(if $(FIXES),mutants/fixes.py,runner/run.py) \
		--kernel '$(if $(KSRC),$(own_lane),$(KERNEL))' $(TESTS)

matrix:
	@$(if $(LIST),,scripts/lab/host-packages.sh)
	@python3 scripts/matrix.py $(TESTS)

bench:
	@scripts/lab/host-packages.sh
	@python3 scripts/bench.py --kernel '$(KERNEL)'

# SEED= says which input it is.
fuzz:
	@scripts/lab/host-packages.sh
	@STRESS='$(or $(STRESS),10)' python3 scripts/runner/run.py --kernel debug slow_fuzz.sh

# A debug kernel of another series: make debug KERNEL=7.3; of a tree: make debug KSRC=DIR
debug:
	@scripts/lab/host-packages.sh
	@KERNEL='$(if $(KSRC),own,$(patsubst debug,7.2,$(KERNEL:debug-%=%)))-debug' \
		scripts/lab/kernel.sh $(if $(KSRC),build)

coverage:
	@scripts/lab/host-packages.sh
	@scripts/coverage/coverage.py $(TESTS)

golden:
	@scripts/lab/host-packages.sh
	@scripts/golden.py $(if $(QUICK),--quick)

mutants:
	@scripts/lab/host-packages.sh
	@python3 scripts/mutants/mutants.py --kernel '$(KERNEL)' $(TESTS)

drgn:
	@scripts/lab/host-packages.sh
	@scripts/drgn.sh

pyverbs:
	@scripts/lab/host-packages.sh
	@scripts/pyverbs/run.sh $(TESTS)

perftest:
	@scripts/lab/host-packages.sh
	@LAYER=$$(scripts/lab/perftest.sh) && VHCA="hcas=2 $$VHCA" python3 scripts/runner/run.py \
		--kernel '$(KERNEL)' --layer "$$LAYER" $(or $(TESTS),slow_perftest.sh)

vng-test:
	@scripts/lab/host-packages.sh
	@scripts/runner/tests/vng.sh $(TESTS)

test-32bit:
	@scripts/lab/host-packages.sh
	@LAYER=$$(scripts/lab/peer32.sh) && \
		APPEND="UOBJSCOPE_PEER=/usr/bin/uobjscope-peer $$APPEND" python3 scripts/runner/run.py \
		--kernel '$(KERNEL)' --layer "$$LAYER" $(or $(TESTS),var_share:imp_11_other_word_size dm_share)

browser-test:
	@scripts/lab/host-packages.sh
	@scripts/browser/run.sh

shell:
	@scripts/lab/host-packages.sh
	@scripts/lab/shell.sh

test:
	@scripts/test.sh

lint:
	@scripts/lab/host-packages.sh test
	@scripts/lint.sh

test-host:
	@scripts/lab/host-packages.sh test
	@scripts/test-host.sh

test-runner:
	@scripts/lab/host-packages.sh
	@scripts/runner/tests/run.sh

test-machines:
	@scripts/lab/host-packages.sh
	@scripts/runner/tests/machines.sh

test-faults:
	@scripts/lab/host-packages.sh
	@python3 scripts/runner/run.py --kernel '$(KERNEL)' slow_faults.sh slow_known.sh \
		slow_window.sh

test-skips:
	@scripts/lab/host-packages.sh
	@scripts/runner/tests/skips.sh

lab:
	@scripts/lab/host-packages.sh
	@scripts/lab/rootfs.sh
	@scripts/lab/kernel.sh
	@scripts/lab/initramfs.sh

# Outside the lab.  V=, W=, C=, O=, LLVM=, CC= and -j go to the kernel's make.
KDIR ?= /lib/modules/$(shell uname -r)/build
KSRC ?=

# A root folder for packages is one for modules as well.
INSTALL_MOD_PATH ?= $(DESTDIR)
PREFIX ?= /usr/local

modules modules_install:
	@scripts/check-kdir.sh '$(KDIR)' '$(KSRC)'
	$(MAKE) -C '$(KDIR)' M='$(CURDIR)' $(if $(KSRC),KSRC='$(abspath $(KSRC))') \
		$(if $(INSTALL_MOD_PATH),INSTALL_MOD_PATH='$(INSTALL_MOD_PATH)') $@

install: install-user modules
	@$(MAKE) --no-print-directory modules_install

install-user:
	$(MAKE) -C user install PREFIX='$(PREFIX)'

uninstall-user:
	$(MAKE) -C user uninstall PREFIX='$(PREFIX)'

uninstall: uninstall-user
	scripts/uninstall-modules.sh '$(KDIR)' '$(INSTALL_MOD_PATH)'

dist:
	@scripts/packaging/dist.sh

package:
	@scripts/lab/host-packages.sh test
	@scripts/packaging/deb.sh

package-test:
	@scripts/lab/host-packages.sh test
	@scripts/packaging/tests/run.sh

# The suite in a kernel tree, see Documentation/upstreaming.rst.
in-tree:
	@scripts/in-tree/install.sh $(if $(TREE),'$(TREE)')

in-tree-patches:
	@scripts/in-tree/patches.sh $(if $(TREE),'$(TREE)') $(if $(OUT),'$(OUT)')

in-tree-test:
	@scripts/lab/host-packages.sh test
	@scripts/in-tree/tests/run.sh
	@scripts/in-tree/tests/guest.sh

selftests:
	$(MAKE) -C selftests all

# On the card of this machine; see "Real hardware" in Documentation/selftests.rst.
KSFT ?= $(if $(KSRC),$(abspath $(KSRC))/tools/testing/selftests)
LOCAL := $(CURDIR)/build/local
run-local: modules
	@[ -r '$(KSFT)/lib.mk' ] || { echo 'uobjscope: KSRC=$(KSRC): expected the source of the running kernel (or KSFT=, its tools/testing/selftests)' >&2; exit 2; }
	@mkdir -p '$(LOCAL)/tests' '$(LOCAL)/uobjscope/modules' '$(LOCAL)/kselftest'
	$(MAKE) -s -C selftests KSFT='$(KSFT)' OUTPUT='$(LOCAL)/tests' all
	@$(MAKE) -s -C selftests KSFT='$(KSFT)' OUTPUT='$(LOCAL)/tests' \
		INSTALL_PATH='$(LOCAL)/uobjscope' install
	@find kernel selftests/modules -name '*.ko' ! -name mlx5_vhca.ko \
		-exec cp {} '$(LOCAL)/uobjscope/modules/' \;
	@DEVICE='$(DEVICE)' ALLOW='$(ALLOW)' '$(LOCAL)/uobjscope/run_local.sh' $(TESTS)

clean:
	rm -rf build
	find kernel selftests \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name 'modules.order' -o -name 'Module.symvers' \) -delete
	rm -f modules.order Module.symvers .*.cmd

distclean: clean
	rm -rf results
