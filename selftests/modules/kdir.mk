# SPDX-License-Identifier: GPL-2.0
#
# The kernel that the modules are built for, within a kernel tree: that tree, if it was
# built, in itself or in the folder that O= names; else the one that runs here.

MODULES_TREE := $(realpath $(dir $(lastword $(MAKEFILE_LIST)))/../../../../../..)
KDIR ?= $(firstword $(patsubst %/Module.symvers,%,$(wildcard $(O)/Module.symvers \
	$(MODULES_TREE)/Module.symvers)) /lib/modules/$(shell uname -r)/build)
