// SPDX-License-Identifier: GPL-2.0
/*
 * Giving back a reference to a ufile, on a kernel that keeps the function for it to itself.
 *
 * Its address is asked of a kprobe, which is gone again before anybody comes by.  The
 * module that the function is in stays: this one needs others of its functions.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/uaccess.h>
#ifdef CONFIG_X86
#include <asm/ibt.h>
#endif

#include "release.h"

static void (*release)(struct kref *ref);

#ifdef CONFIG_X86
/* A probe stands behind the mark for indirect calls, where there is one. */
static unsigned long begin_of(unsigned long address)
{
	u32 mark;

	if (ENDBR_INSN_SIZE && !copy_from_kernel_nofault(&mark, (void *)(address - ENDBR_INSN_SIZE),
							 sizeof(mark)) && is_endbr(mark))
		return address - ENDBR_INSN_SIZE;
	return address;
}
#else
static unsigned long begin_of(unsigned long address)
{
	return address;
}
#endif

/**
 * scope_release_find - find the function
 *
 * Context: may sleep; before the first scope_release_file().
 * Return: 0, or a negative errno after a line in the log
 */
int scope_release_find(void)
{
	struct kprobe probe = { .symbol_name = "ib_uverbs_release_file" };
	int err = register_kprobe(&probe);

	if (err) {
		pr_err("ib_uverbs_release_file() cannot be found: error %d\n", err);
		return err;
	}
	release = (void *)begin_of((unsigned long)probe.addr);
	unregister_kprobe(&probe);
	return 0;
}

/**
 * scope_release_file - what kref_put() calls for the last reference to a ufile
 * @ref: ib_uverbs_file.ref
 *
 * Models ib_uverbs_release_file(), which it calls.
 *
 * Context: may sleep.
 */
void scope_release_file(struct kref *ref)
{
	release(ref);
}
