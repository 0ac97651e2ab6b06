// SPDX-License-Identifier: GPL-2.0
/*
 * BAR0: the device's share of the window.
 *
 * x86 allows one memory type for a physical page.  mlx5_core maps the
 * initialization segment with ioremap(), users map VARs uncached and device
 * memory write-combined; the mappings here have to be of the same types.
 * UARs are not mapped at all: the device finds work through doorbell records.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/io.h>
#include <linux/sizes.h>

#include "vhca.h"

#define VHCA_PROBE_WORDS	4

/* memmap= can name addresses where the machine has no memory. */
static bool vhca_window_holds(struct vhca *v)
{
	static const u32 patterns[] = { 0x5aa5c33c, 0xa55a3cc3 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		for (j = 0; j < VHCA_PROBE_WORDS; j++)
			iowrite32(patterns[i] + j, v->init_segment + 4 * j);
		for (j = 0; j < VHCA_PROBE_WORDS; j++)
			if (ioread32(v->init_segment + 4 * j) !=
			    patterns[i] + j)
				return false;
	}
	return true;
}

static void vhca_bar_unmap(struct vhca *v)
{
	if (v->memic_operations)
		iounmap(v->memic_operations);
	if (v->memic)
		iounmap(v->memic);
	if (v->tlp_var)
		iounmap(v->tlp_var);
	if (v->var)
		iounmap(v->var);
	if (v->init_segment)
		iounmap(v->init_segment);
}

static int vhca_bar_map(struct vhca *v)
{
	phys_addr_t bar = v->params.bar_phys;

	v->init_segment = ioremap(bar + VHCA_INIT_SEGMENT,
				  VHCA_INIT_SEGMENT_SIZE);
	v->var = ioremap(bar + VHCA_VAR_BASE, vhca_var_size(v));
	v->tlp_var = ioremap(bar + VHCA_TLP_VAR_BASE, vhca_tlp_var_size(v));
	v->memic = ioremap_wc(bar + VHCA_MEMIC_BASE, v->params.memic_size);
	v->memic_operations = ioremap_wc(bar + VHCA_MEMIC_OPS_BASE,
					 vhca_memic_operations_size(v));
	if (!v->init_segment || !v->var || !v->tlp_var || !v->memic ||
	    !v->memic_operations) {
		vhca_err(v, "cannot map the window: is another program using it?\n");
		return -ENOMEM;
	}
	return 0;
}

/**
 * vhca_bar_fill - have all that the device has in BAR0 read as one byte
 * @v: the device, whose window is mapped
 * @byte: which
 *
 * Context: firmware thread with vhca.lock held, or before it is started
 */
void vhca_bar_fill(struct vhca *v, int byte)
{
	memset_io(v->init_segment, byte, VHCA_INIT_SEGMENT_SIZE);
	memset_io(v->var, byte, vhca_var_size(v));
	memset_io(v->tlp_var, byte, vhca_tlp_var_size(v));
	memset_io(v->memic, byte, v->params.memic_size);
	memset_io(v->memic_operations, byte, vhca_memic_operations_size(v));
}

/**
 * vhca_bar_init - map the device's share of the window and clear what the
 *	driver reads
 * @v: the device, whose root has claimed the window
 *
 * Return: 0 or a negative errno, after a line in the log
 */
int vhca_bar_init(struct vhca *v)
{
	int err;

	err = vhca_bar_map(v);
	if (err)
		goto err_unmap;
	if (!vhca_window_holds(v)) {
		vhca_err(v, "no memory behind the window at 0x%llx: boot with memmap=%lluM$ADDRESS, ADDRESS within the machine's RAM\n",
			 (u64)v->params.bar_phys, v->root->reserve_size >> 20);
		err = -ENXIO;
		goto err_unmap;
	}
	vhca_bar_fill(v, 0);
	return 0;

err_unmap:
	vhca_bar_unmap(v);
	return err;
}

/**
 * vhca_bar_exit - unmap it
 * @v: the device, whose function and firmware are gone
 */
void vhca_bar_exit(struct vhca *v)
{
	vhca_bar_unmap(v);
}
