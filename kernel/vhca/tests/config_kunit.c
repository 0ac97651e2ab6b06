// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of config space and of what is found where below a host bridge.
 */
#include <linux/sizes.h>

#include "device_kunit.h"

static u32 get(struct kunit *test, unsigned int where, unsigned int size)
{
	struct vhca *v = test->priv;

	return vhca_config_get(&v->config, where, size);
}

static void put(struct kunit *test, unsigned int where, unsigned int size, u32 value)
{
	struct vhca *v = test->priv;

	vhca_config_put(&v->config, where, size, value);
}

static int config_init(struct kunit *test)
{
	int err = vhca_kunit_init(test);

	if (!err)
		vhca_config_fill_function(test->priv);
	return err;
}

/* The capability of an id in the list, 0 if it is not there. */
static u8 find_capability(struct kunit *test, u8 id)
{
	u8 at = get(test, PCI_CAPABILITY_LIST, 1);
	unsigned int n;

	for (n = 0; at && n < 48; n++) {
		KUNIT_ASSERT_GE(test, at, PCI_STD_HEADER_SIZEOF);
		KUNIT_ASSERT_EQ(test, at % 4, 0);
		if (get(test, at, 1) == id)
			return at;
		at = get(test, at + PCI_CAP_LIST_NEXT, 1);
	}
	KUNIT_EXPECT_LT_MSG(test, n, 48, "the list has no end");
	return 0;
}

static void config_get_is_little_endian(struct kunit *test)
{
	struct vhca *v = test->priv;

	memcpy(&v->config.byte[0x80], "\x12\x34\x56\x78", 4);
	memcpy(&v->config.byte[VHCA_CONFIG_SIZE - 4], "\xfc\xfd\xfe\xff", 4);
	KUNIT_EXPECT_EQ(test, get(test, 0x80, 1), 0x12);
	KUNIT_EXPECT_EQ(test, get(test, 0x83, 1), 0x78);
	KUNIT_EXPECT_EQ(test, get(test, 0x82, 2), 0x7856);
	KUNIT_EXPECT_EQ(test, get(test, 0x80, 4), 0x78563412);
	KUNIT_EXPECT_EQ(test, get(test, VHCA_CONFIG_SIZE - 1, 1), 0xff);
	KUNIT_EXPECT_EQ(test, get(test, VHCA_CONFIG_SIZE - 4, 4), 0xfffefdfc);
}

static void config_put_obeys_mask(struct kunit *test)
{
	struct vhca *v = test->priv;

	memcpy(&v->config.byte[0x80], "\xaa\xaa\xaa\xaa\xaa", 5);
	memcpy(&v->config.writable[0x80], "\x0f\xff\x00\xf0\xff", 5);
	put(test, 0x80, 4, 0x55555555);
	KUNIT_EXPECT_EQ(test, get(test, 0x80, 4), 0x5aaa55a5);
	/* Bytes beside it are others'. */
	KUNIT_EXPECT_EQ(test, get(test, 0x84, 1), 0xaa);
	put(test, 0x81, 1, 0x177);
	KUNIT_EXPECT_EQ(test, get(test, 0x80, 4), 0x5aaa77a5);
	put(test, VHCA_CONFIG_SIZE - 4, 4, ~0);
	KUNIT_EXPECT_EQ(test, get(test, VHCA_CONFIG_SIZE - 4, 4), 0);
}

static void config_function_is_fixed(struct kunit *test)
{
	put(test, PCI_VENDOR_ID, 4, ~0);
	put(test, PCI_CLASS_REVISION, 4, ~0);
	put(test, PCI_HEADER_TYPE, 1, ~0);
	put(test, PCI_INTERRUPT_PIN, 1, ~0);
	put(test, PCI_CAPABILITY_LIST, 1, ~0);
	KUNIT_EXPECT_EQ(test, get(test, PCI_VENDOR_ID, 2), PCI_VENDOR_ID_MELLANOX);
	KUNIT_EXPECT_EQ(test, get(test, PCI_DEVICE_ID, 2), 0x101e);
	KUNIT_EXPECT_EQ(test, get(test, PCI_CLASS_REVISION, 4) >> 16, 0x0207);
	KUNIT_EXPECT_EQ(test, get(test, PCI_HEADER_TYPE, 1), PCI_HEADER_TYPE_NORMAL);
	KUNIT_EXPECT_EQ(test, get(test, PCI_INTERRUPT_PIN, 1), 0);
	KUNIT_EXPECT_NE(test, get(test, PCI_CAPABILITY_LIST, 1), 0);
}

static void config_command_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, get(test, PCI_COMMAND, 2), 0);
	put(test, PCI_COMMAND, 2, 0xffff);
	KUNIT_EXPECT_EQ(test, get(test, PCI_COMMAND, 2),
			PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
			PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
			PCI_COMMAND_INTX_DISABLE);
	put(test, PCI_COMMAND, 2, 0);
	KUNIT_EXPECT_EQ(test, get(test, PCI_COMMAND, 2), 0);
	KUNIT_EXPECT_TRUE(test, get(test, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST);
}

/* As the kernel finds out: __pci_size_bars() and pci_read_bases(). */
static void config_bar_sizes(struct kunit *test)
{
	static const struct { u64 phys, size; } bars[] = {
		{ 0x60000000, SZ_64M },
		{ 0x64000000, SZ_64M },
		{ 0x1200000000, SZ_64M },
		{ 0x40000000, SZ_1G },
		{ 0x800000000, SZ_8G },
	};
	struct vhca *v = test->priv;
	unsigned int i;
	u64 bar, mask;

	for (i = 0; i < ARRAY_SIZE(bars); i++) {
		v->params.bar_phys = bars[i].phys;
		v->params.bar_size = bars[i].size;
		vhca_config_fill_function(v);
		bar = get(test, PCI_BASE_ADDRESS_0, 4) |
		      (u64)get(test, PCI_BASE_ADDRESS_1, 4) << 32;
		KUNIT_EXPECT_EQ(test, bar & PCI_BASE_ADDRESS_MEM_MASK, bars[i].phys);
		KUNIT_EXPECT_EQ(test, bar & ~PCI_BASE_ADDRESS_MEM_MASK,
				PCI_BASE_ADDRESS_MEM_TYPE_64 |
				PCI_BASE_ADDRESS_MEM_PREFETCH);
		put(test, PCI_BASE_ADDRESS_0, 4, ~0);
		put(test, PCI_BASE_ADDRESS_1, 4, ~0);
		mask = get(test, PCI_BASE_ADDRESS_0, 4) |
		       (u64)get(test, PCI_BASE_ADDRESS_1, 4) << 32;
		KUNIT_EXPECT_EQ(test, ~(mask & PCI_BASE_ADDRESS_MEM_MASK) + 1,
				bars[i].size);
		/* What the kernel puts back is there again. */
		put(test, PCI_BASE_ADDRESS_0, 4, lower_32_bits(bar));
		put(test, PCI_BASE_ADDRESS_1, 4, upper_32_bits(bar));
		KUNIT_EXPECT_EQ(test, get(test, PCI_BASE_ADDRESS_0, 4) |
				(u64)get(test, PCI_BASE_ADDRESS_1, 4) << 32, bar);
	}
	/* There is no other BAR, and no ROM. */
	for (i = PCI_BASE_ADDRESS_2; i <= PCI_BASE_ADDRESS_5; i += 4) {
		put(test, i, 4, ~0);
		KUNIT_EXPECT_EQ(test, get(test, i, 4), 0);
	}
	put(test, PCI_ROM_ADDRESS, 4, ~0);
	KUNIT_EXPECT_EQ(test, get(test, PCI_ROM_ADDRESS, 4), 0);
}

static void config_capabilities(struct kunit *test)
{
	u8 pcie = find_capability(test, PCI_CAP_ID_EXP);
	u8 msix = find_capability(test, PCI_CAP_ID_MSIX);

	KUNIT_ASSERT_NE(test, pcie, 0);
	KUNIT_ASSERT_NE(test, msix, 0);
	/* No power management, no MSI: their drivers would want answers. */
	KUNIT_EXPECT_EQ(test, find_capability(test, PCI_CAP_ID_PM), 0);
	KUNIT_EXPECT_EQ(test, find_capability(test, PCI_CAP_ID_MSI), 0);
	/* One does not lie in the other, and extended ones there are none. */
	KUNIT_EXPECT_TRUE(test, pcie + 0x3c <= msix || msix + 12 <= pcie);
	KUNIT_EXPECT_EQ(test, get(test, PCI_CFG_SPACE_SIZE, 4), 0);
	KUNIT_EXPECT_EQ(test, get(test, pcie + PCI_EXP_FLAGS, 2),
			2 | PCI_EXP_TYPE_RC_END << 4);
}

static void config_msix(struct kunit *test)
{
	static const u16 vectors[] = { 2, 16, VHCA_MAX_VECTORS };
	struct vhca *v = test->priv;
	u8 msix = find_capability(test, PCI_CAP_ID_MSIX);
	unsigned int i;
	u16 flags;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		v->params.vectors = vectors[i];
		vhca_config_fill_function(v);
		flags = get(test, msix + PCI_MSIX_FLAGS, 2);
		KUNIT_EXPECT_EQ(test, flags, vectors[i] - 1);
		put(test, msix + PCI_MSIX_FLAGS, 2, 0xffff);
		KUNIT_EXPECT_EQ(test, get(test, msix + PCI_MSIX_FLAGS, 2),
				flags | PCI_MSIX_FLAGS_ENABLE |
				PCI_MSIX_FLAGS_MASKALL);
	}
	/* Both in BAR0, and both cannot be changed. */
	put(test, msix + PCI_MSIX_TABLE, 4, ~0);
	put(test, msix + PCI_MSIX_PBA, 4, ~0);
	KUNIT_EXPECT_EQ(test, get(test, msix + PCI_MSIX_TABLE, 4), VHCA_MSIX_TABLE);
	KUNIT_EXPECT_EQ(test, get(test, msix + PCI_MSIX_PBA, 4), VHCA_MSIX_PBA);
}

/* Two below one port: more functions than one, and endpoints with a link. */
static void config_function_below_port(struct kunit *test)
{
	struct vhca_config_space *port = kunit_kzalloc(test, sizeof(*port),
						       GFP_KERNEL);
	struct vhca *v = test->priv;
	u8 pcie;

	KUNIT_ASSERT_NOT_NULL(test, port);
	v->root->port = port;
	v->root->nr_functions = 2;
	vhca_config_fill_function(v);
	KUNIT_EXPECT_EQ(test, get(test, PCI_HEADER_TYPE, 1), PCI_HEADER_TYPE_MFD);
	pcie = find_capability(test, PCI_CAP_ID_EXP);
	KUNIT_EXPECT_EQ(test, get(test, pcie + PCI_EXP_FLAGS, 2),
			2 | PCI_EXP_TYPE_ENDPOINT << 4);
	/* The link is as fast and as wide as it can be. */
	KUNIT_EXPECT_EQ(test, get(test, pcie + PCI_EXP_LNKSTA, 2) &
			(PCI_EXP_LNKSTA_CLS | PCI_EXP_LNKSTA_NLW),
			get(test, pcie + PCI_EXP_LNKCAP, 4) &
			(PCI_EXP_LNKCAP_SLS | PCI_EXP_LNKCAP_MLW));
	KUNIT_EXPECT_NE(test, get(test, pcie + PCI_EXP_LNKSTA, 2), 0);
	v->root->port = NULL;
}

/* What the port forwards, as pci_read_bridge_mmio_pref() reads it. */
static void config_port_window(struct kunit *test)
{
	static const struct { u64 start, size; } windows[] = {
		{ 0x60000000, SZ_64M },
		{ 0x60000000, SZ_128M },
		{ 0x1ffc000000, SZ_64M },
		{ 0x1ffc000000, SZ_128M },
	};
	struct vhca *v = test->priv;
	struct vhca_config_space *port = kunit_kzalloc(test, sizeof(*port),
						       GFP_KERNEL);
	u64 base, limit;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, port);
	v->root->port = port;
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		v->root->window.start = windows[i].start;
		v->root->window.end = windows[i].start + windows[i].size - 1;
		vhca_config_fill_port(v->root);
		base = vhca_config_get(port, PCI_PREF_MEMORY_BASE, 2);
		limit = vhca_config_get(port, PCI_PREF_MEMORY_LIMIT, 2);
		KUNIT_EXPECT_EQ(test, base & PCI_PREF_RANGE_TYPE_MASK,
				PCI_PREF_RANGE_TYPE_64);
		KUNIT_EXPECT_EQ(test, limit & PCI_PREF_RANGE_TYPE_MASK,
				PCI_PREF_RANGE_TYPE_64);
		base = (base & 0xfff0) << 16 |
		       (u64)vhca_config_get(port, PCI_PREF_BASE_UPPER32, 4) << 32;
		limit = (limit & 0xfff0) << 16 | 0xfffff |
			(u64)vhca_config_get(port, PCI_PREF_LIMIT_UPPER32, 4) << 32;
		KUNIT_EXPECT_EQ(test, base, windows[i].start);
		KUNIT_EXPECT_EQ(test, limit, windows[i].start + windows[i].size - 1);
	}
	/* Nothing through the other window. */
	KUNIT_EXPECT_GT(test, vhca_config_get(port, PCI_IO_BASE, 1),
			vhca_config_get(port, PCI_IO_LIMIT, 1));
	KUNIT_EXPECT_GT(test, vhca_config_get(port, PCI_MEMORY_BASE, 2),
			vhca_config_get(port, PCI_MEMORY_LIMIT, 2));
	/* Bus numbers stay whatever is written. */
	vhca_config_put(port, PCI_PRIMARY_BUS, 4, ~0);
	KUNIT_EXPECT_EQ(test, vhca_config_get(port, PCI_PRIMARY_BUS, 1), 0);
	KUNIT_EXPECT_EQ(test, vhca_config_get(port, PCI_SECONDARY_BUS, 1),
			VHCA_PORT_BUS);
	KUNIT_EXPECT_EQ(test, vhca_config_get(port, PCI_SUBORDINATE_BUS, 1),
			VHCA_PORT_BUS);
	KUNIT_EXPECT_EQ(test, vhca_config_get(port, PCI_HEADER_TYPE, 1),
			PCI_HEADER_TYPE_BRIDGE);
	v->root->port = NULL;
}

/* Written as two bytes, as four with the status behind it, or as its own byte. */
static void config_function_level_reset(struct kunit *test)
{
	u8 control = find_capability(test, PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;

	KUNIT_EXPECT_TRUE(test, get(test, control - PCI_EXP_DEVCTL + PCI_EXP_DEVCAP, 4) &
				PCI_EXP_DEVCAP_FLR);
	KUNIT_EXPECT_TRUE(test, vhca_config_resets_function(control, 2, 0xa810));
	KUNIT_EXPECT_TRUE(test, vhca_config_resets_function(control, 4, 0x8000));
	KUNIT_EXPECT_TRUE(test, vhca_config_resets_function(control + 1, 1, 0x80));
	KUNIT_EXPECT_TRUE(test, vhca_config_resets_function(control - 2, 4, 0x80000000));
	KUNIT_EXPECT_FALSE(test, vhca_config_resets_function(control, 2, 0x7fff));
	KUNIT_EXPECT_FALSE(test, vhca_config_resets_function(control, 1, 0xff));
	KUNIT_EXPECT_FALSE(test, vhca_config_resets_function(control + 2, 2, 0xffff));
	KUNIT_EXPECT_FALSE(test, vhca_config_resets_function(control - 4, 4, ~0));
	/* The bit itself cannot be read. */
	put(test, control, 2, 0xffff);
	KUNIT_EXPECT_EQ(test, get(test, control, 2), 0x7fff);
}

static void config_bus_reset(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, vhca_config_resets_bus(PCI_BRIDGE_CONTROL, 2,
						       PCI_BRIDGE_CTL_BUS_RESET));
	KUNIT_EXPECT_FALSE(test, vhca_config_resets_bus(PCI_BRIDGE_CONTROL, 2,
							(u16)~PCI_BRIDGE_CTL_BUS_RESET));
	KUNIT_EXPECT_FALSE(test, vhca_config_resets_bus(PCI_BRIDGE_CONTROL + 1, 1, 0xff));
	KUNIT_EXPECT_FALSE(test, vhca_config_resets_bus(PCI_INTERRUPT_LINE, 2, 0xffff));
}

static void config_root_find(struct kunit *test)
{
	struct vhca *v = test->priv;
	struct vhca_root *root = v->root;

	KUNIT_EXPECT_PTR_EQ(test, vhca_root_find(root, 0, 0), v);
	KUNIT_EXPECT_NULL(test, vhca_root_find(root, 0, 1));
	KUNIT_EXPECT_NULL(test, vhca_root_find(root, 1, 0));
	/* Below a port the function is on its bus, and a second one beside it. */
	root->port = &v->config;
	root->functions[1] = v;
	KUNIT_EXPECT_NULL(test, vhca_root_find(root, 0, 0));
	KUNIT_EXPECT_PTR_EQ(test, vhca_root_find(root, VHCA_PORT_BUS, 0), v);
	KUNIT_EXPECT_NULL(test, vhca_root_find(root, VHCA_PORT_BUS, 1));
	root->nr_functions = 2;
	KUNIT_EXPECT_PTR_EQ(test, vhca_root_find(root, VHCA_PORT_BUS, 1), v);
	KUNIT_EXPECT_NULL(test, vhca_root_find(root, VHCA_PORT_BUS, 2));
	KUNIT_EXPECT_NULL(test, vhca_root_find(root, VHCA_PORT_BUS, PCI_DEVFN(1, 0)));
	KUNIT_EXPECT_NULL(test, vhca_root_find(root, VHCA_PORT_BUS, UINT_MAX));
	root->port = NULL;
}

static struct kunit_case vhca_config_cases[] = {
	KUNIT_CASE(config_get_is_little_endian),
	KUNIT_CASE(config_put_obeys_mask),
	KUNIT_CASE(config_function_is_fixed),
	KUNIT_CASE(config_command_bits),
	KUNIT_CASE(config_bar_sizes),
	KUNIT_CASE(config_capabilities),
	KUNIT_CASE(config_msix),
	KUNIT_CASE(config_function_below_port),
	KUNIT_CASE(config_port_window),
	KUNIT_CASE(config_function_level_reset),
	KUNIT_CASE(config_bus_reset),
	KUNIT_CASE(config_root_find),
	{}
};

static struct kunit_suite vhca_config_suite = {
	.name		= "mlx5_vhca_config",
	.init		= config_init,
	.test_cases	= vhca_config_cases,
};

kunit_test_suite(vhca_config_suite);
