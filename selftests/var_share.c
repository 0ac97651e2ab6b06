// SPDX-License-Identifier: GPL-2.0
/*
 * A VAR shared by export and import: mlx5dv_var_export(), mlx5dv_var_import()
 * and mlx5dv_var_unimport(), in one process and in two.
 *
 * The library only copies numbers.  What is shared is the uverbs file behind
 * the command descriptor: the kernel knows one VAR, one handle of it and any
 * number of mappings.  So the tests look at the page: who can reach it, and
 * when is it free again?
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/doorbell.h"
#include "common/no_syscall.h"
#include "common/var_ops.h"

FIXTURE(var_share)
{
	struct bed bed;
	struct ibv_context *ctx;
	uint8_t blob[VAR_BLOB_MAX];
};

FIXTURE_SETUP(var_share)
{
	if (!bed_make(_metadata, &self->bed, false))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
}

FIXTURE_TEARDOWN(var_share)
{
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/* Is the page of a VAR in nobody's hands? */
#define ASSERT_PAGE_FREE(yes, page_id) \
	ASSERT_EQ(yes, var_page_is_free(self->ctx->cmd_fd, 0, page_id))

/* Both are the same VAR, wherever they are. */
#define ASSERT_SAME_VAR(a, b) \
do { \
	const __auto_type __a = (a); \
	const __auto_type __b = (b); \
	ASSERT_EQ(__a->page_id, __b->page_id); \
	ASSERT_EQ(__a->length, __b->length); \
	ASSERT_EQ((uint64_t)__a->mmap_off, (uint64_t)__b->mmap_off); \
} while (0)

/*
 * IMP-11: The library tells how many bytes an export writes, and writes no
 * more: the buffer ends where a page begins that nobody may touch.  An import
 * reads no more than that either.
 */
TEST_F(var_share, imp_11_export_stays_in_its_buffer)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	struct mlx5dv_export_sizes sizes = {};
	struct mlx5dv_var *var, *import;
	uint8_t *pages, *buf;
	size_t i;

	mlx5dv_get_export_sizes(&sizes);
	ASSERT_LT(0U, sizes.var_attrs_size);
	ASSERT_GE((uint32_t)VAR_BLOB_MAX, sizes.var_attrs_size);
	ASSERT_LT(0U, sizes.devx_umem_attrs_size);
	ASSERT_LT(0U, sizes.devx_obj_attrs_size);

	pages = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)pages);
	ASSERT_EQ(0, mprotect(pages + page_size, page_size, PROT_NONE));
	memset(pages, 0xa5, page_size);
	buf = pages + page_size - sizes.var_attrs_size;

	var_alloc(self->ctx, 0, &var);
	var_export(var, buf);
	for (i = 0; i < page_size - sizes.var_attrs_size; i++)
		ASSERT_EQ(0xa5, pages[i]);
	var_import(self->ctx, buf, &import);
	ASSERT_SAME_VAR(var, import);
	mlx5dv_var_unimport(import);
	mlx5dv_free_var(var);
	ASSERT_EQ(0, munmap(pages, 2 * page_size));
}

/*
 * IMP-01: An export is a copy and nothing else: it can be repeated, says the
 * same each time, and neither driver nor device learn of it.
 */
TEST_F(var_share, imp_01_export_changes_nothing)
{
	int64_t seq = vhca_seq(&self->bed.dev);
	uint8_t again[VAR_BLOB_MAX] = {};
	struct mlx5dv_var *var;
	uint32_t page_id;
	int i;

	ASSERT_LE(0, seq);
	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_export(var, self->blob);
	for (i = 0; i < 100; i++) {
		var_export(var, again);
		ASSERT_EQ(0, memcmp(self->blob, again, sizeof(again)));
	}
	ASSERT_PAGE_FREE(0, page_id);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
	ASSERT_EQ(0, vhca_other_since(&self->bed.dev, seq));
}

struct copy {
	struct ibv_context *ctx;
	struct mlx5dv_var *var;
	uint8_t *blob;
};

static void export_import_unimport(void *arg)
{
	struct mlx5dv_var *import;
	struct copy *copy = arg;

	if (mlx5dv_var_export(copy->var, copy->blob))
		abort();
	import = mlx5dv_var_import(copy->ctx, copy->blob);
	if (!import)
		abort();
	mlx5dv_var_unimport(import);
}

static void free_nothing(void *arg)
{
	struct copy *copy = arg;

	_raw_var_free(copy->ctx->cmd_fd, UINT32_MAX);
}

/*
 * IMP-01, C8: Export, import and unimport do not enter the kernel.  The control
 * is a call that does, and is caught.
 */
TEST_F(var_share, imp_01_no_system_call)
{
	struct copy copy = { .ctx = self->ctx, .blob = self->blob };
	uint32_t page_id;

	var_alloc(self->ctx, 0, &copy.var);
	page_id = copy.var->page_id;
	no_syscall(export_import_unimport, &copy);
	no_syscall_err(EPERM, free_nothing, &copy);
	ASSERT_PAGE_FREE(0, page_id);
	mlx5dv_free_var(copy.var);
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * IMP-02: An import in the same process is the same VAR.  Both can be mapped,
 * and what is stored through one mapping is read through the other and arrives
 * on the one page.
 */
TEST_F(var_share, imp_02_same_process)
{
	uint32_t *map, *import_map;
	struct mlx5dv_var *var, *import;
	uint32_t page_id, word;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_export(var, self->blob);
	var_import(self->ctx, self->blob, &import);
	ASSERT_SAME_VAR(var, import);

	var_map(self->ctx, var, &map);
	var_map(self->ctx, import, &import_map);
	ASSERT_NE(map, import_map);
	doorbell_store(map, DOORBELL_VAR, page_id);
	doorbell_store(import_map, DOORBELL_VAR, page_id);
	word = ~__atomic_load_n(&import_map[1], __ATOMIC_RELAXED);
	__atomic_store_n(&map[1], word, __ATOMIC_RELAXED);
	ASSERT_EQ(word, __atomic_load_n(&import_map[1], __ATOMIC_RELAXED));

	/* A mapping that came from the import is none of the import's business. */
	mlx5dv_var_unimport(import);
	doorbell_store(import_map, DOORBELL_VAR, page_id);

	unmap(map, length);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(0, page_id);
	unmap(import_map, length);
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * IMP-06, S9: Who frees and who unimports, in all orders.  The kernel sees one
 * free, and the page is free exactly then.
 */
TEST_F(var_share, imp_06_free_and_unimport)
{
	struct mlx5dv_var *var, *import, *second;
	uint32_t page_id;
	int order;

	for (order = 0; order < 4; order++) {
		var_alloc(self->ctx, 0, &var);
		page_id = var->page_id;
		var_export(var, self->blob);
		var_import(self->ctx, self->blob, &import);
		var_import(self->ctx, self->blob, &second);
		mlx5dv_var_unimport(second);
		ASSERT_PAGE_FREE(0, page_id);
		switch (order) {
		case 0:
			mlx5dv_free_var(var);
			ASSERT_PAGE_FREE(1, page_id);
			mlx5dv_var_unimport(import);
			break;
		case 1:
			mlx5dv_var_unimport(import);
			ASSERT_PAGE_FREE(0, page_id);
			mlx5dv_free_var(var);
			break;
		case 2:
			mlx5dv_free_var(import);
			ASSERT_PAGE_FREE(1, page_id);
			mlx5dv_var_unimport(var);
			break;
		case 3:
			mlx5dv_var_unimport(var);
			ASSERT_PAGE_FREE(0, page_id);
			mlx5dv_free_var(import);
			break;
		}
		ASSERT_PAGE_FREE(1, page_id);
	}
}

/*
 * IMP-06: If everybody unimports and nobody frees, the VAR stays in the kernel
 * until the context is closed.
 */
TEST_F(var_share, imp_06_unimport_of_the_original)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	struct mlx5dv_var *var;
	uint32_t page_id;

	ASSERT_NE(NULL, other);
	var_alloc(other, 0, &var);
	page_id = var->page_id;
	mlx5dv_var_unimport(var);
	ASSERT_PAGE_FREE(0, page_id);
	ASSERT_EQ(0, ibv_close_device(other));
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * IMP-03: Another process imports context and VAR.  The kernel makes no second
 * context for it, and both processes reach the same page.  The peer's unimport
 * takes nothing away from its mapping.
 */
TEST_F(var_share, imp_03_other_process)
{
	struct peer_var import;
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer peer;
	uint32_t page_id;
	uint64_t addr;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_export(var, self->blob);
	var_map(self->ctx, var, &map);

	peer_start(&peer);
	ASSERT_LEDGER(1, "uctx");
	peer_import(&peer, self->ctx);
	ASSERT_LEDGER(1, "uctx");
	peer_var_import(&peer, self->blob, &import);
	ASSERT_SAME_VAR(var, &import);
	peer_var_map(&peer, &import, &addr);
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);

	peer_var_unimport(&peer, &import);
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, page_id);
	unmap(map, length);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(0, page_id);
	peer_unmap(&peer, addr, length);
	ASSERT_PAGE_FREE(1, page_id);
	peer_close(&peer);
	peer_end(&peer);
}

/*
 * IMP-05: The importer goes first.  Its mapping goes with it; what it allocated
 * through the shared context belongs to the context and stays until that is
 * closed.
 */
TEST_F(var_share, imp_05_importer_goes_first)
{
	struct peer_var import, made_there;
	struct ibv_context *shared;
	struct mlx5dv_var *var;
	struct peer peer;
	uint32_t page_id;
	uint64_t addr;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	shared = device_open(&self->bed.dev);
	ASSERT_NE(NULL, shared);
	var_alloc(shared, 0, &var);
	page_id = var->page_id;
	var_export(var, self->blob);

	peer_start(&peer);
	peer_import(&peer, shared);
	peer_var_import(&peer, self->blob, &import);
	peer_var_map(&peer, &import, &addr);
	peer_var_alloc(&peer, &made_there);
	ASSERT_NE(page_id, made_there.page_id);
	peer_end(&peer);

	ASSERT_PAGE_FREE(0, page_id);
	ASSERT_PAGE_FREE(0, made_there.page_id);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
	ASSERT_PAGE_FREE(0, made_there.page_id);
	ASSERT_EQ(0, ibv_close_device(shared));
	ASSERT_PAGE_FREE(1, made_there.page_id);
}

/*
 * IMP-06, C6: Two processes, the peer unimports before or after the free here.
 */
TEST_F(var_share, imp_06_peer_unimports)
{
	struct peer_var import;
	struct mlx5dv_var *var;
	struct peer peer;
	uint32_t page_id;

	peer_start(&peer);
	peer_import(&peer, self->ctx);

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_export(var, self->blob);
	peer_var_import(&peer, self->blob, &import);
	peer_var_unimport(&peer, &import);
	ASSERT_PAGE_FREE(0, page_id);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_export(var, self->blob);
	peer_var_import(&peer, self->blob, &import);
	mlx5dv_free_var(var);
	ASSERT_PAGE_FREE(1, page_id);
	peer_var_unimport(&peer, &import);
	peer_end(&peer);
}

/*
 * IMP-07: The importer frees.  The exporter's mapping goes on working and its
 * page is not reused; nobody can map the VAR again; a second free fails.
 */
TEST_F(var_share, imp_07_importer_frees)
{
	struct peer_var import;
	uint32_t *map;
	struct mlx5dv_var *var;
	struct peer peer;
	uint32_t page_id;
	size_t length;

	peer_start(&peer);
	peer_import(&peer, self->ctx);
	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_export(var, self->blob);
	var_map(self->ctx, var, &map);
	peer_var_import(&peer, self->blob, &import);
	peer_var_free(&peer, &import);

	var_map_err(EINVAL, self->ctx, var);
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);
	unmap(map, length);
	ASSERT_PAGE_FREE(1, page_id);
	mlx5dv_var_unimport(var);
	peer_end(&peer);
}

/*
 * IMP-08, C9: Handles are reused, and nothing in an import says which VAR was
 * meant.  The VAR is freed here and another one gets its handle: the importer
 * then frees that one.  "Applications must coordinate", as the page says; this
 * is what happens to those that do not.
 */
TEST_F(var_share, imp_08_stale_import_frees_the_successor)
{
	struct peer_var import;
	struct mlx5dv_var *var;
	struct peer peer;
	uint32_t page_id;

	peer_start(&peer);
	peer_import(&peer, self->ctx);
	var_alloc(self->ctx, 0, &var);
	var_export(var, self->blob);
	peer_var_import(&peer, self->blob, &import);
	mlx5dv_free_var(var);

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	ASSERT_SAME_VAR(var, &import);
	ASSERT_PAGE_FREE(0, page_id);
	peer_var_free(&peer, &import);
	ASSERT_PAGE_FREE(1, page_id);
	var_map_err(EINVAL, self->ctx, var);
	mlx5dv_var_unimport(var);
	peer_end(&peer);
}

/*
 * IMP-09, C5: Import into a context that shares nothing with the exporter's.
 * The import succeeds, being a copy.  There is nothing to map, and a free acts
 * on whatever has that handle there; the exporter's VAR is never touched.
 */
TEST_F(var_share, imp_09_unrelated_context)
{
	struct raw_var raw, other_raw;
	struct mlx5dv_var *var, *import;
	struct ibv_context *other;
	uint32_t *map;
	size_t length;

	if (bed_lacks_vars(_metadata, &self->bed, 4))
		return;
	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	var_alloc(self->ctx, 0, &var);
	length = var->length;
	var_map(self->ctx, var, &map);
	var_export(var, self->blob);
	var_import(other, self->blob, &import);
	var_map_err(EINVAL, other, import);
	mlx5dv_var_unimport(import);
	doorbell_store(map, DOORBELL_VAR, var->page_id);

	raw_var_alloc(self->ctx->cmd_fd, 0, &raw);
	raw_var_free_err(ENOENT, other->cmd_fd, raw.handle);
	do {
		raw_var_alloc(other->cmd_fd, 0, &other_raw);
	} while (other_raw.handle < raw.handle);
	ASSERT_EQ(raw.handle, other_raw.handle);
	raw_var_free(other->cmd_fd, raw.handle);
	ASSERT_PAGE_FREE(1, other_raw.page_id);
	ASSERT_PAGE_FREE(0, raw.page_id);
	raw_var_free(self->ctx->cmd_fd, raw.handle);

	ASSERT_PAGE_FREE(0, var->page_id);
	unmap(map, length);
	mlx5dv_free_var(var);
	ASSERT_EQ(0, ibv_close_device(other));
}

/*
 * IMP-10: Any bytes can be imported.  The kernel refuses what does not exist:
 * an offset of garbage, the offset of a VAR that was freed.
 */
TEST_F(var_share, imp_10_garbage)
{
	const uint32_t page_size = sysconf(_SC_PAGESIZE);
	struct mlx5dv_var *var, *import;
	int pattern;

	/*
	 * Bits 20 to 27 of an offset are a command; odd patterns keep clear of
	 * those below 9, which are no offsets of mmap entries.
	 */
	for (pattern = 1; pattern < 0x80; pattern += 2) {
		memset(self->blob, pattern, sizeof(self->blob));
		var_import(self->ctx, self->blob, &import);
		map_err(EINVAL, self->ctx, page_size, MAP_SHARED,
			import->mmap_off & ~(off_t)(page_size - 1));
		mlx5dv_var_unimport(import);
	}
	var_alloc(self->ctx, 0, &var);
	var_export(var, self->blob);
	mlx5dv_free_var(var);
	var_import(self->ctx, self->blob, &import);
	var_map_err(EINVAL, self->ctx, import);
	mlx5dv_var_unimport(import);
}

/*
 * IMP-12: What is not a uverbs descriptor is refused and stays the caller's.
 */
TEST_F(var_share, imp_12_import_of_another_device)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	errno = 0;
	ASSERT_EQ(NULL, ibv_import_device(fd));
	ASSERT_EQ(ENODEV, errno);
	ASSERT_LE(0, fcntl(fd, F_GETFD));
	ASSERT_EQ(0, close(fd));
}

/*
 * The exporter is the peer here, so that it can go first.
 */
FIXTURE(exporter)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct peer peer;
	uint8_t blob[VAR_BLOB_MAX];
};

FIXTURE_VARIANT(exporter)
{
	int (*end)(struct peer *peer);
};

/* It exits without freeing, unmapping or closing anything. */
FIXTURE_VARIANT_ADD(exporter, exits)
{
	.end = _peer_end,
};

FIXTURE_VARIANT_ADD(exporter, killed)
{
	.end = _peer_kill,
};

FIXTURE_SETUP(exporter)
{
	if (!bed_make(_metadata, &self->bed, false))
		return;
	peer_start(&self->peer);
	peer_open(&self->peer, self->bed.dev.name);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
}

FIXTURE_TEARDOWN(exporter)
{
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/*
 * IMP-04: The exporter is gone while the importer holds the context: nothing
 * was destroyed.  The VAR can be mapped and freed, and closing the context is
 * what destroys the rest.
 */
TEST_F(exporter, imp_04_goes_first)
{
	struct peer_var var, second;
	struct mlx5dv_var *import;
	struct ibv_context *lent;
	uint32_t *map;
	uint64_t addr;

	if (bed_lacks_vars(_metadata, &self->bed, 2)) {
		ASSERT_EQ(0, variant->end(&self->peer));
		return;
	}
	peer_var_alloc(&self->peer, &var);
	peer_var_alloc(&self->peer, &second);
	peer_var_map(&self->peer, &var, &addr);
	peer_var_export(&self->peer, &var, self->blob);
	peer_lend(&self->peer, &lent);
	var_import(lent, self->blob, &import);
	ASSERT_SAME_VAR(&var, import);
	ASSERT_EQ(0, variant->end(&self->peer));

	ASSERT_LEDGER(2, "uctx");
	ASSERT_PAGE_FREE(0, var.page_id);
	var_map(lent, import, &map);
	doorbell_store(map, DOORBELL_VAR, var.page_id);
	unmap(map, var.length);
	mlx5dv_free_var(import);
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_PAGE_FREE(0, second.page_id);

	ASSERT_EQ(0, ibv_close_device(lent));
	ASSERT_PAGE_FREE(1, second.page_id);
	ASSERT_LEDGER(1, "uctx");
}

/*
 * IMP-04, VAR-13: The importer has unimported and closed, too, but still has a
 * mapping: it alone keeps the page, and everything else of the context.
 */
TEST_F(exporter, imp_04_only_a_mapping_is_left)
{
	struct mlx5dv_var *import;
	struct ibv_context *lent;
	uint32_t *map;
	struct peer_var var;

	peer_var_alloc(&self->peer, &var);
	peer_var_export(&self->peer, &var, self->blob);
	peer_lend(&self->peer, &lent);
	var_import(lent, self->blob, &import);
	var_map(lent, import, &map);
	mlx5dv_var_unimport(import);
	ASSERT_EQ(0, ibv_close_device(lent));
	ASSERT_EQ(0, variant->end(&self->peer));

	ASSERT_LEDGER(2, "uctx");
	ASSERT_PAGE_FREE(0, var.page_id);
	doorbell_store(map, DOORBELL_VAR, var.page_id);
	unmap(map, var.length);
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_LEDGER(1, "uctx");
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
