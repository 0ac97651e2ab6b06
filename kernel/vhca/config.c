// SPDX-License-Identifier: GPL-2.0
/*
 * Config space: what is in it, and reading and writing it.
 *
 * A space is an array of bytes with a mask of what can be written.  A function
 * on a root bus has a PCI Express capability that calls it a Root Complex
 * Integrated Endpoint, so that no code looks for a port and a link above it;
 * one below the root port is an endpoint with a link.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "vhca.h"

/* The PCI Express capability has 0x3c bytes in its second version. */
#define VHCA_CAP_PCIE		0x60
#define VHCA_CAP_MSIX		0xa0

#define VHCA_PCI_CLASS		0x0207	/* network controller, InfiniBand */
#define VHCA_SUBSYSTEM		0x0001

/* BlueField-2 SoC PCIe Bridge: no quirk and no driver knows it by number. */
#define VHCA_PORT_DEVICE_ID	0x1978

#define VHCA_LINK_WIDTH		16

static void vhca_config_set(struct vhca_config_space *space,
			    unsigned int where, unsigned int size, u32 value,
			    u32 writable)
{
	unsigned int i;

	for (i = 0; i < size; i++) {
		space->byte[where + i] = value >> (8 * i);
		space->writable[where + i] = writable >> (8 * i);
	}
}

/* What functions and ports have in common. */
static void vhca_config_fill_common(struct vhca_config_space *space,
				    u16 device_id, u32 class)
{
	vhca_config_set(space, PCI_VENDOR_ID, 2, PCI_VENDOR_ID_MELLANOX, 0);
	vhca_config_set(space, PCI_DEVICE_ID, 2, device_id, 0);
	vhca_config_set(space, PCI_COMMAND, 2, 0,
			PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
			PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
			PCI_COMMAND_INTX_DISABLE);
	vhca_config_set(space, PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0);
	vhca_config_set(space, PCI_CLASS_REVISION, 4, class << 8, 0);
	vhca_config_set(space, PCI_CACHE_LINE_SIZE, 1, 0, 0xff);
	vhca_config_set(space, PCI_CAPABILITY_LIST, 1, VHCA_CAP_PCIE, 0);
}

static void vhca_config_fill_pcie(struct vhca_config_space *space,
				  unsigned int type)
{
	vhca_config_set(space, VHCA_CAP_PCIE, 1, PCI_CAP_ID_EXP, 0);
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_EXP_FLAGS, 2,
			2 | (type << 4), 0);
	/* 256 bytes of payload, the driver may set what it likes. */
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_EXP_DEVCAP, 4,
			PCI_EXP_DEVCAP_RBER | 1 |
			(type == PCI_EXP_TYPE_ROOT_PORT ? 0 : PCI_EXP_DEVCAP_FLR),
			0);
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_EXP_DEVCTL, 2,
			PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN |
			PCI_EXP_DEVCTL_READRQ_512B, 0x7fff);
	if (type == PCI_EXP_TYPE_RC_END)
		return;
	/*
	 * A link that is up at its full speed and has no power management.
	 * That it does not report changes of bandwidth keeps pcieport from
	 * wanting an interrupt for them.
	 */
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_EXP_LNKCAP, 4,
			PCI_EXP_LNKCAP_SLS_16_0GB |
			FIELD_PREP(PCI_EXP_LNKCAP_MLW, VHCA_LINK_WIDTH), 0);
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_EXP_LNKSTA, 2,
			PCI_EXP_LNKSTA_CLS_16_0GB |
			FIELD_PREP(PCI_EXP_LNKSTA_NLW, VHCA_LINK_WIDTH), 0);
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_EXP_LNKCAP2, 4,
			PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB |
			PCI_EXP_LNKCAP2_SLS_8_0GB | PCI_EXP_LNKCAP2_SLS_16_0GB,
			0);
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_EXP_LNKCTL2, 2,
			PCI_EXP_LNKCTL2_TLS_16_0GT, PCI_EXP_LNKCTL2_TLS);
}

/**
 * vhca_config_fill_function - fill the config space of a function
 * @v: the device, with its root and parameters
 *
 * BAR0 holds its address from the start, because the kernel does not assign
 * addresses within memory that the firmware map calls reserved
 * (arch_remove_reservations()); it is claimed in vhca_root_add() instead.
 * There is no interrupt pin, so that no ACPI code tries to route one.
 */
void vhca_config_fill_function(struct vhca *v)
{
	struct vhca_config_space *space = &v->config;
	u64 size_mask = ~(v->params.bar_size - 1);

	vhca_config_fill_common(space, v->params.device_id,
				VHCA_PCI_CLASS << 8);
	if (v->root->nr_functions > 1)
		vhca_config_set(space, PCI_HEADER_TYPE, 1, PCI_HEADER_TYPE_MFD,
				0);
	vhca_config_set(space, PCI_BASE_ADDRESS_0, 4,
			lower_32_bits(v->params.bar_phys) |
			PCI_BASE_ADDRESS_MEM_TYPE_64 |
			PCI_BASE_ADDRESS_MEM_PREFETCH,
			lower_32_bits(size_mask));
	vhca_config_set(space, PCI_BASE_ADDRESS_1, 4,
			upper_32_bits(v->params.bar_phys),
			upper_32_bits(size_mask));
	vhca_config_set(space, PCI_SUBSYSTEM_VENDOR_ID, 2,
			PCI_VENDOR_ID_MELLANOX, 0);
	vhca_config_set(space, PCI_SUBSYSTEM_ID, 2, VHCA_SUBSYSTEM, 0);

	vhca_config_fill_pcie(space, v->root->port ? PCI_EXP_TYPE_ENDPOINT :
						     PCI_EXP_TYPE_RC_END);
	vhca_config_set(space, VHCA_CAP_PCIE + PCI_CAP_LIST_NEXT, 1,
			VHCA_CAP_MSIX, 0);

	vhca_config_set(space, VHCA_CAP_MSIX, 1, PCI_CAP_ID_MSIX, 0);
	vhca_config_set(space, VHCA_CAP_MSIX + PCI_MSIX_FLAGS, 2,
			v->params.vectors - 1,
			PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	vhca_config_set(space, VHCA_CAP_MSIX + PCI_MSIX_TABLE, 4,
			VHCA_MSIX_TABLE, 0);
	vhca_config_set(space, VHCA_CAP_MSIX + PCI_MSIX_PBA, 4, VHCA_MSIX_PBA,
			0);
}

/**
 * vhca_config_fill_port - fill the config space of the root port
 * @root: the host bridge, with its window
 *
 * The port forwards the whole window of the host bridge, as prefetchable
 * memory; it forwards no other memory and no I/O ports.  It has neither interrupts
 * nor AER nor a slot, so there is no service for pcieport to offer.
 */
void vhca_config_fill_port(struct vhca_root *root)
{
	struct vhca_config_space *space = root->port;
	u64 start = root->window.start, end = root->window.end;

	vhca_config_fill_common(space, VHCA_PORT_DEVICE_ID,
				PCI_CLASS_BRIDGE_PCI_NORMAL);
	vhca_config_set(space, PCI_HEADER_TYPE, 1, PCI_HEADER_TYPE_BRIDGE, 0);
	/* Fixed: the functions' addresses are known before they are found. */
	vhca_config_set(space, PCI_SECONDARY_BUS, 1, VHCA_PORT_BUS, 0);
	vhca_config_set(space, PCI_SUBORDINATE_BUS, 1, VHCA_PORT_BUS, 0);
	/*
	 * Base above limit: nothing.  I/O ports have such a window as well, for zeros, which a
	 * bridge without one has there, are 4 KiB to pci_read_bridge_io() of older kernels
	 * (6.12), whatever pci_read_bridge_windows() has found; and a bridge whose window has
	 * no room above it is not enabled.
	 */
	vhca_config_set(space, PCI_IO_BASE, 1, 0xf0, 0xf0);
	vhca_config_set(space, PCI_IO_LIMIT, 1, 0, 0xf0);
	vhca_config_set(space, PCI_MEMORY_BASE, 2, 0xfff0, 0xfff0);
	vhca_config_set(space, PCI_MEMORY_LIMIT, 2, 0, 0xfff0);
	vhca_config_set(space, PCI_PREF_MEMORY_BASE, 2,
			(lower_32_bits(start) >> 16 & PCI_PREF_RANGE_MASK) |
			PCI_PREF_RANGE_TYPE_64, 0xfff0);
	vhca_config_set(space, PCI_PREF_MEMORY_LIMIT, 2,
			(lower_32_bits(end) >> 16 & PCI_PREF_RANGE_MASK) |
			PCI_PREF_RANGE_TYPE_64, 0xfff0);
	vhca_config_set(space, PCI_PREF_BASE_UPPER32, 4, upper_32_bits(start),
			~0);
	vhca_config_set(space, PCI_PREF_LIMIT_UPPER32, 4, upper_32_bits(end),
			~0);
	vhca_config_set(space, PCI_BRIDGE_CONTROL, 2, 0,
			PCI_BRIDGE_CTL_PARITY | PCI_BRIDGE_CTL_SERR |
			PCI_BRIDGE_CTL_MASTER_ABORT |
			PCI_BRIDGE_CTL_BUS_RESET);
	vhca_config_fill_pcie(space, PCI_EXP_TYPE_ROOT_PORT);
}

/**
 * vhca_config_get - read from a config space
 * @space: the space
 * @where: offset of the first byte
 * @size: 1, 2 or 4 bytes, all within the space
 *
 * Context: any; raw spinlock of the PCI core held
 * Return: the value
 */
u32 vhca_config_get(const struct vhca_config_space *space, unsigned int where,
		    unsigned int size)
{
	u32 value = 0;
	unsigned int i;

	for (i = 0; i < size; i++)
		value |= (u32)space->byte[where + i] << (8 * i);
	return value;
}

/**
 * vhca_config_put - write what can be written of a config space
 * @space: the space
 * @where: offset of the first byte
 * @size: 1, 2 or 4 bytes, all within the space
 * @value: the value
 *
 * Context: any; raw spinlock of the PCI core held
 */
void vhca_config_put(struct vhca_config_space *space, unsigned int where,
		     unsigned int size, u32 value)
{
	unsigned int i;

	for (i = 0; i < size; i++) {
		u8 mask = space->writable[where + i];
		u8 byte = value >> (8 * i);

		space->byte[where + i] = (space->byte[where + i] & ~mask) |
					 (byte & mask);
	}
}

/* Is a bit set that a register of two bytes has? */
static bool vhca_config_sets(unsigned int where, unsigned int size, u32 value,
			     unsigned int reg, u16 bit)
{
	unsigned int i;

	for (i = 0; i < size; i++) {
		u8 byte = value >> (8 * i);

		if (where + i == reg && byte & (u8)bit)
			return true;
		if (where + i == reg + 1 && byte & (u8)(bit >> 8))
			return true;
	}
	return false;
}

/**
 * vhca_config_resets_function - does a write begin a function level reset?
 * @where: offset of the first byte, in the config space of a function
 * @size: 1, 2 or 4 bytes, all within the space
 * @value: what is written
 *
 * Models PCI Express Base Specification 7.5.3.4, Device Control Register.
 *
 * Context: any
 * Return: whether it does
 */
bool vhca_config_resets_function(unsigned int where, unsigned int size, u32 value)
{
	return vhca_config_sets(where, size, value, VHCA_CAP_PCIE + PCI_EXP_DEVCTL,
				PCI_EXP_DEVCTL_BCR_FLR);
}

/**
 * vhca_config_resets_bus - does a write reset what is below the root port?
 * @where: offset of the first byte, in the config space of the port
 * @size: 1, 2 or 4 bytes, all within the space
 * @value: what is written
 *
 * Models PCI Express Base Specification 7.5.1.3.13, Bridge Control Register.
 *
 * Context: any
 * Return: whether it does
 */
bool vhca_config_resets_bus(unsigned int where, unsigned int size, u32 value)
{
	return vhca_config_sets(where, size, value, PCI_BRIDGE_CONTROL,
				PCI_BRIDGE_CTL_BUS_RESET);
}
