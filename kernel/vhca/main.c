// SPDX-License-Identifier: GPL-2.0
/*
 * Module parameters, and making and removing devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "vhca.h"

static unsigned long bar_phys;
module_param(bar_phys, ulong, 0444);
MODULE_PARM_DESC(bar_phys, "Physical address of the memory given by memmap=SIZE$ADDRESS");

static unsigned long bar_size = VHCA_BAR_MIN_SIZE;
module_param(bar_size, ulong, 0444);
MODULE_PARM_DESC(bar_size, "Bytes of it: a power of two, at least 64 MiB (default: 64 MiB)");

static uint domain = 1;
module_param(domain, uint, 0444);
MODULE_PARM_DESC(domain, "PCI domain that the function appears on (default: 1)");

static uint device_id = 0x101e;
module_param(device_id, uint, 0444);
MODULE_PARM_DESC(device_id, "PCI device id (default: 0x101e, ConnectX family mlx5Gen Virtual Function)");

static uint log_var_count = 8;
module_param(log_var_count, uint, 0444);
MODULE_PARM_DESC(log_var_count, "log2 of the number of VARs (default: 8)");

static uint log_var_stride = 12;
module_param(log_var_stride, uint, 0444);
MODULE_PARM_DESC(log_var_stride, "log2 of the bytes from one VAR to the next (default: 12)");

static uint memic_size = VHCA_MEMIC_MAX_SIZE;
module_param(memic_size, uint, 0444);
MODULE_PARM_DESC(memic_size, "Bytes of device memory: a power of two, 4 KiB to 1 MiB (default: 1 MiB)");

static uint msix_vectors = 16;
module_param(msix_vectors, uint, 0444);
MODULE_PARM_DESC(msix_vectors, "MSI-X vectors (default: 16)");

/* Changed by module init and exit only, which the module loader serializes. */
static LIST_HEAD(vhca_devices);

static bool vhca_in_range(const char *name, unsigned int value,
			  unsigned int min, unsigned int max)
{
	if (value >= min && value <= max)
		return true;
	pr_err("parameter %s: got %u, expected %u to %u\n", name, value, min,
	       max);
	return false;
}

/*
 * Fill @config from the parameters.  One line in the log names the first
 * parameter that is wrong.
 */
static int vhca_read_params(struct vhca_config *config)
{
	if (!is_power_of_2(bar_size) || bar_size < VHCA_BAR_MIN_SIZE) {
		pr_err("parameter bar_size: got %lu, expected a power of two, at least %u\n",
		       bar_size, VHCA_BAR_MIN_SIZE);
		return -EINVAL;
	}
	if (!bar_phys || !IS_ALIGNED(bar_phys, bar_size) ||
	    bar_phys + bar_size - 1 < bar_phys) {
		pr_err("parameter bar_phys: got 0x%lx, expected the address of %lu MiB of reserved memory, a multiple of its size: boot with memmap=%luM$ADDRESS and give ADDRESS here\n",
		       bar_phys, bar_size >> 20, bar_size >> 20);
		return -EINVAL;
	}
	/* Domain 0 is the machine's own; ACPI segments have 16 bits. */
	if (!vhca_in_range("domain", domain, 1, 0xffff) ||
	    !vhca_in_range("device_id", device_id, 0, 0xffff) ||
	    !vhca_in_range("msix_vectors", msix_vectors, 2, VHCA_MAX_VECTORS) ||
	    !vhca_in_range("log_var_stride", log_var_stride, VHCA_PAGE_SHIFT,
			   ilog2(VHCA_VAR_MAX_SIZE)) ||
	    !vhca_in_range("log_var_count", log_var_count, 0,
			   ilog2(VHCA_VAR_MAX_SIZE) - log_var_stride))
		return -EINVAL;
	if (!is_power_of_2(memic_size) || memic_size < VHCA_PAGE_SIZE ||
	    memic_size > VHCA_MEMIC_MAX_SIZE) {
		pr_err("parameter memic_size: got %u, expected a power of two, %lu to %u\n",
		       memic_size, VHCA_PAGE_SIZE, VHCA_MEMIC_MAX_SIZE);
		return -EINVAL;
	}
	*config = (struct vhca_config) {
		.bar_phys	= bar_phys,
		.bar_size	= bar_size,
		.domain		= domain,
		.device_id	= device_id,
		.log_var_count	= log_var_count,
		.log_var_stride	= log_var_stride,
		.memic_size	= memic_size,
		.vectors	= msix_vectors,
	};
	return 0;
}

/* Whoever returns an error has said why in the log. */
static struct vhca *vhca_create(const struct vhca_config *config)
{
	struct vhca *v;
	int err;

	v = vzalloc(sizeof(*v));
	if (!v)
		return ERR_PTR(-ENOMEM);
	v->params = *config;
	snprintf(v->name, sizeof(v->name), "%04x:00:00.0", config->domain);
	mutex_init(&v->lock);
	vhca_pci_init(v);

	err = vhca_bar_init(v);
	if (err)
		goto err_free;
	err = vhca_msi_init(v);
	if (err)
		goto err_bar;
	err = vhca_firmware_start(v);
	if (err)
		goto err_msi;
	vhca_debugfs_add(v);
	err = vhca_pci_add(v);
	if (err)
		goto err_firmware;
	list_add_tail(&v->node, &vhca_devices);
	return v;

err_firmware:
	vhca_debugfs_remove(v);
	vhca_firmware_stop(v);
err_msi:
	vhca_msi_exit(v);
err_bar:
	vhca_bar_exit(v);
err_free:
	mutex_destroy(&v->lock);
	vfree(v);
	return ERR_PTR(err);
}

/*
 * The driver is unbound first and with a working device, so that it gives
 * everything back.  The debugfs files stay until then, as somebody may want to
 * see what is left.
 */
static void vhca_destroy(struct vhca *v)
{
	list_del(&v->node);
	vhca_pci_remove(v);
	vhca_debugfs_remove(v);
	vhca_firmware_stop(v);
	vhca_msi_exit(v);
	vhca_bar_exit(v);
	vhca_info(v, "removed after %llu commands, %llu events, %llu completions, %llu interrupts, %llu work requests\n",
		  v->recorder.seq, v->stats.events, v->stats.completions,
		  v->stats.interrupts, v->stats.work_requests);
	mutex_destroy(&v->lock);
	vfree(v);
}

static int __init vhca_init(void)
{
	struct vhca_config config;
	struct vhca *v;
	int err;

	err = vhca_read_params(&config);
	if (err)
		return err;
	vhca_debugfs_init();
	v = vhca_create(&config);
	if (IS_ERR(v)) {
		vhca_debugfs_exit();
		return PTR_ERR(v);
	}
	return 0;
}

static void __exit vhca_exit(void)
{
	struct vhca *v, *next;

	list_for_each_entry_safe(v, next, &vhca_devices, node)
		vhca_destroy(v);
	vhca_debugfs_exit();
}

module_init(vhca_init);
module_exit(vhca_exit);
MODULE_DESCRIPTION("Virtual mlx5 HCA, a device to test drivers with");
MODULE_LICENSE("GPL");
