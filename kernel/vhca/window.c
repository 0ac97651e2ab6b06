// SPDX-License-Identifier: GPL-2.0
/*
 * The window: memory that the kernel does not use.  It has handed it out
 * (loan.c), or was told not to use it, with memmap=SIZE$ADDRESS on its command
 * line, or it is that of QEMU's device ivshmem-plain.  Each host bridge claims
 * its part of it, in which the BARs of its functions lie one after the other.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ioport.h>

#include "loan.h"
#include "vhca.h"

/*
 * Put the window inside the "Reserved" entry of the firmware map, or the loan.
 * Where both have the same range, insert_resource() makes the entry a child of the
 * window, and the BARs would find no room: then request it below the entry.
 */
static int vhca_window_request(struct resource *window)
{
	struct resource *entry;
	int err;

	err = insert_resource(&iomem_resource, window);
	if (err)
		return err;
	entry = window->child;
	if (!entry)
		return 0;
	remove_resource(window);
	/*
	 * remove_resource() moves the child up, but leaves these, and with
	 * them the tree would get a loop.
	 */
	window->child = NULL;
	window->sibling = NULL;
	if (entry->start > window->start || entry->end < window->end ||
	    entry->flags & IORESOURCE_BUSY)
		return -EBUSY;
	return request_resource(entry, window);
}

/*
 * QEMU's device ivshmem-plain has a BAR that is memory and nothing else.  Any
 * other BAR is a device's.
 */
#define VHCA_IVSHMEM_VENDOR	0x1af4
#define VHCA_IVSHMEM_DEVICE	0x1110
#define VHCA_IVSHMEM_BAR	2

static bool vhca_window_is_ivshmem(const struct resource *bar)
{
	struct pci_dev *pdev = NULL;

	while ((pdev = pci_get_device(VHCA_IVSHMEM_VENDOR, VHCA_IVSHMEM_DEVICE,
				      pdev))) {
		if (bar == pci_resource_n(pdev, VHCA_IVSHMEM_BAR) &&
		    !pdev->driver) {
			pci_dev_put(pdev);
			return true;
		}
	}
	return false;
}

static bool vhca_window_may_be_in(const struct resource *entry)
{
	return entry->desc == IORES_DESC_RESERVED ||
	       entry->desc == VHCA_LOAN_DESC || vhca_window_is_ivshmem(entry);
}

/**
 * vhca_window_claim - claim a host bridge's part of the window
 * @root: the host bridge
 * @start: physical address
 * @size: bytes
 *
 * The memory is not touched.  Only what is known to be memory is taken: anything else
 * may be a hole in which a device lies, and must not be written to.
 *
 * Return: 0 or a negative errno, after a line in the log
 */
int vhca_window_claim(struct vhca_root *root, u64 start, u64 size)
{
	struct resource *window = &root->window;
	int err;

	*window = (struct resource) {
		.name	= "mlx5_vhca BAR0 window",
		.start	= start,
		.end	= start + size - 1,
		.flags	= IORESOURCE_MEM | IORESOURCE_PREFETCH |
			  IORESOURCE_MEM_64,
	};
	if (region_intersects(start, size, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT) {
		pr_err("%pR is System RAM: boot with memmap=%lluM$0x%llx\n",
		       window, root->reserve_size >> 20, root->reserve_start);
		return -EBUSY;
	}
	err = vhca_window_request(window);
	if (err) {
		pr_err("%pR is in use (%d): boot with memmap=%lluM$ADDRESS and give ADDRESS as bar_phys\n",
		       window, err, root->reserve_size >> 20);
		return err;
	}
	if (!vhca_window_may_be_in(window->parent)) {
		pr_err("%pR is not reserved: boot with memmap=%lluM$0x%llx\n",
		       window, root->reserve_size >> 20, root->reserve_start);
		remove_resource(window);
		return -ENXIO;
	}
	return 0;
}

/**
 * vhca_window_release - give it back
 * @root: the host bridge, below which nothing is left
 */
void vhca_window_release(struct vhca_root *root)
{
	remove_resource(&root->window);
}
