// SPDX-License-Identifier: GPL-2.0
/*
 * The roots: RDMA devices as an ib_client sees them come and go, their uverbs
 * devices, and from there the ufiles that are open.
 *
 * A device is on the list from its add callback to its remove callback.  Whoever
 * holds devices_lock finds it alive, since it is not unregistered before the
 * callback is over; the walk holds the lock for one batch of records at a time,
 * so that removal does not wait for a walk.  The locks of debugfs are inside of it when
 * a directory is made or renamed; when one is removed, it is not held.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <rdma/ib_verbs.h>

#include "rdma_core.h"
#include "core_priv.h"
#include "uverbs.h"

#include "compat.h"
#include "debugfs.h"
#include "hold.h"
#include "patience.h"
#include "registry.h"
#include "roots.h"
#include "vector.h"

/* Outside of all that belongs to a ufile. */
static DEFINE_MUTEX(devices_lock);
static LIST_HEAD(devices);
static unsigned int last_number;
/* Devices have directories; under devices_lock. */
static bool shown;
static bool refused;

static struct ib_client client;

static bool is_uverbs_of(struct device *device, const struct ib_device *ibdev)
{
	struct ib_uverbs_device *uverbs = container_of(device, struct ib_uverbs_device, dev);
	struct ib_device *back;

	/* Which class it is tells its name alone: the class itself is not exported. */
	return device->class && !strcmp(device->class->name, "infiniband_verbs") &&
	       !copy_from_kernel_nofault(&back, &uverbs->ib_dev, sizeof(back)) && back == ibdev;
}

static int match_uverbs(struct device *device, scope_match_data *ibdev)
{
	return is_uverbs_of(device, ibdev);
}

/* Devices without one above: all devices are in one kset, by their names. */
static struct device *find_orphan(struct ib_device *ibdev)
{
	struct kset *all = ibdev->dev.kobj.kset;
	struct kobject *kobj;
	char name[16];
	int n;

	for (n = 0; all && n < RDMA_MAX_PORTS; n++) {
		snprintf(name, sizeof(name), "uverbs%d", n);
		kobj = kset_find_obj(all, name);
		if (!kobj)
			continue;
		if (is_uverbs_of(kobj_to_dev(kobj), ibdev))
			return kobj_to_dev(kobj);
		kobject_put(kobj);
	}
	return NULL;
}

/* The uverbs device of a device, with a reference, or NULL. */
static struct device *find_uverbs(struct ib_device *ibdev)
{
	struct device *device = NULL;

	if (ibdev->dev.parent)
		device = device_find_child(ibdev->dev.parent, ibdev, match_uverbs);
	return device ? device : find_orphan(ibdev);
}

/*
 * Registers the ufiles that the device lists, and remembers whose they are.
 * A ufile on the list has its file's reference: it leaves the list first.
 */
static void seed(struct scope_device *device)
{
	struct ib_uverbs_file *ufile;
	u64 id;

	mutex_lock(&device->uverbs->lists_mutex);
	list_for_each_entry(ufile, &device->uverbs->uverbs_file_list, list) {
		id = scope_registry_add_ufile(ufile, false);
		scope_registry_set_driver(id, device->driver);
	}
	mutex_unlock(&device->uverbs->lists_mutex);
}

static bool fits(struct scope_device *device)
{
	if (!scope_guard_core(device->ibdev, &device->uverbs->dev, &device->misfit))
		return false;
	if (device->ibdev->ops.driver_id != RDMA_DRIVER_MLX5)
		return true;
	device->driver = SCOPE_DRIVER_MLX5;
	return scope_guard_mlx5(device->ibdev, &device->misfit);
}

/* devices_lock is held: a device that leaves has its directory, or never gets one. */
static void show_device(struct scope_device *device)
{
	char name[IB_DEVICE_NAME_MAX];

	if (device->misfit.text[0] || device->directory)
		return;
	/* The device may be renamed just now; then its callback comes next. */
	strscpy(name, device->ibdev->name);
	device->directory = scope_debugfs_add_device(name, device->number);
}

static int add_device(struct ib_device *ibdev)
{
	struct scope_device *device;
	struct device *uverbs = find_uverbs(ibdev);

	/* No uverbs device, no user objects; but see ib_uverbs_add_one(). */
	if (!uverbs) {
		if (ibdev->ops.alloc_ucontext && ibdev->type != RDMA_DEVICE_TYPE_SMI)
			pr_warn("%s: its uverbs device was not found, nothing of it is shown\n",
				ibdev->name);
		return -EOPNOTSUPP;
	}
	device = kzalloc_obj(*device);
	if (!device) {
		put_device(uverbs);
		return -ENOMEM;
	}
	device->ibdev = ibdev;
	device->uverbs = container_of(uverbs, struct ib_uverbs_device, dev);
	device->driver = SCOPE_DRIVER_OTHER;
	if (fits(device)) {
		seed(device);
	} else {
		pr_err("%s refused: %s: this module was built from another kernel's source\n",
		       ibdev->name, device->misfit.text);
		refused = true;
	}
	ib_set_client_data(ibdev, &client, device);
	mutex_lock(&devices_lock);
	device->number = ++last_number;
	list_add_tail(&device->list, &devices);
	if (shown)
		show_device(device);
	mutex_unlock(&devices_lock);
	return 0;
}

static void remove_device(struct ib_device *ibdev, void *data)
{
	struct scope_device *device = data;
	struct dentry *directory;

	mutex_lock(&devices_lock);
	directory = device->directory;
	/* None is to be made any more. */
	device->directory = ERR_PTR(-ENODEV);
	mutex_unlock(&devices_lock);
	/* Waits for those who are opening a file there, and who want devices_lock. */
	scope_debugfs_remove_device(directory);
	/* Uverbs, which knew the device before us, will let its ufiles go after us. */
	if (!device->misfit.text[0])
		seed(device);
	mutex_lock(&devices_lock);
	list_del(&device->list);
	mutex_unlock(&devices_lock);
	put_device(&device->uverbs->dev);
	kfree(device);
}

static void rename_device(struct ib_device *ibdev, void *data)
{
	struct scope_device *device = data;

	mutex_lock(&devices_lock);
	if (IS_ERR(device->directory)) {
		/* The new name may be a better one. */
		device->directory = NULL;
		show_device(device);
	} else {
		scope_debugfs_rename_device(device->directory, ibdev->name);
	}
	mutex_unlock(&devices_lock);
}

static struct ib_client client = {
	.name		= "uobjscope",
	.add		= add_device,
	.remove		= remove_device,
	.rename		= rename_device,
	.no_kverbs_req	= true,
};

/**
 * scope_roots_start - learn of all devices, and of those to come
 *
 * Context: may sleep.
 * Return: 0 or an error
 */
int scope_roots_start(void)
{
	return ib_register_client(&client);
}

/**
 * scope_roots_show - make the directories of all devices, and of those to come
 *
 * Context: may sleep, takes devices_lock; after scope_debugfs_start().
 */
void scope_roots_show(void)
{
	struct scope_device *device;

	mutex_lock(&devices_lock);
	shown = true;
	list_for_each_entry(device, &devices, list)
		show_device(device);
	mutex_unlock(&devices_lock);
}

/**
 * scope_roots_stop - forget all devices
 *
 * Context: may sleep; no callback runs any more when it returns.
 */
void scope_roots_stop(void)
{
	ib_unregister_client(&client);
}

/**
 * scope_roots_refused - was a device refused?
 *
 * Return: whether the layout guard refused one since the module was loaded
 */
bool scope_roots_refused(void)
{
	return refused;
}

/**
 * scope_device_lock_next - walk the devices
 * @after: number of the last one seen, 0 at first
 *
 * Return: the next one, with devices_lock held until scope_device_unlock(); or
 * NULL, and no lock is held
 */
struct scope_device *scope_device_lock_next(unsigned int after)
{
	struct scope_device *device;

	mutex_lock(&devices_lock);
	list_for_each_entry(device, &devices, list)
		if (device->number > after)
			return device;
	mutex_unlock(&devices_lock);
	return NULL;
}

/**
 * scope_device_lock - come back to a device
 * @number: of it
 *
 * Return: the device, with devices_lock held until scope_device_unlock(); or NULL
 * if it is gone, and no lock is held
 */
struct scope_device *scope_device_lock(unsigned int number)
{
	struct scope_device *device = scope_device_lock_next(number - 1);

	if (device && device->number != number) {
		mutex_unlock(&devices_lock);
		device = NULL;
	}
	return device;
}

/**
 * scope_device_unlock - let the devices go
 */
void scope_device_unlock(void)
{
	mutex_unlock(&devices_lock);
}

/* lists_mutex is held across the removal of mappings, which can take long. */
static bool lock_lists(struct ib_uverbs_device *uverbs, struct scope_patience *patience)
{
	while (!mutex_trylock(&uverbs->lists_mutex))
		if (!scope_patience(patience))
			return false;
	return true;
}

/**
 * scope_device_files - get hold of the ufiles that a device lists
 * @number: of the device; one that is gone lists none
 * @held: of struct ib_uverbs_file pointers; each with a reference to be given
 *	back, also if there is an error
 *
 * For kernels without probes, and for what the registry had no memory for.
 *
 * Context: may sleep.  Takes devices_lock, and lists_mutex by trylock.
 * Return: 0, -ENOMEM, or -EBUSY if the list was not to be had
 */
int scope_device_files(unsigned int number, struct scope_vector *held)
{
	struct scope_patience patience = SCOPE_PATIENCE;
	struct scope_device *device;
	struct ib_uverbs_file *ufile;
	unsigned int count;
	int err;
	u64 began;

again:
	device = scope_device_lock(number);
	if (!device)
		return 0;
	if (device->misfit.text[0]) {
		scope_device_unlock();
		return 0;
	}
	if (!lock_lists(device->uverbs, &patience)) {
		scope_device_unlock();
		return -EBUSY;
	}
	began = scope_hold_begin();
	count = list_count_nodes(&device->uverbs->uverbs_file_list);
	if (scope_vector_room(held) >= count) {
		list_for_each_entry(ufile, &device->uverbs->uverbs_file_list, list) {
			kref_get(&ufile->ref);
			*(struct ib_uverbs_file **)scope_vector_push(held) = ufile;
			scope_registry_set_driver(scope_registry_add_ufile(ufile, false),
						  device->driver);
		}
		count = 0;
	}
	scope_hold_end(SCOPE_LOCK_LISTS, began);
	mutex_unlock(&device->uverbs->lists_mutex);
	scope_device_unlock();
	if (!count)
		return 0;
	err = scope_vector_reserve(held, count + count / 8);
	if (err)
		return err;
	goto again;
}
