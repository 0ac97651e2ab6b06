// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of a VAR in one process.
 *
 * A VAR is a doorbell page of the device that a process may map.  Allocating
 * one is arithmetic of the driver, so three witnesses matter: what the calls
 * return, whether the driver's bitmap holds the page (tried by allocating),
 * and where in the device's memory a store through a mapping arrives.
 */
#include <sys/mman.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/doorbell.h"
#include "common/var_ops.h"

FIXTURE(var)
{
	struct bed bed;
	struct ibv_context *ctx;
	size_t page_size;
};

FIXTURE_SETUP(var)
{
	if (!bed_make(_metadata, &self->bed, false))
		return;
	self->page_size = sysconf(_SC_PAGESIZE);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
}

FIXTURE_TEARDOWN(var)
{
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/* Is the page of a VAR in nobody's hands? */
#define ASSERT_PAGE_FREE(yes, page_id) \
	ASSERT_EQ(yes, var_page_is_free(self->ctx->cmd_fd, 0, page_id))
#define ASSERT_TLP_PAGE_FREE(yes, page_id) \
	ASSERT_EQ(yes, var_page_is_free(self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP, page_id))

/*
 * VAR-01: An allocation gives the number of a page, the length of it and an
 * offset to map it by.  The page is taken, and firmware is told nothing.
 */
TEST_F(var, var_01_alloc_takes_a_page)
{
	int64_t seq = vhca_seq(&self->bed.dev);
	struct mlx5dv_var *var;

	ASSERT_LE(0, seq);
	var_alloc(self->ctx, 0, &var);
	ASSERT_GT(self->bed.dev.info.var.count, var->page_id);
	ASSERT_LE(self->bed.dev.info.var.stride, var->length);
	ASSERT_EQ(0UL, var->length % self->page_size);
	ASSERT_EQ(0UL, var->mmap_off % self->page_size);
	ASSERT_PAGE_FREE(0, var->page_id);
	mlx5dv_free_var(var);
	ASSERT_EQ(0, vhca_other_since(&self->bed.dev, seq));
}

/*
 * VAR-01: The bitmap belongs to the device, so two contexts never get the same
 * page, and a store through either mapping arrives on its own page only.
 */
TEST_F(var, var_01_contexts_get_different_pages)
{
	struct mlx5dv_var *var, *other_var;
	uint32_t *map, *other_map;
	struct ibv_context *other;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	var_alloc(self->ctx, 0, &var);
	var_alloc(other, 0, &other_var);
	ASSERT_NE(var->page_id, other_var->page_id);
	var_map(self->ctx, var, &map);
	var_map(other, other_var, &other_map);
	doorbell_store(map, DOORBELL_VAR, var->page_id);
	doorbell_store(other_map, DOORBELL_VAR, other_var->page_id);
	unmap(map, var->length);
	unmap(other_map, other_var->length);
	mlx5dv_free_var(var);
	mlx5dv_free_var(other_var);
	ASSERT_EQ(0, ibv_close_device(other));
}

/*
 * VAR-02: Each mapping takes one reference to the mmap entry and each unmap
 * gives it back.  One that is left over would keep the page from being freed.
 */
TEST_F(var, var_02_map_and_unmap)
{
	uint32_t *map;
	struct mlx5dv_var *var;
	uint32_t page_id;
	int i;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	for (i = 0; i < 200; i++) {
		var_map(self->ctx, var, &map);
		if (!i)
			doorbell_store(map, DOORBELL_VAR, page_id);
		unmap(map, var->length);
	}
	ASSERT_PAGE_FREE(0, page_id);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * VAR-03, UOBJ-05: A VAR that nobody maps is gone when the free returns: the
 * next allocation gets the same page, the same offset and the same handle.
 */
TEST_F(var, var_03_freed_page_is_reused)
{
	struct raw_var var, again;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	ASSERT_PAGE_FREE(1, var.page_id);
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, var.handle);
	raw_var_alloc(self->ctx->cmd_fd, 0, &again);
	ASSERT_EQ(var.page_id, again.page_id);
	ASSERT_EQ(var.mmap_off, again.mmap_off);
	ASSERT_EQ(var.handle, again.handle);
	raw_var_free(self->ctx->cmd_fd, again.handle);
}

/*
 * VAR-04: A VAR is freed while it is mapped.  The handle is gone and nobody can
 * map the offset any more, but the mapping still reaches the page.  Therefore
 * neither page nor offset may be handed out before the mapping is gone.  If it
 * is the only page of the device, there is none to be had.
 */
TEST_F(var, var_04_free_while_mapped)
{
	struct raw_var var, next, reused;
	uint32_t *map;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_EQ(0, _map(self->ctx, var.length, MAP_SHARED, var.mmap_off, &map));
	raw_var_free(self->ctx->cmd_fd, var.handle);

	map_err(EINVAL, self->ctx, var.length, MAP_SHARED, var.mmap_off);
	ASSERT_PAGE_FREE(0, var.page_id);
	if (self->bed.before.vars == 1) {
		raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, 0, 0);
	} else {
		raw_var_alloc(self->ctx->cmd_fd, 0, &next);
		ASSERT_NE(var.page_id, next.page_id);
		ASSERT_NE(var.mmap_off, next.mmap_off);
		ASSERT_EQ(var.handle, next.handle);
	}
	doorbell_store(map, DOORBELL_VAR, var.page_id);

	unmap(map, var.length);
	ASSERT_PAGE_FREE(1, var.page_id);
	raw_var_alloc(self->ctx->cmd_fd, 0, &reused);
	ASSERT_EQ(var.page_id, reused.page_id);
	if (self->bed.before.vars > 1)
		raw_var_free(self->ctx->cmd_fd, next.handle);
	raw_var_free(self->ctx->cmd_fd, reused.handle);
}

/*
 * VAR-05: A child inherits the mapping and with it a reference of its own: the
 * page is held until the child unmaps, whatever the parent does before.
 */
TEST_F(var, var_05_fork_holds_the_page)
{
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer child;
	uint32_t page_id;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_map(self->ctx, var, &map);
	peer_fork(&child);
	unmap(map, length);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_peer_store(&child, (uintptr_t)map, DOORBELL_VAR, page_id);
	peer_unmap(&child, (uintptr_t)map, length);
	ASSERT_PAGE_FREE(1, page_id);
	peer_end(&child);
}

/*
 * VAR-05: The other order: the child goes first, and the parent's mapping and
 * its VAR are as before.
 */
TEST_F(var, var_05_child_goes_first)
{
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer child;
	uint32_t page_id;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_map(self->ctx, var, &map);
	peer_fork(&child);
	doorbell_peer_store(&child, (uintptr_t)map, DOORBELL_VAR, page_id);
	peer_end(&child);
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);
	unmap(map, var->length);
	ASSERT_PAGE_FREE(0, page_id);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * VAR-06: A mapping that is not to be inherited takes no reference for the
 * child, so the page is free although the child lives.
 */
TEST_F(var, var_06_dontfork_holds_nothing)
{
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer child;
	uint32_t page_id;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_map(self->ctx, var, &map);
	ASSERT_EQ(0, madvise(map, var->length, MADV_DONTFORK));
	peer_fork(&child);
	unmap(map, var->length);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
	peer_end(&child);
}

/*
 * VAR-07: A mapping that is moved reaches the same page from its new place, and
 * the references of the old and the new place balance.
 */
TEST_F(var, var_07_moved_mapping)
{
	uint32_t *map, *moved;
	struct mlx5dv_var *var;
	uint32_t page_id;
	void *place;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_map(self->ctx, var, &map);
	place = mmap(NULL, var->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, place);
	moved = mremap(map, var->length, var->length,
		       MREMAP_MAYMOVE | MREMAP_FIXED, place);
	ASSERT_EQ(place, moved);
	doorbell_store(moved, DOORBELL_VAR, page_id);
	unmap(moved, var->length);
	ASSERT_PAGE_FREE(0, page_id);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * VAR-09: All pages but those in use can be had, the lowest first.  Then
 * ENOSPC, also after all were freed while they are mapped.  Once they are
 * unmapped all can be had again.
 */
TEST_F(var, var_09_exhaustion)
{
	const int total = self->bed.before.vars;
	uint32_t **map;
	struct raw_var *var;
	int i, last = -1;

	ASSERT_LT(0, total);
	ASSERT_GE((int)self->bed.dev.info.var.count, total);
	var = calloc(total, sizeof(*var));
	map = calloc(total, sizeof(*map));
	ASSERT_NE(NULL, var);
	ASSERT_NE(NULL, map);

	for (i = 0; i < total; i++) {
		raw_var_alloc(self->ctx->cmd_fd, 0, &var[i]);
		ASSERT_LT(last, (int)var[i].page_id);
		last = var[i].page_id;
	}
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, 0, 0);
	var_alloc_err(ENOSPC, self->ctx, 0);

	for (i = 0; i < total; i++) {
		ASSERT_EQ(0, _map(self->ctx, var[i].length, MAP_SHARED, var[i].mmap_off, &map[i]));
		raw_var_free(self->ctx->cmd_fd, var[i].handle);
	}
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, 0, 0);
	doorbell_store(map[total - 1], DOORBELL_VAR, var[total - 1].page_id);

	for (i = 0; i < total; i++)
		unmap(map[i], var[i].length);
	ASSERT_EQ(total, var_count_free(self->ctx->cmd_fd, 0));
	free(map);
	free(var);
}

/*
 * VAR-10: An unknown flag is refused and no page is taken.
 */
TEST_F(var, var_10_unknown_flag)
{
	raw_var_alloc_err(EINVAL, self->ctx->cmd_fd, 1U << 31, 0);
	raw_var_alloc_err(EINVAL, self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP << 1, 0);
	ASSERT_EQ(self->bed.before.vars, var_count_free(self->ctx->cmd_fd, 0));
}

/*
 * VAR-11: TLP VARs have pages and a bitmap of their own.  Freeing one gives
 * back the page there and not the one of the same number among the others.
 */
TEST_F(var, var_11_tlp_has_its_own_pages)
{
	struct mlx5dv_var *var, *tlp;
	uint32_t *map;
	uint32_t page_id;

	if (!self->bed.dev.info.tlp_var.count)
		SKIP(return, "the device has no TLP VAR: load mlx5_vhca with them");
	var_alloc(self->ctx, 0, &var);
	var_alloc(self->ctx, MLX5DV_VAR_ALLOC_FLAG_TLP, &tlp);
	page_id = tlp->page_id;
	ASSERT_GT(self->bed.dev.info.tlp_var.count, page_id);
	ASSERT_TLP_PAGE_FREE(0, page_id);
	var_map(self->ctx, tlp, &map);
	doorbell_store(map, DOORBELL_TLP_VAR, page_id);
	unmap(map, tlp->length);
	mlx5dv_free_var(tlp);
	ASSERT_TLP_PAGE_FREE(1, page_id);
	ASSERT_PAGE_FREE(0, var->page_id);
	mlx5dv_free_var(var);
}

/*
 * VAR-11, VAR-09: Without a page left there are still pages of the other sort.
 */
TEST_F(var, var_11_tlp_exhaustion)
{
	const int total = self->bed.before.tlp_vars;
	struct raw_var tlp[64], var;
	int i;

	if (!self->bed.dev.info.tlp_var.count)
		SKIP(return, "the device has no TLP VAR: load mlx5_vhca with them");
	ASSERT_LT(0, total);
	ASSERT_GE(64, total);
	for (i = 0; i < total; i++)
		raw_var_alloc(self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP, &tlp[i]);
	raw_var_alloc_err(ENOSPC, self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP, 0);
	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	for (i = 0; i < total; i++)
		raw_var_free(self->ctx->cmd_fd, tlp[i].handle);
	ASSERT_EQ(total, var_count_free(self->ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP));
}

/*
 * VAR-12: The context is closed and no mapping is left.  The VAR is gone when
 * the close returns.
 */
TEST_F(var, var_12_close_frees)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	struct raw_var var;

	ASSERT_NE(NULL, other);
	raw_var_alloc(other->cmd_fd, 0, &var);
	ASSERT_PAGE_FREE(0, var.page_id);
	ASSERT_EQ(0, ibv_close_device(other));
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_LEDGER(1, "uctx");
}

/*
 * VAR-13: The context is closed while a page of it is mapped.  The mapping
 * holds the file, so nothing is destroyed, neither in the driver nor in the
 * device, until the mapping goes.
 */
TEST_F(var, var_13_mapping_outlives_close)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	uint32_t *map;
	struct mlx5dv_var *var;
	uint32_t page_id;
	size_t length;

	ASSERT_NE(NULL, other);
	var_alloc(other, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_map(other, var, &map);
	ASSERT_LEDGER(2, "uctx");
	ASSERT_EQ(0, ibv_close_device(other));
	ASSERT_LEDGER(2, "uctx");
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);
	unmap(map, length);
	ASSERT_LEDGER(1, "uctx");
	ASSERT_PAGE_FREE(1, page_id);
	/* The library's part of it; the context that it came from is gone. */
	mlx5dv_var_unimport(var);
}

/*
 * VAR-14: A process is killed while it has a VAR and a mapping of it.  Both go.
 */
TEST_F(var, var_14_sigkill)
{
	struct peer_var var;
	struct peer peer;
	uint64_t addr;

	peer_start(&peer);
	peer_open(&peer, self->bed.dev.name);
	peer_var_alloc(&peer, &var);
	peer_var_map(&peer, &var, &addr);
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, var.page_id);
	ASSERT_PAGE_FREE(0, var.page_id);
	peer_kill(&peer);
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_LEDGER(1, "uctx");
}

/*
 * ENT-04: Only the very offset, the whole length and MAP_SHARED are accepted.
 * A refused mapping takes no reference with it.
 */
TEST_F(var, ent_04_wrong_mappings)
{
	struct mlx5dv_var *var;
	uint32_t page_id;
	int i;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	for (i = 0; i < 100; i++) {
		map_err(EINVAL, self->ctx, var->length, MAP_PRIVATE, var->mmap_off);
		map_err(EINVAL, self->ctx, var->length + self->page_size, MAP_SHARED,
			var->mmap_off);
		map_err(EINVAL, self->ctx, var->length, MAP_SHARED,
			var->mmap_off + self->page_size);
		if (var->length > self->page_size)
			map_err(EINVAL, self->ctx, var->length - self->page_size, MAP_SHARED,
				var->mmap_off);
	}
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * UOBJ-04: A handle is looked up with its type: that of a PD is not the handle
 * of a VAR, and nothing happens to the PD.
 */
TEST_F(var, uobj_04_handle_of_another_type)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx);
	struct raw_var var;

	ASSERT_NE(NULL, pd);
	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	ASSERT_LEDGER(1, "pd");
	raw_var_free_err(EINVAL, self->ctx->cmd_fd, pd->handle);
	ASSERT_LEDGER(1, "pd");
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, UINT32_MAX);
	ASSERT_PAGE_FREE(0, var.page_id);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_LEDGER(0, "pd");
}

/*
 * UOBJ-10: The VAR is made but an answer cannot be written.  The call fails
 * with EFAULT and leaves neither page nor handle behind.
 */
TEST_F(var, uobj_10_answer_cannot_be_written)
{
	static const uint16_t answers[] = {
		MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET,
		MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH,
		MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID,
	};
	struct raw_var var, again;
	size_t i;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		raw_var_alloc_err(EFAULT, self->ctx->cmd_fd, 0, answers[i]);
		ASSERT_PAGE_FREE(1, var.page_id);
		raw_var_alloc(self->ctx->cmd_fd, 0, &again);
		ASSERT_EQ(var.page_id, again.page_id);
		ASSERT_EQ(var.handle, again.handle);
		raw_var_free(self->ctx->cmd_fd, again.handle);
	}
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
