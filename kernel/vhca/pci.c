// SPDX-License-Identifier: GPL-2.0
/*
 * Host bridges: each is a PCI domain of its own, with one function on its root
 * bus, or with a root port there and all functions below it.
 *
 * The difference matters to peer-to-peer DMA, which the kernel allows between
 * two functions with a bridge above both, and refuses between two host bridges
 * that it does not know (calc_map_type_and_dist() of drivers/pci/p2pdma.c).
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/swiotlb.h>

#include "vhca.h"

/**
 * vhca_root_find - which device is at a PCI address?
 * @root: the host bridge
 * @bus: number of the bus
 * @devfn: device and function on it
 *
 * Context: any
 * Return: the device, or NULL if there is none
 */
struct vhca *vhca_root_find(struct vhca_root *root, unsigned int bus,
			    unsigned int devfn)
{
	if (bus != vhca_root_function_bus(root) ||
	    devfn >= root->nr_functions)
		return NULL;
	return root->functions[devfn];
}

static struct vhca_config_space *vhca_root_config(struct vhca_root *root,
						  struct pci_bus *bus,
						  unsigned int devfn)
{
	struct vhca *v = vhca_root_find(root, bus->number, devfn);

	/* One that has left the bus, or is being reset, answers nothing: all ones. */
	if (v) {
		if (READ_ONCE(v->condition) == VHCA_GONE || vhca_health_is_resetting(v))
			return NULL;
		return &v->config;
	}
	return bus->number == 0 && devfn == 0 ? root->port : NULL;
}

static struct vhca_root *vhca_root_of(struct pci_bus *bus)
{
	return container_of(bus->sysdata, struct vhca_root, sysdata);
}

static int vhca_config_read(struct pci_bus *bus, unsigned int devfn,
			    int where, int size, u32 *value)
{
	struct vhca_config_space *space;

	space = vhca_root_config(vhca_root_of(bus), bus, devfn);
	if (!space || where < 0 || where + size > VHCA_CONFIG_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	*value = vhca_config_get(space, where, size);
	return PCIBIOS_SUCCESSFUL;
}

static void vhca_root_reset(struct vhca_root *root)
{
	unsigned int i;

	for (i = 0; i < root->nr_functions; i++)
		vhca_health_reset_function(root->functions[i]);
}

static int vhca_config_write(struct pci_bus *bus, unsigned int devfn,
			     int where, int size, u32 value)
{
	struct vhca_root *root = vhca_root_of(bus);
	struct vhca_config_space *space;
	struct vhca *v;

	space = vhca_root_config(root, bus, devfn);
	if (!space || where < 0 || where + size > VHCA_CONFIG_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	vhca_config_put(space, where, size, value);
	v = vhca_root_find(root, bus->number, devfn);
	if (!v) {
		if (vhca_config_resets_bus(where, size, value))
			vhca_root_reset(root);
		return PCIBIOS_SUCCESSFUL;
	}
	/* The firmware thread looks at it before each access to memory. */
	WRITE_ONCE(v->bus_master, space->byte[PCI_COMMAND] & PCI_COMMAND_MASTER);
	if (vhca_config_resets_function(where, size, value))
		vhca_health_reset_function(v);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops vhca_pci_ops = {
	.read	= vhca_config_read,
	.write	= vhca_config_write,
};

/*
 * The device takes a DMA address for a physical one.  An IOMMU would not
 * translate for it, and bounce buffers would never be copied: better no device
 * than one that reads the wrong memory.
 */
static int vhca_check_dma(struct pci_dev *pdev, void *data)
{
	int *err = data;

	if (device_iommu_mapped(&pdev->dev)) {
		pr_err("%s: an IOMMU translates for this function: boot without it\n",
		       pci_name(pdev));
		*err = -ENODEV;
	} else if (is_swiotlb_force_bounce(&pdev->dev)) {
		pr_err("%s: all DMA goes through bounce buffers: boot without swiotlb=force\n",
		       pci_name(pdev));
		*err = -ENODEV;
	}
	return *err;
}

static struct pci_bus *vhca_root_bus(struct vhca_root *root)
{
	struct pci_host_bridge *bridge;
	LIST_HEAD(resources);
	struct pci_bus *bus;

	root->sysdata.domain = root->domain;
	root->sysdata.node = NUMA_NO_NODE;
	root->bus_resource = (struct resource) {
		.name	= "mlx5_vhca bus",
		.end	= vhca_root_function_bus(root),
		.flags	= IORESOURCE_BUS | IORESOURCE_PCI_FIXED,
	};
	pci_add_resource(&resources, &root->bus_resource);
	pci_add_resource(&resources, &root->window);
	bus = pci_create_root_bus(NULL, 0, &vhca_pci_ops, &root->sysdata,
				  &resources);
	if (!bus) {
		pci_free_resource_list(&resources);
		return NULL;
	}
	/* pcieport would look for an interrupt that the port does not have. */
	bridge = to_pci_host_bridge(bus->bridge);
	bridge->native_pme = 0;
	bridge->native_aer = 0;
	/* pcibios_device_add() hands the domain down to the functions. */
	dev_set_msi_domain(&bus->dev, root->msi_domain);
	return bus;
}

static void vhca_root_remove_locked(struct vhca_root *root)
{
	struct pci_host_bridge *bridge = to_pci_host_bridge(root->bus->bridge);
	unsigned int i;

	pci_stop_root_bus(root->bus);
	pci_remove_root_bus(root->bus);
	root->bus = NULL;
	/* The reference that pci_create_root_bus() made it with is its caller's. */
	pci_free_host_bridge(bridge);
	/* A driver clears it, but there may have been none. */
	for (i = 0; i < root->nr_functions; i++)
		WRITE_ONCE(root->functions[i]->bus_master, false);
}

/**
 * vhca_root_add - make the root bus and let drivers probe what is below it
 * @root: the host bridge, the firmware of whose functions runs
 *
 * Context: takes the PCI rescan lock; a driver may probe before it returns.
 * Return: 0 or a negative errno, after a line in the log
 */
int vhca_root_add(struct vhca_root *root)
{
	unsigned int i;
	int err = 0;

	pci_lock_rescan_remove();
	if (pci_find_bus(root->domain, 0)) {
		pr_err("PCI domain %u exists already: set domain= to another\n",
		       root->domain);
		err = -EBUSY;
		goto out;
	}
	root->bus = vhca_root_bus(root);
	if (!root->bus) {
		pr_err("%s: cannot create the root bus\n", root->name);
		err = -ENODEV;
		goto out;
	}
	pci_scan_child_bus(root->bus);
	pci_bus_claim_resources(root->bus);
	pci_walk_bus(root->bus, vhca_check_dma, &err);
	if (err) {
		vhca_root_remove_locked(root);
		goto out;
	}
	for (i = 0; i < root->nr_functions; i++)
		vhca_info(root->functions[i],
			  "virtual HCA 15b3:%04x, BAR0 at 0x%llx\n",
			  root->functions[i]->params.device_id,
			  (u64)root->functions[i]->params.bar_phys);
	pci_bus_add_devices(root->bus);
out:
	pci_unlock_rescan_remove();
	return err;
}

/**
 * vhca_root_remove - unbind the drivers and take the bus away
 * @root: the host bridge; the firmware of all devices must still run, as the
 *	driver of a function on another may have to do with these
 *
 * Context: takes the PCI rescan lock, waits for the drivers
 */
void vhca_root_remove(struct vhca_root *root)
{
	pci_lock_rescan_remove();
	vhca_root_remove_locked(root);
	pci_unlock_rescan_remove();
}
