// SPDX-License-Identifier: GPL-2.0
/*
 * The layout guard.
 *
 * Private structures come from the kernel source that the module was built with.
 * Nothing but the version string says that it was the right source, and that
 * says nothing of private headers.  So what the kernel knows of them at run time
 * is compared: the sizes that the RDMA core allocates by, and members whose
 * values are known in another way.
 *
 * Memory whose layout is in doubt is read by copy_from_kernel_nofault() only.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "rdma_core.h"
#include "uverbs.h"

#include "compat.h"
#include "guard.h"
#include "var_region.h"

/* Of a structure that may be another one. */
static bool cannot_copy(void *to, const void *from, size_t size)
{
	return copy_from_kernel_nofault(to, from, size);
}

static bool strange(struct scope_misfit *misfit, const char *member)
{
	snprintf(misfit->text, sizeof(misfit->text),
		 "%s is not where this build expects it", member);
	return false;
}

/**
 * scope_guard_sizes - compare sizes
 * @sizes: to be compared; those that the kernel does not know fit
 * @count: of them
 * @misfit: says which is the first that does not fit
 *
 * Return: whether all fit
 */
bool scope_guard_sizes(const struct scope_size *sizes, unsigned int count,
		       struct scope_misfit *misfit)
{
	unsigned int n;

	for (n = 0; n < count; n++) {
		if (!sizes[n].kernel || sizes[n].kernel == sizes[n].built)
			continue;
		snprintf(misfit->text, sizeof(misfit->text),
			 "struct %s has %zu bytes in this build and %zu in the kernel",
			 sizes[n].name, sizes[n].built, sizes[n].kernel);
		return false;
	}
	return true;
}

/* ib_uverbs_device: members before and after the lists that are walked. */
static bool uverbs_device_fits(struct ib_device *ibdev, struct device *uverbs,
			       struct scope_misfit *misfit)
{
	struct ib_uverbs_device *device = container_of(uverbs, struct ib_uverbs_device, dev);
	enum rdma_driver_id driver_id;
	struct ib_device *back;
	struct uverbs_api *api;
	u32 vectors;
	int number, devnum;
	dev_t devt;

	if (kstrtoint(dev_name(uverbs) + strlen("uverbs"), 10, &number) ||
	    cannot_copy(&back, &device->ib_dev, sizeof(back)) || back != ibdev)
		return strange(misfit, "ib_uverbs_device.ib_dev");
	if (cannot_copy(&vectors, &device->num_comp_vectors, sizeof(vectors)) ||
	    vectors != ibdev->num_comp_vectors)
		return strange(misfit, "ib_uverbs_device.num_comp_vectors");
	if (cannot_copy(&devnum, &device->devnum, sizeof(devnum)) || devnum != number)
		return strange(misfit, "ib_uverbs_device.devnum");
	if (cannot_copy(&devt, &device->cdev.dev, sizeof(devt)) || devt != uverbs->devt)
		return strange(misfit, "ib_uverbs_device.cdev");
	if (cannot_copy(&api, &device->uapi, sizeof(api)) ||
	    cannot_copy(&driver_id, &api->driver_id, sizeof(driver_id)) ||
	    driver_id != ibdev->ops.driver_id)
		return strange(misfit, "ib_uverbs_device.uapi");
	return true;
}

static size_t object_size(struct uverbs_api *api, u16 id)
{
	const struct uverbs_api_object *object = uapi_get_object(api, id);

	return IS_ERR(object) || !object->type_attrs ? 0 : object->type_attrs->obj_size;
}

/**
 * scope_guard_core - do the RDMA core's structures fit?
 * @ibdev: a device
 * @uverbs: its uverbs device
 * @misfit: says what does not
 *
 * Context: may sleep; from the client's add callback, which keeps both.
 * Return: whether they fit
 */
bool scope_guard_core(struct ib_device *ibdev, struct device *uverbs,
		      struct scope_misfit *misfit)
{
	struct uverbs_api *api;

	if (!uverbs_device_fits(ibdev, uverbs, misfit))
		return false;
	api = container_of(uverbs, struct ib_uverbs_device, dev)->uapi;

#define OBJECT(type, name) { #type, sizeof(struct type), object_size(api, UVERBS_OBJECT_##name) }
	const struct scope_size sizes[] = {
		SCOPE_WITH_DMABUF(OBJECT(ib_uverbs_dmabuf_file, DMABUF))
		OBJECT(ib_uverbs_async_event_file, ASYNC_EVENT),
		OBJECT(ib_uverbs_completion_event_file, COMP_CHANNEL),
		OBJECT(ib_ucq_object, CQ),
		OBJECT(ib_uqp_object, QP),
		OBJECT(ib_usrq_object, SRQ),
		OBJECT(ib_uwq_object, WQ),
		OBJECT(ib_uxrcd_object, XRCD),
		OBJECT(ib_uobject, PD),
	};
#undef OBJECT
	return scope_guard_sizes(sizes, ARRAY_SIZE(sizes), misfit);
}

/* The regions of mlx5_ib_dev must be where the device's capabilities say. */
static bool mlx5_regions_fit(struct ib_device *ibdev, struct scope_misfit *misfit)
{
	struct mlx5_ib_dev *dev = to_mdev(ibdev);
	struct mlx5_core_dev *mdev, *dm_mdev;
	struct scope_var_region region;
	u64 offset;

	if (cannot_copy(&mdev, &dev->mdev, sizeof(mdev)) || !mdev ||
	    cannot_copy(&dm_mdev, &dev->dm.dev, sizeof(dm_mdev)) || dm_mdev != mdev)
		return strange(misfit, "mlx5_ib_dev.dm");
	if (MLX5_CAP_GEN_64(mdev, general_obj_types) &
	    MLX5_GENERAL_OBJ_TYPES_CAP_VIRTIO_NET_Q) {
		u32 stride = 1u << MLX5_CAP_DEV_VDPA_EMULATION(mdev, log_doorbell_stride);
		u64 start = mdev->bar_addr +
			    MLX5_CAP64_DEV_VDPA_EMULATION(mdev, doorbell_bar_offset);

		if (cannot_copy(&region, scope_region_of_var(&dev->var_table), sizeof(region)) ||
		    region.stride_size != stride || region.hw_start_addr != start)
			return strange(misfit, "mlx5_ib_dev.var_table.var_region");
	}
	if (scope_tlp_var_offset(mdev, &offset) &&
	    (cannot_copy(&region, scope_region_of_tlp_var(&dev->var_table), sizeof(region)) ||
	     region.hw_start_addr != mdev->bar_addr + offset))
		return strange(misfit, "mlx5_ib_dev.var_table.tlp_var_region");
	return true;
}

/**
 * scope_guard_mlx5 - do mlx5_ib's structures fit?
 * @ibdev: a device whose driver says that it is mlx5
 * @misfit: says what does not
 *
 * Context: may sleep; from the client's add callback, which keeps @ibdev.
 * Return: whether they fit
 */
bool scope_guard_mlx5(struct ib_device *ibdev, struct scope_misfit *misfit)
{
#define DRIVER(type, core) { #type, sizeof(struct type), ibdev->ops.size_##core }
	const struct scope_size sizes[] = {
		DRIVER(mlx5_ib_ucontext, ib_ucontext),
		DRIVER(mlx5_ib_pd, ib_pd),
		DRIVER(mlx5_ib_cq, ib_cq),
		DRIVER(mlx5_ib_qp, ib_qp),
		DRIVER(mlx5_ib_srq, ib_srq),
		DRIVER(mlx5_ib_ah, ib_ah),
		DRIVER(mlx5_ib_mw, ib_mw),
		DRIVER(mlx5_ib_xrcd, ib_xrcd),
		DRIVER(mlx5_ib_rwq_ind_table, ib_rwq_ind_table),
		SCOPE_WITH_DMAH(DRIVER(mlx5_ib_dmah, ib_dmah))
		DRIVER(mlx5_ib_mcounters, ib_counters),
	};
#undef DRIVER

	return scope_guard_sizes(sizes, ARRAY_SIZE(sizes), misfit) &&
	       mlx5_regions_fit(ibdev, misfit);
}
