// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of device memory (DM) and of dma-bufs of it.
 *
 * A DM is MEMIC of the device: firmware is told to allocate and to free it, so
 * the device's ledger is the best witness.  A dma-buf of a DM is an object of
 * its own that lives as long as anybody has a descriptor or a memory region of
 * it; the kernel shows it in bufinfo and fdinfo.  What matters most is the
 * moment of DEALLOC_MEMIC: after the last user is gone, and once.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/doorbell.h"
#include "common/dm_ops.h"
#include "common/kernel_signs.h"
#include "common/var_ops.h"

#define DM_SIZE	8192

/* Several of them must fit. */
#define DM_NEEDED	(8 * DM_SIZE)

FIXTURE(dm_dmabuf)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	int64_t seq;
	size_t page_size;
};

FIXTURE_SETUP(dm_dmabuf)
{
	if (!bed_make(_metadata, &self->bed, true))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED) {
		bed_mark(_metadata, "end");
		SKIP(return, "less than %d bytes of MEMIC: load mlx5_vhca with a larger memic_size",
		     DM_NEEDED);
	}
	self->page_size = sysconf(_SC_PAGESIZE);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
}

FIXTURE_TEARDOWN(dm_dmabuf)
{
	EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/* Firmware executed the command this often since the set-up. */
#define ASSERT_COMMANDS(count, opcode) \
	ASSERT_EQ(count, vhca_count_since(&self->bed.dev, self->seq, opcode, VHCA_ANY))
#define ASSERT_COMMANDS_FOR(count, opcode, object) \
	ASSERT_EQ(count, vhca_count_since(&self->bed.dev, self->seq, opcode, object))

/* Number of the last such command since the set-up. */
#define LAST(opcode, object) \
	vhca_last_since(&self->bed.dev, self->seq, opcode, object)

/* The device holds one memic more than before, the one that is given back here. */
#define ASSERT_NEW_MEMIC(object) \
do { \
	ASSERT_LEDGER(1, "memic"); \
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, object)); \
} while (0)

/* The memic was allocated once; it was freed this often (0 or 1) and is there or not. */
#define ASSERT_MEMIC_FREED(count, object) \
do { \
	const struct vhca_object *__object = (object); \
	const int __freed = (count); \
	ASSERT_COMMANDS_FOR(1, VHCA_ALLOC_MEMIC, __object->id); \
	ASSERT_COMMANDS_FOR(__freed, VHCA_DEALLOC_MEMIC, __object->id); \
	ASSERT_EQ(1 - __freed, vhca_find(&self->bed.dev, "memic", __object->id, NULL)); \
} while (0)

/* The mkey of a region leads to memory or not, as far as the device says. */
#define ASSERT_TRANSLATES(yes, mr) \
do { \
	struct vhca_object __mkey; \
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), &__mkey)); \
	ASSERT_EQ(0UL, __mkey.free); \
	if (__mkey.translations >= 0) \
		ASSERT_EQ(yes, __mkey.translations > 0); \
} while (0)

/* What bufinfo says of a dma-buf. */
#define ASSERT_DMABUF(inode, number_of_files, number_of_attachments) \
do { \
	struct dmabuf_sign __sign; \
	ASSERT_EQ(1, dmabuf_look(inode, &__sign)); \
	ASSERT_EQ(number_of_files, __sign.files); \
	ASSERT_EQ(number_of_attachments, __sign.attachments); \
} while (0)
#define ASSERT_NO_DMABUF(inode) \
do { \
	struct dmabuf_sign __sign; \
	ASSERT_EQ(0, dmabuf_look(inode, &__sign)); \
} while (0)

/*
 * DMABUF-01: An export is a dma-buf of ib_uverbs with the size of the mapped
 * pages, one file reference, no importer, and close-on-exec.
 */
TEST_F(dm_dmabuf, dmabuf_01_export)
{
	const int refcount = module_refcount("ib_uverbs");
	struct vhca_object memic;
	struct dmabuf_sign sign;
	struct ibv_dm *dm;
	uint64_t inode;
	struct stat st;
	int fd;

	/* Not a multiple of the page size, which the dma-buf's size is. */
	dm_alloc(self->ctx, self->page_size + 64, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	ASSERT_NE(0UL, inode);
	ASSERT_EQ(1, fdinfo_count(fd));
	ASSERT_EQ(true, fd_is_cloexec(fd));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ((off_t)(2 * self->page_size), st.st_size);
	ASSERT_EQ((off_t)(2 * self->page_size), lseek(fd, 0, SEEK_END));
	ASSERT_EQ(1, dmabuf_look(inode, &sign));
	ASSERT_EQ(2 * self->page_size, sign.size);
	ASSERT_EQ(1, sign.files);
	ASSERT_EQ(0, sign.attachments);
	ASSERT_STREQ("ib_uverbs", sign.exporter);
	if (refcount >= 0)
		ASSERT_EQ(refcount + 1, module_refcount("ib_uverbs"));

	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(inode);
	if (refcount >= 0)
		ASSERT_EQ(refcount, module_refcount("ib_uverbs"));
	ASSERT_MEMIC_FREED(0, &memic);
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-02: Each export is an object of its own; what one close drops is one.
 * None of them, opened or closed, is news to the device.
 */
TEST_F(dm_dmabuf, dmabuf_02_many_exports)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	uint64_t inode[16];
	int fd[16], i;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	for (i = 0; i < 16; i++) {
		dmabuf_export(dm, &fd[i]);
		inode[i] = dmabuf_inode(fd[i]);
		ASSERT_EQ(self->bed.before.dmabufs + i + 1, dmabuf_count("ib_uverbs"));
	}
	/* The even ones before the DM is freed and the odd ones after that. */
	for (i = 0; i < 16; i += 2) {
		ASSERT_DMABUF(inode[i], 1, 0);
		ASSERT_EQ(0, close(fd[i]));
		ASSERT_NO_DMABUF(inode[i]);
	}
	ASSERT_EQ(self->bed.before.dmabufs + 8, dmabuf_count("ib_uverbs"));
	dm_free(dm);
	for (i = 1; i < 16; i += 2) {
		ASSERT_MEMIC_FREED(0, &memic);
		ASSERT_DMABUF(inode[i], 1, 0);
		ASSERT_EQ(0, close(fd[i]));
		ASSERT_NO_DMABUF(inode[i]);
	}
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-03, DMABUF-04: A duplicate is the same dma-buf.  Only the last close
 * is one.
 */
TEST_F(dm_dmabuf, dmabuf_04_dup)
{
	struct ibv_dm *dm;
	uint64_t inode;
	int fd, copy;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, copy);
	ASSERT_EQ(inode, dmabuf_inode(copy));
	ASSERT_EQ(2, fdinfo_count(fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_DMABUF(inode, 1, 0);
	ASSERT_EQ(0, close(copy));
	ASSERT_NO_DMABUF(inode);
	dm_free(dm);
}

/*
 * DMABUF-04, DMABUF-05: A descriptor in another process is the last one.  The
 * DM is freed and closed here; the memory waits for the other process.
 */
TEST_F(dm_dmabuf, dmabuf_04_peer_closes_last)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t inode;
	int fd, there;

	peer_start(&peer);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	peer_keep_fd(&peer, fd, &there);
	ASSERT_DMABUF(inode, 2, 0);
	ASSERT_EQ(0, close(fd));
	ASSERT_DMABUF(inode, 1, 0);
	dm_free(dm);
	ASSERT_MEMIC_FREED(0, &memic);
	peer_close_fd(&peer, there);
	ASSERT_NO_DMABUF(inode);
	ASSERT_MEMIC_FREED(1, &memic);
	peer_end(&peer);
}

/*
 * DMABUF-04: The same, and the other process is killed.
 */
TEST_F(dm_dmabuf, dmabuf_04_peer_is_killed)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct peer peer;
	uint64_t inode;
	int fd, there;

	peer_start(&peer);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	peer_keep_fd(&peer, fd, &there);
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
	ASSERT_DMABUF(inode, 1, 0);
	peer_kill(&peer);
	ASSERT_NO_DMABUF(inode);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-05, DM-18, ATT-09: The DM is freed with a descriptor open.  The free
 * succeeds and revokes the dma-buf, so it cannot be registered any more, but
 * the device must not be told before the descriptor is closed.
 */
TEST_F(dm_dmabuf, dmabuf_05_free_with_a_descriptor)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	uint64_t inode;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	dm_free(dm);
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_DMABUF(inode, 1, 0);

	mr_reg_dmabuf_err(ENODEV, self->pd, 0, DM_SIZE, fd);
	ASSERT_DMABUF(inode, 1, 0);
	ASSERT_LEDGER(0, "mkey");
	ASSERT_MEMIC_FREED(0, &memic);

	ASSERT_EQ(0, close(fd));
	ASSERT_NO_DMABUF(inode);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-10: Exports that fail leave no dma-buf, no descriptor and no reference
 * to the memory: the offset is not one, or is one no more; no descriptor left.
 */
TEST_F(dm_dmabuf, dmabuf_10_failing_exports)
{
	struct rlimit limit, none;
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct raw_var var;
	int i;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_var_free(self->ctx->cmd_fd, var.handle);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	for (i = 0; i < 100; i++) {
		raw_dmabuf_export_err(EINVAL, self->ctx->cmd_fd, 0x5a5a5a5a000ULL);
		raw_dmabuf_export_err(EINVAL, self->ctx->cmd_fd, var.mmap_off);
		none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
		/* The limit is given back before anything can stop the test. */
		none.rlim_cur = ibv_dm_export_dmabuf_fd(dm) == -1 ? errno : 0;
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
		ASSERT_EQ(EMFILE, (int)none.rlim_cur);
	}
	ASSERT_EQ(self->bed.before.dmabufs, dmabuf_count("ib_uverbs"));
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
}

/*
 * DMABUF-11: A VAR can be exported as well, by its offset.  The dma-buf then
 * holds the page as a mapping does: freeing the VAR does not free the page.
 */
TEST_F(dm_dmabuf, dmabuf_11_var)
{
	uint32_t *map;
	struct raw_var var;
	uint64_t inode;
	int fd;

	raw_var_alloc(self->ctx->cmd_fd, 0, &var);
	raw_dmabuf_export(self->ctx->cmd_fd, var.mmap_off, &fd);
	inode = dmabuf_inode(fd);
	ASSERT_DMABUF(inode, 1, 0);
	ASSERT_EQ(0, _map(self->ctx, var.length, MAP_SHARED, var.mmap_off, &map));
	raw_var_free(self->ctx->cmd_fd, var.handle);
	raw_dmabuf_export_err(EINVAL, self->ctx->cmd_fd, var.mmap_off);
	ASSERT_EQ(0, var_page_is_free(self->ctx->cmd_fd, 0, var.page_id));
	doorbell_store(map, DOORBELL_VAR, var.page_id);
	unmap(map, var.length);
	ASSERT_EQ(0, var_page_is_free(self->ctx->cmd_fd, 0, var.page_id));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(1, var_page_is_free(self->ctx->cmd_fd, 0, var.page_id));
}

/*
 * DMABUF-15: The plain file operations on a dma-buf, before and after it was
 * revoked: nothing of it can be mapped, and it can be asked for its size.
 */
TEST_F(dm_dmabuf, dmabuf_15_file_operations)
{
	struct ibv_dm *dm;
	int fd, i;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(MAP_FAILED, mmap(NULL, DM_SIZE, PROT_READ, MAP_SHARED, fd, 0));
		ASSERT_EQ(EINVAL, errno);
		ASSERT_EQ(DM_SIZE, lseek(fd, 0, SEEK_END));
		ASSERT_EQ(0, lseek(fd, 0, SEEK_SET));
		if (!i)
			dm_free(dm);
	}
	ASSERT_EQ(0, close(fd));
}

/*
 * S17, C14: A descriptor is 0 or more; here it is 0.
 */
TEST_F(dm_dmabuf, dmabuf_s17_descriptor_zero)
{
	int stdin_copy = fcntl(0, F_DUPFD_CLOEXEC, 3);
	struct ibv_dm *dm;
	int fd;

	if (stdin_copy < 0)
		SKIP(return, "descriptor 0 is not open: run with a standard input");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_EQ(0, close(0));
	dmabuf_export(dm, &fd);
	ASSERT_EQ(0, fd);
	ASSERT_EQ(1, fdinfo_count(fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, dup2(stdin_copy, 0));
	ASSERT_EQ(0, close(stdin_copy));
	dm_free(dm);
}

/*
 * ATT-04: A memory region on the dma-buf is an importer: one attachment, one
 * file reference, one mkey that translates.  Its end takes all of it back.
 */
TEST_F(dm_dmabuf, att_04_register)
{
	struct vhca_object memic, mkey;
	struct dmabuf_sign sign;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t inode;
	int fd, i;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	for (i = 0; i < 20; i++) {
		mr_reg_dmabuf(self->pd, 0, DM_SIZE, fd, &mr);
		ASSERT_EQ(2, fdinfo_count(fd));
		ASSERT_EQ(1, dmabuf_look(inode, &sign));
		ASSERT_EQ(2, sign.files);
		ASSERT_EQ(1, sign.attachments);
		ASSERT_STREQ(self->bed.dev.pci, sign.importer);
		ASSERT_LEDGER(1, "mkey");
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), &mkey));
		ASSERT_EQ(0UL, mkey.free);
		ASSERT_STREQ("mtt", mkey.mode);
		ASSERT_TRANSLATES(true, mr);

		mr_dereg(mr);
		ASSERT_EQ(1, fdinfo_count(fd));
		ASSERT_DMABUF(inode, 1, 0);
		ASSERT_LEDGER(0, "mkey");
	}
	ASSERT_EQ(0, close(fd));
	ASSERT_MEMIC_FREED(0, &memic);
	dm_free(dm);
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_COMMANDS(1, VHCA_ALLOC_MEMIC);
	ASSERT_COMMANDS(1, VHCA_DEALLOC_MEMIC);
}

/*
 * ATT-05, ATT-10: The DM is freed under a memory region.  The free succeeds
 * after the region lost its translation, and with it all access to the memory;
 * the region itself, its attachment and its file reference stay until it is
 * deregistered.
 */
TEST_F(dm_dmabuf, att_05_free_under_a_region)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t inode;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	mr_reg_dmabuf(self->pd, 0, DM_SIZE, fd, &mr);
	ASSERT_TRANSLATES(true, mr);
	dm_free(dm);
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_DMABUF(inode, 2, 1);
	ASSERT_TRANSLATES(false, mr);
	mr_reg_dmabuf_err(ENODEV, self->pd, 0, DM_SIZE, fd);
	ASSERT_DMABUF(inode, 2, 1);

	mr_dereg(mr);
	ASSERT_DMABUF(inode, 1, 0);
	ASSERT_LEDGER(0, "mkey");
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, close(fd));
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
}

/*
 * ATT-12: The region has the last reference to the dma-buf: closing the
 * descriptor releases nothing, deregistering does.
 */
TEST_F(dm_dmabuf, att_12_region_keeps_the_dmabuf)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t inode;
	int fd;

	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	mr_reg_dmabuf(self->pd, 0, DM_SIZE, fd, &mr);
	ASSERT_EQ(0, close(fd));
	ASSERT_DMABUF(inode, 1, 1);
	dm_free(dm);
	ASSERT_DMABUF(inode, 1, 1);
	ASSERT_MEMIC_FREED(0, &memic);
	mr_dereg(mr);
	ASSERT_NO_DMABUF(inode);
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
}

/*
 * ATT-16: Several regions, two of them in another context.  All lose their
 * translation when the DM is freed, and each goes on its own.
 */
TEST_F(dm_dmabuf, att_16_several_regions)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	struct vhca_object memic;
	struct ibv_pd *other_pd;
	struct ibv_mr *mr[4];
	struct ibv_dm *dm;
	uint64_t inode;
	int fd, i;

	ASSERT_NE(NULL, other);
	other_pd = ibv_alloc_pd(other);
	ASSERT_NE(NULL, other_pd);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_NEW_MEMIC(&memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	for (i = 0; i < 4; i++)
		mr_reg_dmabuf(i % 2 ? other_pd : self->pd, 0, DM_SIZE, fd, &mr[i]);
	ASSERT_DMABUF(inode, 5, 4);
	ASSERT_LEDGER(4, "mkey");
	dm_free(dm);
	ASSERT_DMABUF(inode, 5, 4);
	for (i = 0; i < 4; i++) {
		ASSERT_TRANSLATES(false, mr[i]);
		mr_dereg(mr[i]);
		ASSERT_DMABUF(inode, 4 - i, 3 - i);
	}
	ASSERT_LEDGER(0, "mkey");
	ASSERT_MEMIC_FREED(0, &memic);
	ASSERT_EQ(0, close(fd));
	ASSERT_MEMIC_FREED(1, &memic);
	ASSERT_EQ(0, ibv_dealloc_pd(other_pd));
	ASSERT_EQ(0, ibv_close_device(other));
}

/*
 * ATT-17: Registrations that cannot be, a hundred times each.  None leaves a
 * file reference or an attachment behind.
 */
TEST_F(dm_dmabuf, att_17_wrong_ranges)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct ibv_dm *dm;
	uint64_t inode;
	int fd, i;

	ASSERT_LE(0, null);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	for (i = 0; i < 100; i++) {
		mr_reg_dmabuf_err(EINVAL, self->pd, 4096, DM_SIZE, fd);
		mr_reg_dmabuf_err(EINVAL, self->pd, 0, DM_SIZE + 1, fd);
		mr_reg_dmabuf_err(EINVAL, self->pd, ~0xfffULL, DM_SIZE, fd);
		mr_reg_dmabuf_err(EBADF, self->pd, 0, DM_SIZE, -1);
		mr_reg_dmabuf_err(EINVAL, self->pd, 0, DM_SIZE, null);
	}
	ASSERT_EQ(1, fdinfo_count(fd));
	ASSERT_DMABUF(inode, 1, 0);
	ASSERT_LEDGER(0, "mkey");
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, close(null));
	dm_free(dm);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
