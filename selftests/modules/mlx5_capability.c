// SPDX-License-Identifier: GPL-2.0
/*
 * Capabilities of an mlx5 device other than those that it has, for mlx5_ib.
 *
 * mlx5_core asks the device once and keeps the answer.  While this module is
 * loaded some fields of it have other values, which a driver that is bound to an
 * auxiliary device meanwhile takes for the device's own.  The device itself does
 * not know.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/device.h>
#include <linux/mlx5/driver.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/string.h>

#define CAPABILITY_FIELDS	4
#define CAPABILITY_BITS		(MLX5_UN_SZ_DW(hca_cap_union) * 32)

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "PCI address of the device");

static uint group[CAPABILITY_FIELDS], groups;
module_param_array(group, uint, &groups, 0444);
MODULE_PARM_DESC(group, "enum mlx5_cap_type of each field");

static uint offset[CAPABILITY_FIELDS], offsets;
module_param_array(offset, uint, &offsets, 0444);
MODULE_PARM_DESC(offset, "bits before each field in its structure of mlx5_ifc.h");

static uint width[CAPABILITY_FIELDS], widths;
module_param_array(width, uint, &widths, 0444);
MODULE_PARM_DESC(width, "bits of each field, within a word of 32");

static uint value[CAPABILITY_FIELDS], values;
module_param_array(value, uint, &values, 0444);
MODULE_PARM_DESC(value, "what each field is to have");

static u32 had[CAPABILITY_FIELDS];
static struct pci_dev *pdev;

static bool capability_is_good(unsigned int i)
{
	return group[i] < MLX5_CAP_NUM && width[i] >= 1 && width[i] <= 32 &&
	       offset[i] < CAPABILITY_BITS && offset[i] % 32 + width[i] <= 32 &&
	       value[i] <= GENMASK(width[i] - 1, 0);
}

/* The driver's own structure of the device; the device's lock is held. */
static struct mlx5_core_dev *capability_core_dev(void)
{
	device_lock_assert(&pdev->dev);
	if (!pdev->dev.driver || strcmp(pdev->dev.driver->name, "mlx5_core"))
		return NULL;
	return pci_get_drvdata(pdev);
}

/* Give a field a value and return the one that it had. */
static u32 capability_set(struct mlx5_core_dev *mdev, unsigned int i, u32 to)
{
	const u32 mask = GENMASK(width[i] - 1, 0);
	const unsigned int shift = 32 - offset[i] % 32 - width[i];
	__be32 *word = (__be32 *)mdev->caps.hca[group[i]]->cur + offset[i] / 32;
	const u32 old = be32_to_cpu(*word);

	*word = cpu_to_be32((old & ~(mask << shift)) | to << shift);
	return old >> shift & mask;
}

static int capability_apply(void)
{
	struct mlx5_core_dev *mdev;
	unsigned int i;

	guard(device)(&pdev->dev);
	mdev = capability_core_dev();
	if (!mdev) {
		pr_err("%s has no mlx5_core, expected a device that is bound\n", function);
		return -ENODEV;
	}
	for (i = 0; i < groups; i++) {
		if (!mdev->caps.hca[group[i]]) {
			pr_err("group %u of %s is not there\n", group[i], function);
			return -ENOENT;
		}
	}
	for (i = 0; i < groups; i++)
		had[i] = capability_set(mdev, i, value[i]);
	return 0;
}

static int __init capability_init(void)
{
	unsigned int domain, bus, slot, func, i;
	int err;

	if (!function || sscanf(function, "%x:%x:%x.%x", &domain, &bus, &slot, &func) != 4) {
		pr_err("got function='%s', expected a PCI address\n", function ?: "");
		return -EINVAL;
	}
	if (!groups || offsets != groups || widths != groups || values != groups) {
		pr_err("got %u groups, %u offsets, %u widths, %u values, expected as many of each\n",
		       groups, offsets, widths, values);
		return -EINVAL;
	}
	for (i = 0; i < groups; i++) {
		if (!capability_is_good(i)) {
			pr_err("group %u: got %u bits at %u for %#x, expected a field of a word, and that it fits\n",
			       group[i], width[i], offset[i], value[i]);
			return -EINVAL;
		}
	}
	pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, func));
	if (!pdev) {
		pr_err("no PCI device %s\n", function);
		return -ENODEV;
	}
	err = capability_apply();
	if (err)
		pci_dev_put(pdev);
	return err;
}

/* A driver that was bound anew meanwhile has asked again: then nothing changes. */
static void __exit capability_exit(void)
{
	struct mlx5_core_dev *mdev;
	unsigned int i = groups;

	scoped_guard(device, &pdev->dev) {
		mdev = capability_core_dev();
		while (mdev && i--)
			capability_set(mdev, i, had[i]);
	}
	pci_dev_put(pdev);
}

module_init(capability_init);
module_exit(capability_exit);
MODULE_DESCRIPTION("Other capabilities of an mlx5 device, for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
