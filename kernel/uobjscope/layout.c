// SPDX-License-Identifier: GPL-2.0
/*
 * The file layout: sizes and offsets of everything private that is looked into,
 * as this build has them, to be compared with the kernel's own type information.
 */
#include <linux/slab.h>
#include <linux/utsname.h>

#include "core_priv.h"
#include "dm.h"
#include "mlx5_ib.h"
#include "rdma_core.h"
#include "restrack.h"
#include "uverbs.h"

#include "compat.h"
#include "layout.h"
#include "report.h"
#include "text.h"

/**
 * struct scope_layout_entry - a structure, or a member of it
 * @type: name of the structure
 * @member: name of the member, NULL for the structure itself
 * @value: offset of the member, or size of the structure, in bytes
 */
struct scope_layout_entry {
	const char	*type;
	const char	*member;
	size_t		value;
};

#define TYPE(type)		{ #type, NULL, sizeof(struct type) }
#define MEMBER(type, member)	{ #type, #member, offsetof(struct type, member) }

static const struct scope_layout_entry entries[] = {
	TYPE(ib_uverbs_device),
	MEMBER(ib_uverbs_device, num_comp_vectors),
	MEMBER(ib_uverbs_device, dev),
	MEMBER(ib_uverbs_device, ib_dev),
	MEMBER(ib_uverbs_device, devnum),
	MEMBER(ib_uverbs_device, cdev),
	MEMBER(ib_uverbs_device, disassociate_srcu),
	MEMBER(ib_uverbs_device, lists_mutex),
	MEMBER(ib_uverbs_device, uverbs_file_list),
	MEMBER(ib_uverbs_device, uapi),
	TYPE(uverbs_api),
	MEMBER(uverbs_api, radix),
	MEMBER(uverbs_api, driver_id),
	TYPE(ib_uverbs_file),
	MEMBER(ib_uverbs_file, ref),
	MEMBER(ib_uverbs_file, device),
	MEMBER(ib_uverbs_file, ucontext),
	MEMBER(ib_uverbs_file, list),
	MEMBER(ib_uverbs_file, hw_destroy_rwsem),
	MEMBER(ib_uverbs_file, uobjects_lock),
	MEMBER(ib_uverbs_file, uobjects),
	MEMBER(ib_uverbs_file, umap_lock),
	MEMBER(ib_uverbs_file, umaps),
	MEMBER(ib_uverbs_file, idr),
	TYPE(ib_uobject),
	MEMBER(ib_uobject, ufile),
	MEMBER(ib_uobject, context),
	MEMBER(ib_uobject, object),
	MEMBER(ib_uobject, list),
	MEMBER(ib_uobject, id),
	MEMBER(ib_uobject, ref),
	MEMBER(ib_uobject, usecnt),
	MEMBER(ib_uobject, uapi_object),
	SCOPE_WITH_DMABUF(TYPE(ib_uverbs_dmabuf_file),
			  MEMBER(ib_uverbs_dmabuf_file, uobj),
			  MEMBER(ib_uverbs_dmabuf_file, dmabuf),
			  MEMBER(ib_uverbs_dmabuf_file, mmap_entry),
			  MEMBER(ib_uverbs_dmabuf_file, kref))
	TYPE(ib_uverbs_async_event_file),
	TYPE(ib_uverbs_completion_event_file),
	TYPE(ib_ucq_object),
	TYPE(ib_uqp_object),
	TYPE(ib_usrq_object),
	TYPE(ib_ucontext),
	MEMBER(ib_ucontext, res),
	MEMBER(ib_ucontext, mmap_xa),
	TYPE(rdma_user_mmap_entry),
	MEMBER(rdma_user_mmap_entry, ref),
	MEMBER(rdma_user_mmap_entry, ucontext),
	MEMBER(rdma_user_mmap_entry, start_pgoff),
	MEMBER(rdma_user_mmap_entry, npages),
	MEMBER(rdma_user_mmap_entry, driver_removed),
	SCOPE_WITH_DMABUF(MEMBER(rdma_user_mmap_entry, dmabufs_lock),
			  MEMBER(rdma_user_mmap_entry, dmabufs))
	TYPE(rdma_umap_priv),
	MEMBER(rdma_umap_priv, vma),
	MEMBER(rdma_umap_priv, list),
	MEMBER(rdma_umap_priv, entry),
	TYPE(rdma_restrack_root),
	MEMBER(rdma_restrack_root, xa),
	TYPE(rdma_restrack_entry),
	MEMBER(rdma_restrack_entry, valid),
	MEMBER(rdma_restrack_entry, task),
	MEMBER(rdma_restrack_entry, id),
	TYPE(ib_pd),
	MEMBER(ib_pd, usecnt),
	MEMBER(ib_pd, res),
	TYPE(ib_cq),
	MEMBER(ib_cq, cqe),
	MEMBER(ib_cq, usecnt),
	MEMBER(ib_cq, res),
	TYPE(ib_qp),
	MEMBER(ib_qp, pd),
	MEMBER(ib_qp, qp_num),
	MEMBER(ib_qp, res),
	TYPE(ib_mr),
	MEMBER(ib_mr, pd),
	MEMBER(ib_mr, lkey),
	MEMBER(ib_mr, length),
	MEMBER(ib_mr, dm),
	MEMBER(ib_mr, res),
	TYPE(ib_srq),
	MEMBER(ib_srq, pd),
	MEMBER(ib_srq, res),
	TYPE(ib_dm),
	MEMBER(ib_dm, length),
	MEMBER(ib_dm, usecnt),
	TYPE(ib_umem),
	MEMBER(ib_umem, ibdev),
	MEMBER(ib_umem, length),
	MEMBER(ib_umem, address),
	TYPE(ib_umem_dmabuf),
	MEMBER(ib_umem_dmabuf, umem),
	MEMBER(ib_umem_dmabuf, attach),
	MEMBER(ib_umem_dmabuf, sgt),
	MEMBER(ib_umem_dmabuf, private),
	TYPE(mlx5_ib_dev),
	MEMBER(mlx5_ib_dev, ib_dev),
	MEMBER(mlx5_ib_dev, mdev),
	MEMBER(mlx5_ib_dev, dm),
	MEMBER(mlx5_ib_dev, var_table),
	TYPE(mlx5_var_table),
	SCOPE_WITH_TLP_VAR(MEMBER(mlx5_var_table, var_region),
			   MEMBER(mlx5_var_table, tlp_var_region),
			   TYPE(mlx5_var_region),
			   MEMBER(mlx5_var_region, bitmap_lock),
			   MEMBER(mlx5_var_region, bitmap),
			   MEMBER(mlx5_var_region, num_var_hw_entries))
	TYPE(mlx5_dm),
	MEMBER(mlx5_dm, lock),
	MEMBER(mlx5_dm, memic_alloc_pages),
	TYPE(mlx5_user_mmap_entry),
	MEMBER(mlx5_user_mmap_entry, rdma_entry),
	MEMBER(mlx5_user_mmap_entry, mmap_flag),
	MEMBER(mlx5_user_mmap_entry, address),
	MEMBER(mlx5_user_mmap_entry, page_idx),
	TYPE(mlx5_ib_dm),
	MEMBER(mlx5_ib_dm, ibdm),
	MEMBER(mlx5_ib_dm, type),
	MEMBER(mlx5_ib_dm, dev_addr),
	MEMBER(mlx5_ib_dm, size),
	TYPE(mlx5_ib_dm_memic),
	MEMBER(mlx5_ib_dm_memic, base),
	MEMBER(mlx5_ib_dm_memic, mentry),
	MEMBER(mlx5_ib_dm_memic, ops),
	MEMBER(mlx5_ib_dm_memic, ref),
	TYPE(mlx5_ib_dm_icm),
	MEMBER(mlx5_ib_dm_icm, obj_id),
	TYPE(mlx5_ib_dm_op_entry),
	MEMBER(mlx5_ib_dm_op_entry, mentry),
	MEMBER(mlx5_ib_dm_op_entry, dm),
	MEMBER(mlx5_ib_dm_op_entry, op),
	TYPE(mlx5_ib_mr),
	MEMBER(mlx5_ib_mr, ibmr),
	MEMBER(mlx5_ib_mr, umem),
};

static void entry_line(struct scope_line *line, const struct scope_layout_entry *entry)
{
	if (entry->member) {
		scope_line_begin(line, "member");
		scope_line_word(line, "struct", entry->type);
		scope_line_word(line, "name", entry->member);
		scope_line_number(line, "offset", entry->value);
	} else {
		scope_line_begin(line, "struct");
		scope_line_word(line, "name", entry->type);
		scope_line_number(line, "size", entry->value);
	}
	scope_line_end(line);
}

/**
 * scope_layout - list sizes and offsets
 * @text: empty; all of the file layout, if there is no error
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM
 */
int scope_layout(struct scope_text *text)
{
	struct scope_line *line = kmalloc_obj(*line, SCOPE_GFP);
	unsigned int n;
	int err;

	if (!line)
		return -ENOMEM;
	scope_line_begin(line, "layout");
	scope_line_number(line, "v", SCOPE_FORMAT);
	scope_line_text(line, "kernel", init_utsname()->release);
	scope_line_end(line);
	err = scope_text_add(text, line);
	for (n = 0; n < ARRAY_SIZE(entries) && !err; n++) {
		entry_line(line, &entries[n]);
		err = scope_text_add(text, line);
	}
	if (!err) {
		scope_report_end(line, text->lines - 1);
		err = scope_text_add(text, line);
	}
	kfree(line);
	return err;
}
