// SPDX-License-Identifier: GPL-2.0
/*
 * A function that leaves its slot, and one that is put in.
 *
 * Surprise removal: config space and BAR0 read as all ones from then on, nothing
 * is written to memory, nothing is answered and nothing interrupts.  Who notices,
 * and when, is the driver's affair (mlx5_core looks at the health buffer every two
 * to three seconds, and before that waits for a command); or a hot-plug slot tells
 * the kernel at once, as pciehp does (pciehp_unconfigure_device()): the PCI device
 * is marked as gone for good and removed.
 *
 * BAR0 is memory: what is written to it afterwards can be read again, unlike with
 * a real device.
 *
 * What is put in is as after power-on.  The kernel looks for it here and not in a
 * rescan, as that would assign addresses where these have to be claimed, see
 * vhca_config_fill_function().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/pci.h>
#include <linux/string.h>

#include "vhca.h"

/**
 * vhca_presence_vanish - all that is read of the function is ones
 * @v: the device, which has forgotten its driver and does nothing any more
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_presence_vanish(struct vhca *v)
{
	vhca_bar_fill(v, 0xff);
}

/**
 * vhca_presence_power_on - BAR0 and config space as after power-on
 * @v: the device; what the initialization segment has beyond zeros is filled in
 *	by the caller
 *
 * Context: firmware thread, vhca.lock held; no PCI device is there
 */
void vhca_presence_power_on(struct vhca *v)
{
	vhca_bar_fill(v, 0);
	vhca_config_fill_function(v);
	WRITE_ONCE(v->bus_master, false);
}

static unsigned int vhca_devfn(const struct vhca *v)
{
	unsigned int i;

	for (i = 0; v->root->functions[i] != v; i++)
		;
	return i;
}

static struct pci_dev *vhca_presence_device(struct vhca *v)
{
	return pci_get_domain_bus_and_slot(v->root->domain,
					   vhca_root_function_bus(v->root),
					   vhca_devfn(v));
}

static int vhca_presence_gone(struct vhca *v)
{
	return vhca_health_ask(v, VHCA_ASK_VANISH, 0);
}

/* Gone, and a slot has told of it. */
static int vhca_presence_unplug(struct vhca *v)
{
	int err = vhca_health_ask(v, VHCA_ASK_VANISH, 0);
	struct pci_dev *pdev;

	if (err)
		return err;
	pci_lock_rescan_remove();
	pdev = vhca_presence_device(v);
	if (pdev) {
		WRITE_ONCE(pdev->error_state, pci_channel_io_perm_failure);
		pci_stop_and_remove_bus_device(pdev);
		pci_dev_put(pdev);
	}
	pci_unlock_rescan_remove();
	return 0;
}

/* Put in where there is none, and found. */
static int vhca_presence_back(struct vhca *v)
{
	struct vhca_root *root = v->root;
	struct pci_dev *pdev;
	struct pci_bus *bus;
	int err;

	pci_lock_rescan_remove();
	bus = root->bus ? pci_find_bus(root->domain,
				       vhca_root_function_bus(root)) : NULL;
	err = -ENODEV;
	if (!bus)
		goto out;
	pdev = vhca_presence_device(v);
	err = -EBUSY;
	if (pdev) {
		pci_dev_put(pdev);
		vhca_warn_ratelimited(v, "function: back while the PCI device is there still: remove it first\n");
		goto out;
	}
	err = vhca_health_ask(v, VHCA_ASK_RETURN, 0);
	if (err)
		goto out;
	/* Not pci_scan_slot(): below a port it expects one function, and looks for no other. */
	pdev = pci_scan_single_device(bus, vhca_devfn(v));
	if (!pdev) {
		err = -ENODEV;
		vhca_warn_ratelimited(v, "function: back: no PCI device was found, expected one\n");
		goto out;
	}
	pci_bus_claim_resources(bus);
	pci_bus_add_devices(bus);
out:
	pci_unlock_rescan_remove();
	return err;
}

/**
 * vhca_presence_write - take the function away or put it in
 * @v: the device, whose firmware runs
 * @text: "gone", "unplug" or "back"
 *
 * Context: process context; takes the PCI rescan lock, and waits for drivers to
 *	remove or probe
 * Return: 0, or -EINVAL after a line in the log, -EBUSY if it is gone already, or
 *	if the PCI device is there that is to come, -ENODEV if the bus is going
 */
int vhca_presence_write(struct vhca *v, char *text)
{
	static const struct {
		const char	*name;
		int		(*act)(struct vhca *v);
	} words[] = {
		{ "gone",	vhca_presence_gone },
		{ "unplug",	vhca_presence_unplug },
		{ "back",	vhca_presence_back },
	};
	const char *word = strim(text);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].name, word))
			return words[i].act(v);
	vhca_warn_ratelimited(v, "function: got '%.64s', expected gone, unplug or back\n",
			      word);
	return -EINVAL;
}
