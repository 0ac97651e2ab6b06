// SPDX-License-Identifier: GPL-2.0
/*
 * What the virtual HCA does not do for a user: write to memory that the user may only read,
 * and show what another one has left.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/raw_cq.h"

#define PAGE		4096
#define ENTRIES		8
#define ENTRY_SIZE	64
#define SECRET		0x5ec2e7

FIXTURE(device_reach)
{
	struct bed bed;
	struct ibv_context *ctx;
};

FIXTURE_SETUP(device_reach)
{
	if (!bed_make(_metadata, &self->bed, true))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
}

FIXTURE_TEARDOWN(device_reach)
{
	if (self->ctx)
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/*
 * A doorbell record is only read by a device, so the driver lets it lie in a file that the
 * user may not write: in the page cache, where all who read the file would find what the
 * device writes.
 */
TEST_F(device_reach, record_in_a_file_of_others)
{
	char name[] = "/tmp/uobjscope-reach-XXXXXX", path[64];
	uint8_t page[PAGE], zeros[PAGE] = {};
	struct mlx5_ib_create_cq driver = {
		.cqe_size = ENTRY_SIZE,
		.flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
	};
	struct mlx5dv_devx_uar *uar;
	void *entries, *record;
	uint32_t handle;
	int fd, readable;

	fd = mkstemp(name);
	ASSERT_LE(0, fd);
	ASSERT_EQ(PAGE, write(fd, zeros, PAGE));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readable = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, readable);
	ASSERT_EQ(0, unlink(name));
	record = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, readable, 0);
	ASSERT_NE(MAP_FAILED, record);
	/* It cannot be made writable. */
	ASSERT_EQ(-1, mprotect(record, PAGE, PROT_READ | PROT_WRITE));
	ASSERT_EQ(EACCES, errno);
	entries = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, entries);

	uar = mlx5dv_devx_alloc_uar(self->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	ASSERT_NE(NULL, uar);
	driver.buf_addr = (uintptr_t)entries;
	driver.db_addr = (uintptr_t)record;
	driver.uar_page_index = uar->page_id;
	ASSERT_EQ(0, raw_cq_create(self->ctx->cmd_fd, ENTRIES, &driver, NULL, 0, &handle));
	ASSERT_EQ(0, raw_cq_destroy(self->ctx->cmd_fd, handle));
	ASSERT_EQ(PAGE, pread(fd, page, PAGE, 0));
	ASSERT_EQ(0, memcmp(page, zeros, PAGE));

	mlx5dv_devx_free_uar(uar);
	ASSERT_EQ(0, munmap(entries, PAGE));
	ASSERT_EQ(0, munmap(record, PAGE));
	ASSERT_EQ(0, close(readable));
	ASSERT_EQ(0, close(fd));
}

/* The page of an operation keeps what is written there, and so do pages of memory. */
TEST_F(device_reach, what_another_has_left)
{
	const uint32_t secret = SECRET;
	uint32_t *operated;
	struct ibv_context *other;
	struct ibv_dm *dm;
	uint32_t word;
	void *op;
	int i;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no operation 0 on its memory");
	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	for (i = 0; i < 2; i++) {
		dm_alloc(i ? other : self->ctx, PAGE, &dm);
		dm_map_op(dm, 0, &op);
		operated = op;
		ASSERT_EQ(0, ibv_memcpy_from_dm(&word, dm, 0, sizeof(word)));
		ASSERT_EQ(0U, word);
		ASSERT_EQ(0U, __atomic_load_n(operated, __ATOMIC_RELAXED));
		ASSERT_EQ(0, ibv_memcpy_to_dm(dm, 0, &secret, sizeof(secret)));
		__atomic_store_n(operated, secret, __ATOMIC_RELAXED);
		ASSERT_EQ(secret, __atomic_load_n(operated, __ATOMIC_RELAXED));
		dm_unmap_op(op, PAGE);
		dm_free(dm);
	}
	ASSERT_EQ(0, ibv_close_device(other));
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
