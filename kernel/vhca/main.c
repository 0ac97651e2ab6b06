// SPDX-License-Identifier: GPL-2.0
/*
 * The module, and making and removing devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "loan.h"
#include "params.h"

static struct vhca_params params = VHCA_PARAMS_DEFAULT;

module_param_named(bar_phys, params.bar_phys, ulong, 0444);
MODULE_PARM_DESC(bar_phys, "Physical address of the memory given by memmap=SIZE$ADDRESS (default: 0, memory that the kernel hands out)");

module_param_named(bar_size, params.bar_size, ulong, 0444);
MODULE_PARM_DESC(bar_size, "Bytes of it for each device: a power of two, at least 64 MiB (default: 64 MiB)");

module_param_named(hcas, params.hcas, uint, 0444);
MODULE_PARM_DESC(hcas, "Number of devices, 1 or 2; each has a BAR of bar_size (default: 1)");

module_param_named(topology, params.topology, charp, 0444);
MODULE_PARM_DESC(topology, "separate: each on a host bridge of its own, port: all below one root port (default: separate)");

module_param_named(domain, params.domain, uint, 0444);
MODULE_PARM_DESC(domain, "PCI domain that the first function appears on (default: 1)");

module_param_named(device_id, params.device_id, uint, 0444);
MODULE_PARM_DESC(device_id, "PCI device id (default: 0x101e, ConnectX family mlx5Gen Virtual Function)");

module_param_named(log_var_count, params.log_var_count, uint, 0444);
MODULE_PARM_DESC(log_var_count, "log2 of the number of VARs (default: 8)");

module_param_named(log_var_stride, params.log_var_stride, uint, 0444);
MODULE_PARM_DESC(log_var_stride, "log2 of the bytes from one VAR to the next (default: 12)");

module_param_named(tlp_var_count, params.tlp_var_count, uint, 0444);
MODULE_PARM_DESC(tlp_var_count, "Number of TLP VARs, 1 to 15 (default: 8)");

module_param_named(log_tlp_var_stride, params.log_tlp_var_stride, uint, 0444);
MODULE_PARM_DESC(log_tlp_var_stride, "log2 of the bytes from one TLP VAR to the next, 12 to 19 (default: 12)");

module_param_named(memic_size, params.memic_size, uint, 0444);
MODULE_PARM_DESC(memic_size, "Bytes of device memory: a power of two, 4 KiB to 1 MiB (default: 1 MiB)");

module_param_named(msix_vectors, params.msix_vectors, uint, 0444);
MODULE_PARM_DESC(msix_vectors, "MSI-X vectors (default: 16)");

module_param_named(blueflame, params.blueflame, bool, 0444);
MODULE_PARM_DESC(blueflame, "Requests can be written to a UAR, which libraries then use in another way (default: N)");

module_param_named(cmd_timeout_ms, params.cmd_timeout_ms, uint, 0444);
MODULE_PARM_DESC(cmd_timeout_ms, "How long the driver waits for a command, 100 to 600000 ms (default: 0, not told to the driver, whose own is 60000)");

/*
 * Changed by module init and exit only, which the module loader serializes,
 * and only while there is no function, thus no command.
 */
static LIST_HEAD(vhca_devices);
static struct vhca_root *vhca_roots[VHCA_MAX_HCAS];
static unsigned int vhca_nr_roots;
static struct vhca_loan *vhca_loan;

/**
 * vhca_next - go through all devices
 * @v: a device, or NULL to begin
 *
 * Context: firmware thread in a command: there is a function then
 * Return: the device after it, or NULL
 */
struct vhca *vhca_next(struct vhca *v)
{
	struct list_head *node = v ? v->node.next : vhca_devices.next;

	return node == &vhca_devices ? NULL : list_entry(node, struct vhca, node);
}

/*
 * Make the device of a function, ready for a driver but for the function
 * itself.  Whoever returns an error has said why in the log.
 *
 * Not inlined into init code, here and below: that is gone afterwards, and who
 * looks for a leak would see another's name as the caller.
 */
static noinline struct vhca *vhca_create(struct vhca_root *root,
					 unsigned int function,
					 unsigned int index,
					 const struct vhca_config *config)
{
	struct vhca *v;
	int err;

	v = vzalloc(sizeof(*v));
	if (!v)
		return ERR_PTR(-ENOMEM);
	v->root = root;
	v->index = index;
	v->params = *config;
	v->params.bar_phys += index * config->bar_size;
	snprintf(v->name, sizeof(v->name), "%04x:%02x:00.%u", root->domain,
		 vhca_root_function_bus(root), function);
	mutex_init(&v->lock);
	vhca_fabric_init(v);
	vhca_config_fill_function(v);
	vhca_msi_init_vectors(v);

	err = vhca_bar_init(v);
	if (err)
		goto err_free;
	err = vhca_firmware_start(v);
	if (err)
		goto err_bar;
	vhca_debugfs_add(v);
	list_add_tail(&v->node, &vhca_devices);
	return v;

err_bar:
	vhca_bar_exit(v);
err_free:
	mutex_destroy(&v->lock);
	vfree(v);
	return ERR_PTR(err);
}

/* The driver has been unbound, with a working device. */
static void vhca_stop(struct vhca *v)
{
	/* Until now somebody may have wanted to see what is left. */
	vhca_debugfs_remove(v);
	vhca_firmware_stop(v);
}

static void vhca_destroy(struct vhca *v)
{
	list_del(&v->node);
	vhca_bar_exit(v);
	/* One that was refused has said enough. */
	if (v->recorder.seq)
		vhca_info(v, "removed after %llu commands, %llu events, %llu completions, %llu interrupts, %llu work requests\n",
			  v->recorder.seq, v->stats.events,
			  v->stats.completions, v->stats.interrupts,
			  v->stats.work_requests);
	mutex_destroy(&v->lock);
	vfree(v);
}

static void vhca_root_destroy(struct vhca_root *root)
{
	unsigned int i;

	for (i = 0; i < root->nr_functions; i++)
		if (root->functions[i])
			vhca_destroy(root->functions[i]);
	vhca_msi_exit(root);
	vhca_window_release(root);
	kfree(root->port);
	kfree(root);
}

/* Make host bridge number @index, all but the bus. */
static noinline struct vhca_root *
vhca_root_create(const struct vhca_setup *setup, unsigned int index)
{
	const struct vhca_config *config = &setup->config;
	struct vhca_root *root;
	int err = -ENOMEM;

	root = kzalloc_obj(*root);
	if (!root)
		return ERR_PTR(-ENOMEM);
	root->domain = setup->domain + index;
	snprintf(root->name, sizeof(root->name), "domain %u", root->domain);
	root->nr_functions = setup->hcas / setup->nr_roots;
	root->reserve_start = config->bar_phys;
	root->reserve_size = setup->hcas * config->bar_size;
	if (setup->port) {
		root->port = kzalloc_obj(*root->port);
		if (!root->port)
			goto err_free;
	}
	err = vhca_window_claim(root, config->bar_phys +
				index * config->bar_size,
				root->nr_functions * config->bar_size);
	if (err)
		goto err_free;
	if (root->port)
		vhca_config_fill_port(root);
	err = vhca_msi_init(root);
	if (err)
		goto err_window;
	return root;

err_window:
	vhca_window_release(root);
err_free:
	kfree(root->port);
	kfree(root);
	return ERR_PTR(err);
}

/*
 * Whatever there is, in any state between nothing and all.  All drivers go
 * first, then all firmware: a driver may need the firmware of another device,
 * whose memory it has mapped, and the firmware may look at another device.
 */
static void vhca_remove_all(void)
{
	struct vhca *v;
	unsigned int i;

	/* The drivers' last commands are not to wait, nor to fail. */
	list_for_each_entry(v, &vhca_devices, node)
		vhca_fault_close(v);
	for (i = vhca_nr_roots; i-- > 0;)
		if (vhca_roots[i]->bus)
			vhca_root_remove(vhca_roots[i]);
	list_for_each_entry(v, &vhca_devices, node)
		vhca_stop(v);
	while (vhca_nr_roots)
		vhca_root_destroy(vhca_roots[--vhca_nr_roots]);
	vhca_debugfs_exit();
	if (vhca_loan)
		vhca_loan_give_back(vhca_loan);
}

/* The memory for all devices, if none was named. */
static noinline int vhca_make_window(struct vhca_setup *setup)
{
	struct vhca_loan *loan;

	if (setup->config.bar_phys)
		return 0;
	loan = vhca_loan_take(setup->hcas * setup->config.bar_size);
	if (IS_ERR(loan))
		return PTR_ERR(loan);
	vhca_loan = loan;
	setup->config.bar_phys = loan->resource.start;
	return 0;
}

/* What was made when it fails is left to vhca_remove_all(). */
static int vhca_make_all(const struct vhca_setup *setup)
{
	struct vhca_root *root;
	unsigned int i;
	struct vhca *v;
	int err;

	for (i = 0; i < setup->nr_roots; i++) {
		root = vhca_root_create(setup, i);
		if (IS_ERR(root))
			return PTR_ERR(root);
		vhca_roots[vhca_nr_roots++] = root;
	}
	for (i = 0; i < setup->hcas; i++) {
		root = vhca_roots[i / vhca_roots[0]->nr_functions];
		v = vhca_create(root, i % root->nr_functions, i,
				&setup->config);
		if (IS_ERR(v))
			return PTR_ERR(v);
		root->functions[i % root->nr_functions] = v;
	}
	for (i = 0; i < setup->nr_roots; i++) {
		err = vhca_root_add(vhca_roots[i]);
		if (err)
			return err;
	}
	return 0;
}

static int __init vhca_init(void)
{
	struct vhca_refusal refusal;
	struct vhca_setup setup;
	int err;

	if (!vhca_params_check(&params, &setup, &refusal)) {
		pr_err("%s\n", refusal.text);
		return -EINVAL;
	}
	vhca_debugfs_init();
	err = vhca_make_window(&setup);
	if (!err)
		err = vhca_make_all(&setup);
	if (err)
		vhca_remove_all();
	return err;
}

static void __exit vhca_exit(void)
{
	vhca_remove_all();
}

module_init(vhca_init);
module_exit(vhca_exit);
MODULE_DESCRIPTION("Virtual mlx5 HCA, a device to test drivers with");
MODULE_LICENSE("GPL");
