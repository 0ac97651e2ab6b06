// SPDX-License-Identifier: GPL-2.0
/*
 * Host bridge and config space of the function.
 *
 * The function sits alone on the root bus of a PCI domain of its own.  Its
 * config space is an array of bytes with a mask of what can be written, and a
 * PCI Express capability that calls it a Root Complex Integrated Endpoint, so
 * that no code looks for a port and a link above it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/swiotlb.h>

#include "vhca.h"

#define VHCA_CAP_PCIE	0x60
#define VHCA_CAP_MSIX	0xa0

#define VHCA_PCI_CLASS	0x0207		/* network controller, InfiniBand */
#define VHCA_SUBSYSTEM	0x0001

static void vhca_config_set(struct vhca *v, unsigned int where,
			    unsigned int size, u32 value, u32 writable)
{
	unsigned int i;

	for (i = 0; i < size; i++) {
		v->config[where + i] = value >> (8 * i);
		v->config_mask[where + i] = writable >> (8 * i);
	}
}

/**
 * vhca_pci_init - fill the config space
 * @v: the device
 *
 * BAR0 holds its address from the start, because the kernel does not assign
 * addresses within memory that the firmware map calls reserved
 * (arch_remove_reservations()); it is claimed in vhca_pci_add() instead.
 * There is no interrupt pin, so that no ACPI code tries to route one.
 */
void vhca_pci_init(struct vhca *v)
{
	u64 size_mask = ~(v->params.bar_size - 1);

	vhca_config_set(v, PCI_VENDOR_ID, 2, PCI_VENDOR_ID_MELLANOX, 0);
	vhca_config_set(v, PCI_DEVICE_ID, 2, v->params.device_id, 0);
	vhca_config_set(v, PCI_COMMAND, 2, 0,
			PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
			PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
			PCI_COMMAND_INTX_DISABLE);
	vhca_config_set(v, PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0);
	vhca_config_set(v, PCI_CLASS_REVISION, 4, VHCA_PCI_CLASS << 16, 0);
	vhca_config_set(v, PCI_CACHE_LINE_SIZE, 1, 0, 0xff);
	vhca_config_set(v, PCI_BASE_ADDRESS_0, 4,
			lower_32_bits(v->params.bar_phys) |
			PCI_BASE_ADDRESS_MEM_TYPE_64 |
			PCI_BASE_ADDRESS_MEM_PREFETCH,
			lower_32_bits(size_mask));
	vhca_config_set(v, PCI_BASE_ADDRESS_1, 4,
			upper_32_bits(v->params.bar_phys),
			upper_32_bits(size_mask));
	vhca_config_set(v, PCI_SUBSYSTEM_VENDOR_ID, 2,
			PCI_VENDOR_ID_MELLANOX, 0);
	vhca_config_set(v, PCI_SUBSYSTEM_ID, 2, VHCA_SUBSYSTEM, 0);
	vhca_config_set(v, PCI_CAPABILITY_LIST, 1, VHCA_CAP_PCIE, 0);

	vhca_config_set(v, VHCA_CAP_PCIE, 1, PCI_CAP_ID_EXP, 0);
	vhca_config_set(v, VHCA_CAP_PCIE + PCI_CAP_LIST_NEXT, 1,
			VHCA_CAP_MSIX, 0);
	vhca_config_set(v, VHCA_CAP_PCIE + PCI_EXP_FLAGS, 2,
			2 | (PCI_EXP_TYPE_RC_END << 4), 0);
	/* 256 bytes of payload, the driver may set what it likes. */
	vhca_config_set(v, VHCA_CAP_PCIE + PCI_EXP_DEVCAP, 4,
			PCI_EXP_DEVCAP_RBER | 1, 0);
	vhca_config_set(v, VHCA_CAP_PCIE + PCI_EXP_DEVCTL, 2,
			PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN |
			PCI_EXP_DEVCTL_READRQ_512B, 0x7fff);

	vhca_config_set(v, VHCA_CAP_MSIX, 1, PCI_CAP_ID_MSIX, 0);
	vhca_config_set(v, VHCA_CAP_MSIX + PCI_CAP_LIST_NEXT, 1, 0, 0);
	vhca_config_set(v, VHCA_CAP_MSIX + PCI_MSIX_FLAGS, 2,
			v->params.vectors - 1,
			PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	vhca_config_set(v, VHCA_CAP_MSIX + PCI_MSIX_TABLE, 4,
			VHCA_MSIX_TABLE, 0);
	vhca_config_set(v, VHCA_CAP_MSIX + PCI_MSIX_PBA, 4, VHCA_MSIX_PBA, 0);
}

static struct vhca *vhca_of_bus(struct pci_bus *bus)
{
	return container_of(bus->sysdata, struct vhca, sysdata);
}

static bool vhca_config_exists(struct pci_bus *bus, unsigned int devfn,
			       int where, int size)
{
	return bus->number == 0 && devfn == 0 && where >= 0 &&
	       where + size <= VHCA_CONFIG_SIZE;
}

static int vhca_config_read(struct pci_bus *bus, unsigned int devfn, int where,
			    int size, u32 *value)
{
	struct vhca *v = vhca_of_bus(bus);
	int i;

	if (!vhca_config_exists(bus, devfn, where, size)) {
		*value = ~0;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*value = 0;
	for (i = 0; i < size; i++)
		*value |= (u32)v->config[where + i] << (8 * i);
	return PCIBIOS_SUCCESSFUL;
}

static int vhca_config_write(struct pci_bus *bus, unsigned int devfn,
			     int where, int size, u32 value)
{
	struct vhca *v = vhca_of_bus(bus);
	int i;

	if (!vhca_config_exists(bus, devfn, where, size))
		return PCIBIOS_DEVICE_NOT_FOUND;
	for (i = 0; i < size; i++) {
		u8 mask = v->config_mask[where + i];
		u8 byte = value >> (8 * i);

		v->config[where + i] = (v->config[where + i] & ~mask) |
				       (byte & mask);
	}
	/* The firmware thread looks at it before each access to memory. */
	WRITE_ONCE(v->bus_master, v->config[PCI_COMMAND] & PCI_COMMAND_MASTER);
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
static int vhca_pci_check_dma(struct vhca *v)
{
	struct pci_dev *pdev;

	list_for_each_entry(pdev, &v->bus->devices, bus_list) {
		if (device_iommu_mapped(&pdev->dev)) {
			vhca_err(v, "an IOMMU translates for this function: boot without it\n");
			return -ENODEV;
		}
		if (is_swiotlb_force_bounce(&pdev->dev)) {
			vhca_err(v, "all DMA goes through bounce buffers: boot without swiotlb=force\n");
			return -ENODEV;
		}
	}
	return 0;
}

static void vhca_pci_remove_locked(struct vhca *v)
{
	pci_stop_root_bus(v->bus);
	pci_remove_root_bus(v->bus);
	v->bus = NULL;
}

/**
 * vhca_pci_add - make the root bus and let drivers probe the function
 * @v: the device, whose firmware runs
 *
 * Context: takes the PCI rescan lock; a driver may probe before it returns.
 * Return: 0 or a negative errno, after a line in the log
 */
int vhca_pci_add(struct vhca *v)
{
	LIST_HEAD(resources);
	int err;

	v->sysdata.domain = v->params.domain;
	v->sysdata.node = NUMA_NO_NODE;
	v->bus_resource = (struct resource) {
		.name	= "mlx5_vhca bus",
		.flags	= IORESOURCE_BUS | IORESOURCE_PCI_FIXED,
	};
	pci_add_resource(&resources, &v->bus_resource);
	pci_add_resource(&resources, &v->window);

	pci_lock_rescan_remove();
	if (pci_find_bus(v->params.domain, 0)) {
		vhca_err(v, "PCI domain %u exists already: set domain= to another\n",
			 v->params.domain);
		err = -EBUSY;
		goto err_resources;
	}
	v->bus = pci_create_root_bus(NULL, 0, &vhca_pci_ops, &v->sysdata,
				     &resources);
	if (!v->bus) {
		vhca_err(v, "cannot create the root bus\n");
		err = -ENODEV;
		goto err_resources;
	}
	/* pcibios_device_add() hands the domain down to the function. */
	dev_set_msi_domain(&v->bus->dev, v->msi_domain);
	pci_scan_child_bus(v->bus);
	pci_bus_claim_resources(v->bus);
	err = vhca_pci_check_dma(v);
	if (err)
		goto err_bus;
	vhca_info(v, "virtual HCA 15b3:%04x, BAR0 %pR\n", v->params.device_id,
		  &v->window);
	pci_bus_add_devices(v->bus);
	pci_unlock_rescan_remove();
	return 0;

err_bus:
	vhca_pci_remove_locked(v);
	pci_unlock_rescan_remove();
	return err;
err_resources:
	pci_unlock_rescan_remove();
	pci_free_resource_list(&resources);
	return err;
}

/**
 * vhca_pci_remove - unbind the driver and take the bus away
 * @v: the device, whose firmware must still run
 *
 * Context: takes the PCI rescan lock, waits for the driver
 */
void vhca_pci_remove(struct vhca *v)
{
	pci_lock_rescan_remove();
	vhca_pci_remove_locked(v);
	pci_unlock_rescan_remove();
}
