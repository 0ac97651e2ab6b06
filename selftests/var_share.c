// SPDX-License-Identifier: GPL-2.0
/*
 * A VAR shared by export and import: mlx5dv_var_export(), mlx5dv_var_import()
 * and mlx5dv_var_unimport(), in one process and in two.
 *
 * The library only copies numbers.  What is shared is the ufile behind the
 * command descriptor: the kernel knows one uobject, one mmap entry and any number
 * of mappings.  So each step looks at these, at the bit of the VAR's page in the
 * driver's bitmap, and at where a store through a mapping arrives.
 *
 * A free that fails is asserted by ioctl: mlx5dv_free_var() has no result.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/doorbell.h"
#include "common/kernel_counts.h"
#include "common/kernel_signs.h"
#include "common/known.h"
#include "common/no_syscall.h"
#include "common/var_ops.h"

FIXTURE(var_share)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
	uint8_t blob[VAR_BLOB_MAX];
};

FIXTURE_SETUP(var_share)
{
	if (!bed_make(_metadata, &self->bed, false) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(var_share)
{
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* Can the page of a VAR be allocated, as far as one who tries can tell? */
#define ASSERT_PAGE_FREE(yes, page_id) \
	ASSERT_EQ(yes, var_page_is_free(self->ctx->cmd_fd, 0, page_id))

/*
 * By the last snapshot the VAR is there, in a given ufile, with so many mappings:
 * the uobject is at rest, and its entry has one reference of the driver's and one
 * of each mapping.
 */
#define ASSERT_VAR(ufile, page_id, mappings) \
do { \
	const uint64_t __ufile = (ufile); \
	const uint32_t __page = (page_id); \
	const int __mappings = (mappings); \
	ASSERT_ONE(UOBJ, THEIRS(__ufile, "type=MLX5_VAR page_id=%u", __page), \
		   "ref=2 usecnt=0 state=live class=idr var_bit=1"); \
	ASSERT_ONE(MMAP, THEIRS(__ufile, "kind=VAR page_id=%u", __page), \
		   scope_kv("ref=%d vmas=%d dmabufs=0 driver_removed=0 var_bit=1", \
			    1 + __mappings, __mappings)); \
	ASSERT_ENTRY_OF(THEIRS(__ufile, "kind=VAR page_id=%u", __page), \
			UOBJ, THEIRS(__ufile, "type=MLX5_VAR page_id=%u", __page)); \
} while (0)

/* It was freed, and so many mappings keep its page. */
#define ASSERT_VAR_IS_MAPPED_ONLY(ufile, page_id, mappings) \
do { \
	const uint64_t __ufile = (ufile); \
	const uint32_t __page = (page_id); \
	const int __mappings = (mappings); \
	ASSERT_NONE(UOBJ, THEIRS(__ufile, "type=MLX5_VAR page_id=%u", __page)); \
	ASSERT_ONE(MMAP, THEIRS(__ufile, "kind=VAR page_id=%u", __page), \
		   scope_kv("ref=%d vmas=%d dmabufs=0 driver_removed=1 var_bit=1", \
			    __mappings, __mappings)); \
} while (0)

/* Nothing is left of it. */
#define ASSERT_NO_VAR(ufile, page_id) \
do { \
	const uint64_t __ufile = (ufile); \
	const uint32_t __page = (page_id); \
	ASSERT_NONE(UOBJ, THEIRS(__ufile, "type=MLX5_VAR page_id=%u", __page)); \
	ASSERT_NONE(MMAP, THEIRS(__ufile, "kind=VAR page_id=%u", __page)); \
} while (0)

/* Handle of a VAR, which the library does not tell. */
#define HANDLE_OF(page_id) \
	VALUE(UOBJ, OURS("type=MLX5_VAR page_id=%u", page_id), "handle")

/* Both are the same VAR, wherever they are. */
#define ASSERT_SAME_VAR(a, b) \
do { \
	const __auto_type __a = (a); \
	const __auto_type __b = (b); \
	ASSERT_EQ(__a->page_id, __b->page_id); \
	ASSERT_EQ(__a->length, __b->length); \
	ASSERT_EQ((uint64_t)__a->mmap_off, (uint64_t)__b->mmap_off); \
} while (0)

/* What a function that is given only to a child needs. */
struct copy {
	struct ibv_context *ctx;
	struct mlx5dv_var *var;
	void *blob;
};

/* Run a function in a child: 0 if it returned 0, the signal that ended it, or -1. */
static int in_child(int (*fn)(struct copy *copy), struct copy *copy)
{
	const struct rlimit no_core = {};
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		_exit(fn(copy));
	}
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) ? -1 : 0;
}

static int export_only(struct copy *copy)
{
	return mlx5dv_var_export(copy->var, copy->blob);
}

static int import_only(struct copy *copy)
{
	return !mlx5dv_var_import(copy->ctx, copy->blob);
}

/*
 * IMP-11, S2, S3, C1: The library tells how many bytes an export writes, and writes
 * no more: the buffer ends where a page begins that nobody may touch.  An import
 * reads no more than that either.  A buffer that is one byte shorter is overrun by
 * both, as neither is told its length.
 */
TEST_F(var_share, imp_11_export_stays_in_its_buffer)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	struct mlx5dv_export_sizes sizes = {};
	struct mlx5dv_var *var, *import;
	uint8_t *pages, *buf;
	struct copy copy;
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

	copy = (struct copy){ .ctx = self->ctx, .var = var, .blob = buf };
	ASSERT_EQ(0, in_child(export_only, &copy));
	ASSERT_EQ(0, in_child(import_only, &copy));
	copy.blob = buf + 1;
	ASSERT_EQ(SIGSEGV, in_child(export_only, &copy));
	ASSERT_EQ(SIGSEGV, in_child(import_only, &copy));

	LOOK();
	ASSERT_VAR(self->counts.ufile, var->page_id, 0);
	mlx5dv_free_var(var);
	ASSERT_EQ(0, munmap(pages, 2 * page_size));
}

/*
 * S4, C2: There is no errno that an export could return: what is no buffer is a
 * fault of the process.
 */
TEST_F(var_share, s4_export_to_nowhere)
{
	struct copy copy = { .ctx = self->ctx };

	var_alloc(self->ctx, 0, &copy.var);
	ASSERT_EQ(SIGSEGV, in_child(export_only, &copy));
	ASSERT_EQ(0, mlx5dv_var_export(copy.var, self->blob));
	LOOK();
	ASSERT_VAR(self->counts.ufile, copy.var->page_id, 0);
	mlx5dv_free_var(copy.var);
}

/* Use up all memory that malloc() has or could get, then import. */
static int import_without_memory(struct copy *copy)
{
	const struct rlimit nothing = {};
	static void *got;
	size_t size;

	if (import_only(copy) || setrlimit(RLIMIT_AS, &nothing))
		return 1;
	for (size = 16; size <= 4096; size += 16)
		do {
			/* What nobody could look at the compiler would not allocate. */
			__atomic_store_n(&got, malloc(size), __ATOMIC_RELAXED);
		} while (__atomic_load_n(&got, __ATOMIC_RELAXED));
	errno = 0;
	return mlx5dv_var_import(copy->ctx, copy->blob) || errno != ENOMEM;
}

/* S6, C4: An import fails for lack of memory, with ENOMEM, and for nothing else. */
TEST_F(var_share, s6_import_without_memory)
{
	struct copy copy = { .ctx = self->ctx, .blob = self->blob };

	var_alloc(self->ctx, 0, &copy.var);
	var_export(copy.var, self->blob);
	ASSERT_EQ(0, in_child(import_without_memory, &copy));
	mlx5dv_free_var(copy.var);
}

/*
 * IMP-01, S4: An export is a copy and nothing else: it can be repeated, also of a
 * VAR that was freed, says the same each time, and neither kernel nor device learn
 * of it.
 */
TEST_F(var_share, imp_01_export_changes_nothing)
{
	int64_t seq = vhca_seq(&self->bed.dev);
	uint8_t again[VAR_BLOB_MAX] = {};
	struct mlx5dv_var *var, *import;
	uint32_t page_id;
	int i;

	ASSERT_LE(0, seq);
	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	LOOK();
	ASSERT_VAR(self->counts.ufile, page_id, 0);
	ASSERT_DEVICE(1, "var_used");
	var_export(var, self->blob);
	for (i = 0; i < 100; i++) {
		var_export(var, again);
		ASSERT_EQ(0, memcmp(self->blob, again, sizeof(again)));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_PAGE_FREE(0, page_id);

	var_import(self->ctx, self->blob, &import);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_NO_VAR(self->counts.ufile, page_id);
	memset(again, 0, sizeof(again));
	var_export(import, again);
	ASSERT_EQ(0, memcmp(self->blob, again, sizeof(again)));
	mlx5dv_var_unimport(import);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, page_id);
	ASSERT_EQ(0, vhca_other_since(&self->bed.dev, seq));
}

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
 * IMP-01, C3, C8, S8: Export, import and unimport do not enter the kernel.  The
 * control is a call that does, and is caught.
 */
TEST_F(var_share, imp_01_no_system_call)
{
	struct copy copy = { .ctx = self->ctx, .blob = self->blob };

	var_alloc(self->ctx, 0, &copy.var);
	LOOK();
	no_syscall(export_import_unimport, &copy);
	no_syscall_err(EPERM, free_nothing, &copy);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_VAR(self->counts.ufile, copy.var->page_id, 0);
	mlx5dv_free_var(copy.var);
}

/*
 * IMP-02, S5, S7, S8, C3: Imports in the same process are the same VAR: one handle,
 * one entry, and one reference for each mapping, whoever it was made through.  What
 * is stored through one mapping is read through the other and arrives on the one
 * page.  An unimport takes no mapping away.
 */
TEST_F(var_share, imp_02_same_process)
{
	struct mlx5dv_var *var, *import, *second;
	uint32_t *map, *import_map, *second_map;
	uint32_t page_id, word;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_export(var, self->blob);
	var_import(self->ctx, self->blob, &import);
	var_import(self->ctx, self->blob, &second);
	ASSERT_NE(import, second);
	ASSERT_SAME_VAR(var, import);
	ASSERT_SAME_VAR(var, second);

	var_map(self->ctx, var, &map);
	var_map(self->ctx, import, &import_map);
	var_map(self->ctx, second, &second_map);
	ASSERT_NE(map, import_map);
	LOOK();
	ASSERT_COUNT(1, UOBJ, OURS("type=MLX5_VAR"));
	ASSERT_VAR(self->counts.ufile, page_id, 3);
	ASSERT_DEVICE(1, "var_used");
	doorbell_store(map, DOORBELL_VAR, page_id);
	doorbell_store(import_map, DOORBELL_VAR, page_id);
	doorbell_store(second_map, DOORBELL_VAR, page_id);
	word = ~__atomic_load_n(&import_map[1], __ATOMIC_RELAXED);
	__atomic_store_n(&map[1], word, __ATOMIC_RELAXED);
	ASSERT_EQ(word, __atomic_load_n(&import_map[1], __ATOMIC_RELAXED));

	/* A mapping that came from an import is none of the import's business. */
	mlx5dv_var_unimport(import);
	mlx5dv_var_unimport(second);
	LOOK();
	ASSERT_UNCHANGED();
	doorbell_store(import_map, DOORBELL_VAR, page_id);
	unmap(second_map, length);
	LOOK();
	ASSERT_VAR(self->counts.ufile, page_id, 2);

	unmap(map, length);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_VAR_IS_MAPPED_ONLY(self->counts.ufile, page_id, 1);
	ASSERT_PAGE_FREE(0, page_id);
	unmap(import_map, length);
	LOOK();
	ASSERT_NO_VAR(self->counts.ufile, page_id);
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * S5, S7, C5, C16: The context can be one that was imported in the same process.
 * Both are one ufile, so the VAR is mapped and freed through either.  Closing the
 * imported context closes the descriptor that it was made of.
 */
TEST_F(var_share, s7_imported_context)
{
	struct mlx5dv_var *var, *import;
	struct ibv_context *same;
	uint32_t *map, page_id;
	int64_t clock_pages;
	size_t length;
	int fd;

	LOOK();
	clock_pages = scope_unexplained(&self->counts.scope,
					scope_kv("ufile:%lu", self->counts.ufile));
	fd = fcntl(self->ctx->cmd_fd, F_DUPFD_CLOEXEC, 0);
	ASSERT_LE(0, fd);
	same = ibv_import_device(fd);
	ASSERT_NE(NULL, same);
	ASSERT_EQ(fd, same->cmd_fd);
	LOOK();
	ASSERT_DEVICE(1, "ufiles");
	ASSERT_EQ(self->counts.ufile, scope_ufile(&self->counts.scope, getpid(), same->cmd_fd));
	/* The library asks for one async event file more. */
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3 state=live");
	/* Its mapping of the clock's page is no umap, so no record has it. */
	ASSERT_UNEXPLAINED(2 * clock_pages, scope_kv("ufile:%lu", self->counts.ufile));

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_export(var, self->blob);
	var_import(same, self->blob, &import);
	ASSERT_SAME_VAR(var, import);
	var_map(same, import, &map);
	LOOK();
	ASSERT_VAR(self->counts.ufile, page_id, 1);
	doorbell_store(map, DOORBELL_VAR, page_id);
	mlx5dv_free_var(import);
	LOOK();
	ASSERT_VAR_IS_MAPPED_ONLY(self->counts.ufile, page_id, 1);
	var_map_err(EINVAL, self->ctx, var);
	var_map_err(EINVAL, same, var);
	mlx5dv_var_unimport(var);

	ASSERT_EQ(0, ibv_close_device(same));
	ASSERT_EQ(-1, fcntl(fd, F_GETFD));
	ASSERT_EQ(EBADF, errno);
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2 state=live");
	ASSERT_VAR_IS_MAPPED_ONLY(self->counts.ufile, page_id, 1);
	doorbell_store(map, DOORBELL_VAR, page_id);
	unmap(map, length);
	LOOK();
	ASSERT_NO_VAR(self->counts.ufile, page_id);
}

/*
 * IMP-06, S9, S10: Who frees and who unimports, in all orders.  The kernel sees one
 * free, and the VAR goes exactly then.
 */
TEST_F(var_share, imp_06_free_and_unimport)
{
	struct mlx5dv_var *var, *import, *second;
	struct mlx5dv_var *frees, *unimports;
	uint32_t page_id;
	int order;

	for (order = 0; order < 4; order++) {
		var_alloc(self->ctx, 0, &var);
		page_id = var->page_id;
		var_export(var, self->blob);
		var_import(self->ctx, self->blob, &import);
		var_import(self->ctx, self->blob, &second);
		mlx5dv_var_unimport(second);
		LOOK();
		ASSERT_VAR(self->counts.ufile, page_id, 0);
		frees = order & 1 ? var : import;
		unimports = order & 1 ? import : var;
		if (order & 2) {
			mlx5dv_var_unimport(unimports);
			LOOK();
			ASSERT_UNCHANGED();
			mlx5dv_free_var(frees);
		} else {
			mlx5dv_free_var(frees);
			LOOK();
			ASSERT_NO_VAR(self->counts.ufile, page_id);
			mlx5dv_var_unimport(unimports);
		}
		LOOK();
		ASSERT_NO_VAR(self->counts.ufile, page_id);
		ASSERT_DEVICE(0, "var_used");
		ASSERT_PAGE_FREE(1, page_id);
	}
}

/*
 * IMP-06, S8, C6: If everybody unimports and nobody frees, the VAR stays in the
 * kernel until the context is closed, where no handle in any process names it.
 */
TEST_F(var_share, imp_06_unimport_of_the_original)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	struct mlx5dv_var *var, *import;
	uint32_t page_id;
	uint64_t ufile;

	ASSERT_NE(NULL, other);
	var_alloc(other, 0, &var);
	page_id = var->page_id;
	var_export(var, self->blob);
	var_import(other, self->blob, &import);
	mlx5dv_var_unimport(import);
	mlx5dv_var_unimport(var);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	ASSERT_VAR(ufile, page_id, 0);
	ASSERT_PAGE_FREE(0, page_id);
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, page_id);
}

/*
 * IMP-03, S1, S7, C5: Another process imports context and VAR.  The kernel makes no
 * second ufile and no second context for it: the file has one descriptor more, and
 * the ufile one async event file more.  Both processes reach the same page, and the
 * peer's unimport takes nothing away from its mapping.
 */
TEST_F(var_share, imp_03_other_process)
{
	struct peer_var import;
	struct mlx5dv_var *var;
	uint32_t *map, page_id;
	int64_t clock_pages;
	struct peer peer;
	uint64_t addr;
	size_t length;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_export(var, self->blob);
	var_map(self->ctx, var, &map);

	peer_start(&peer);
	LOOK();
	clock_pages = scope_unexplained(&self->counts.scope,
					scope_kv("ufile:%lu", self->counts.ufile));
	ASSERT_LEDGER(1, "uctx");
	peer_import(&peer, self->ctx);
	ASSERT_LEDGER(1, "uctx");
	LOOK();
	ASSERT_DEVICE(1, "ufiles");
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("ref=3 state=live pid=%d", getpid()));
	ASSERT_COUNT(1, FD, OURS("kind=uverbs pid=%d", getpid()));
	ASSERT_COUNT(1, FD, OURS("kind=uverbs pid=%d", peer.pid));
	ASSERT_COUNT(1, FD, OURS("kind=uobj type=ASYNC_EVENT pid=%d", peer.pid));
	/* All references to the file but those of the two clock pages. */
	ASSERT_UNEXPLAINED(2 * clock_pages, scope_kv("ufile:%lu", self->counts.ufile));

	peer_var_import(&peer, self->blob, &import);
	ASSERT_SAME_VAR(var, &import);
	LOOK();
	ASSERT_UNCHANGED();
	peer_var_map(&peer, &import, &addr);
	LOOK();
	ASSERT_VAR(self->counts.ufile, page_id, 2);
	ASSERT_ONE(VMA, OURS("start=%lu pid=%d", addr, peer.pid), "");
	ASSERT_ENTRY_OF(OURS("kind=VAR page_id=%u", page_id),
			VMA, OURS("start=%lu pid=%d", addr, peer.pid));
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);

	peer_var_unimport(&peer, &import);
	LOOK();
	ASSERT_UNCHANGED();
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, page_id);
	unmap(map, length);
	mlx5dv_free_var(var);
	LOOK();
	ASSERT_VAR_IS_MAPPED_ONLY(self->counts.ufile, page_id, 1);
	ASSERT_HELD_BY(1, VMA, scope_kv("ufile:%lu/mmap:%lu", self->counts.ufile,
					pgoff_of(import.mmap_off)));
	ASSERT_PAGE_FREE(0, page_id);
	peer_unmap(&peer, addr, length);
	LOOK();
	ASSERT_NO_VAR(self->counts.ufile, page_id);
	ASSERT_PAGE_FREE(1, page_id);
	peer_close(&peer);
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=2 state=live");
	ASSERT_NONE(FD, OURS("pid=%d", peer.pid));
	ASSERT_NONE(VMA, OURS("pid=%d", peer.pid));
	ASSERT_UNEXPLAINED(clock_pages, scope_kv("ufile:%lu", self->counts.ufile));
	peer_end(&peer);
}

/* Of a process's program: 32 or 64, or 0 if that cannot be read. */
static int word_size(pid_t pid)
{
	unsigned char ident[EI_NIDENT] = {};
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, ident, sizeof(ident));
	close(fd);
	if (n != sizeof(ident) || memcmp(ident, ELFMAG, SELFMAG))
		return 0;
	return ident[EI_CLASS] == ELFCLASS32 ? 32 : ident[EI_CLASS] == ELFCLASS64 ? 64 : 0;
}

/* Where the offset stands in what is exported of a VAR, behind three words of 32 bits. */
#define OFFSET_IN_BLOB		(4 * sizeof(uint32_t))
#define OFFSET_IN_BLOB_OF_32	(3 * sizeof(uint32_t))

/*
 * IMP-03, IMP-11: What one process exports a process of another word size imports.  The
 * library puts the offset where its compiler would (L39); put where the other one looks, it
 * leads to the same page.
 */
TEST_F(var_share, imp_11_other_word_size)
{
	struct peer_var import, theirs;
	uint8_t back[VAR_BLOB_MAX];
	struct known_issue issue;
	struct mlx5dv_var *var;
	struct peer peer;
	uint64_t addr;
	bool moved;

	if (!getenv("UOBJSCOPE_PEER"))
		SKIP(return, "UOBJSCOPE_PEER names no peer of 32 bits: see make test-32bit");
	if (!known_look_up(_metadata, &issue, "L39"))
		return;
	peer_start(&peer);
	ASSERT_EQ(64, word_size(getpid()));
	ASSERT_EQ(32, word_size(peer.pid));
	var_alloc(self->ctx, 0, &var);
	var_export(var, self->blob);
	peer_import(&peer, self->ctx);
	peer_var_import(&peer, self->blob, &import);
	ASSERT_EQ(var->page_id, import.page_id);
	ASSERT_EQ(var->length, import.length);
	moved = import.mmap_off != (uint64_t)var->mmap_off;
	if (moved) {
		peer_var_unimport(&peer, &import);
		memmove(self->blob + OFFSET_IN_BLOB_OF_32, self->blob + OFFSET_IN_BLOB,
			sizeof(uint64_t));
		peer_var_import(&peer, self->blob, &import);
	}
	ASSERT_SAME_VAR(var, &import);
	peer_var_map(&peer, &import, &addr);
	LOOK();
	ASSERT_VAR(self->counts.ufile, var->page_id, 1);
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, var->page_id);
	peer_unmap(&peer, addr, import.length);
	peer_var_unimport(&peer, &import);
	mlx5dv_free_var(var);

	peer_var_alloc(&peer, &theirs);
	peer_var_export(&peer, &theirs, back);
	if (moved)
		memmove(back + OFFSET_IN_BLOB, back + OFFSET_IN_BLOB_OF_32, sizeof(uint64_t));
	var_import(self->ctx, back, &var);
	ASSERT_SAME_VAR(var, &theirs);
	mlx5dv_var_unimport(var);
	peer_var_free(&peer, &theirs);
	LOOK();
	ASSERT_NO_VAR(self->counts.ufile, theirs.page_id);
	peer_close(&peer);
	peer_end(&peer);
	known_report(_metadata, &issue, moved);
}

/*
 * IMP-05, S1: The importer goes first, by exit or by SIGKILL.  Its mappings go with
 * it; what it allocated through the shared context belongs to the context, and stays
 * until that is freed or closed.
 */
TEST_F(var_share, imp_05_importer_goes_first)
{
	int (*const ends[])(struct peer *peer) = { _peer_end, _peer_kill };
	struct peer_var import, made_there;
	struct ibv_context *shared;
	struct mlx5dv_var *var;
	struct peer peer;
	uint32_t page_id;
	uint64_t addr, ufile;
	unsigned int i;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
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
		LOOK();
		ufile = scope_ufile(&self->counts.scope, getpid(), shared->cmd_fd);
		ASSERT_VAR(ufile, page_id, 1);
		ASSERT_VAR(ufile, made_there.page_id, 0);
		ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=3");
		ASSERT_EQ(0, ends[i](&peer));

		LOOK();
		ASSERT_VAR(ufile, page_id, 0);
		ASSERT_VAR(ufile, made_there.page_id, 0);
		ASSERT_NONE(FD, THEIRS(ufile, "pid=%d", peer.pid));
		ASSERT_NONE(VMA, THEIRS(ufile, "pid=%d", peer.pid));
		ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=2 state=live");
		ASSERT_DEVICE(2, "var_used");
		mlx5dv_free_var(var);
		LOOK();
		ASSERT_NO_VAR(ufile, page_id);
		ASSERT_VAR(ufile, made_there.page_id, 0);
		ASSERT_PAGE_FREE(1, page_id);
		ASSERT_PAGE_FREE(0, made_there.page_id);
		ASSERT_EQ(0, ibv_close_device(shared));
		LOOK();
		ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
		ASSERT_DEVICE(0, "var_used");
		ASSERT_PAGE_FREE(1, made_there.page_id);
	}
}

/*
 * IMP-06, S9, S10, C6, C8: Two processes: either frees and the other one unimports,
 * before or after it.
 */
TEST_F(var_share, imp_06_two_processes)
{
	struct peer_var import;
	struct mlx5dv_var *var;
	bool peer_frees;
	struct peer peer;
	uint32_t page_id;
	int order;

	peer_start(&peer);
	peer_import(&peer, self->ctx);
	for (order = 0; order < 4; order++) {
		peer_frees = order & 1;
		var_alloc(self->ctx, 0, &var);
		page_id = var->page_id;
		var_export(var, self->blob);
		peer_var_import(&peer, self->blob, &import);
		LOOK();
		ASSERT_VAR(self->counts.ufile, page_id, 0);
		if (order & 2) {
			if (peer_frees)
				mlx5dv_var_unimport(var);
			else
				peer_var_unimport(&peer, &import);
			LOOK();
			ASSERT_UNCHANGED();
		}
		if (!peer_frees)
			mlx5dv_free_var(var);
		else
			peer_var_free(&peer, &import);
		LOOK();
		ASSERT_NO_VAR(self->counts.ufile, page_id);
		ASSERT_DEVICE(0, "var_used");
		ASSERT_PAGE_FREE(1, page_id);
		LOOK();
		if (!(order & 2)) {
			if (peer_frees)
				mlx5dv_var_unimport(var);
			else
				peer_var_unimport(&peer, &import);
			LOOK();
			ASSERT_UNCHANGED();
		}
	}
	peer_end(&peer);
}

/*
 * IMP-07, S10, S11, C7, C9: The importer frees while the VAR is mapped here and
 * there.  The kernel object is gone at once, for both; both mappings go on working,
 * and the page is nobody else's until the last one goes.  There is no new mapping
 * and no export as a dma-buf; a second free fails, and unimport is what is left.
 */
TEST_F(var_share, imp_07_importer_frees)
{
	struct peer_var import;
	struct mlx5dv_var *var;
	uint32_t *map, page_id;
	struct peer peer;
	int64_t handle;
	size_t length;
	uint64_t addr;

	peer_start(&peer);
	peer_import(&peer, self->ctx);
	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_export(var, self->blob);
	var_map(self->ctx, var, &map);
	peer_var_import(&peer, self->blob, &import);
	peer_var_map(&peer, &import, &addr);
	LOOK();
	ASSERT_VAR(self->counts.ufile, page_id, 2);
	handle = HANDLE_OF(page_id);
	ASSERT_LE(0, handle);
	peer_var_free(&peer, &import);
	LOOK();
	ASSERT_VAR_IS_MAPPED_ONLY(self->counts.ufile, page_id, 2);
	ASSERT_DEVICE(1, "var_used");

	var_map_err(EINVAL, self->ctx, var);
	raw_dmabuf_export_err(EINVAL, self->ctx->cmd_fd, var->mmap_off);
	peer_raw_export_err(EINVAL, &peer, import.mmap_off);
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, handle);
	peer_raw_var_free_err(ENOENT, &peer, handle);
	peer_var_import(&peer, self->blob, &import);
	peer_var_map_err(EINVAL, &peer, &import);
	peer_var_unimport(&peer, &import);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_store(map, DOORBELL_VAR, page_id);
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, page_id);

	unmap(map, length);
	LOOK();
	ASSERT_VAR_IS_MAPPED_ONLY(self->counts.ufile, page_id, 1);
	ASSERT_PAGE_FREE(0, page_id);
	doorbell_peer_store(&peer, addr, DOORBELL_VAR, page_id);
	peer_unmap(&peer, addr, length);
	LOOK();
	ASSERT_NO_VAR(self->counts.ufile, page_id);
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, page_id);
	mlx5dv_var_unimport(var);
	LOOK();
	ASSERT_NO_VAR(self->counts.ufile, page_id);
	peer_end(&peer);
}

/*
 * IMP-08, S11, C9: Handles are reused, and nothing in an import says which VAR was
 * meant.  The VAR is freed here and another one gets its handle: the importer then
 * frees that one.  If it is mapped, its page stays until it is unmapped, as for any
 * other free.  "Applications must coordinate", as the page says; this is what
 * happens to those that do not.
 */
TEST_F(var_share, imp_08_stale_import_frees_the_successor)
{
	struct peer_var import;
	struct mlx5dv_var *var;
	uint32_t *map, page_id;
	struct peer peer;
	int64_t handle;
	size_t length;
	int mapped;

	peer_start(&peer);
	peer_import(&peer, self->ctx);
	for (mapped = 0; mapped < 2; mapped++) {
		var_alloc(self->ctx, 0, &var);
		var_export(var, self->blob);
		LOOK();
		handle = HANDLE_OF(var->page_id);
		peer_var_import(&peer, self->blob, &import);
		mlx5dv_free_var(var);
		/* Nobody has the handle: a free would find nothing. */
		raw_var_free_err(ENOENT, self->ctx->cmd_fd, handle);
		peer_raw_var_free_err(ENOENT, &peer, handle);

		var_alloc(self->ctx, 0, &var);
		page_id = var->page_id;
		length = var->length;
		ASSERT_SAME_VAR(var, &import);
		if (mapped)
			var_map(self->ctx, var, &map);
		LOOK();
		ASSERT_EQ(handle, HANDLE_OF(page_id));
		ASSERT_VAR(self->counts.ufile, page_id, mapped);
		peer_var_free(&peer, &import);
		LOOK();
		if (mapped)
			ASSERT_VAR_IS_MAPPED_ONLY(self->counts.ufile, page_id, 1);
		else
			ASSERT_NO_VAR(self->counts.ufile, page_id);
		ASSERT_DEVICE(mapped, "var_used");
		ASSERT_PAGE_FREE(!mapped, page_id);
		var_map_err(EINVAL, self->ctx, var);
		mlx5dv_var_unimport(var);
		if (!mapped)
			continue;
		doorbell_store(map, DOORBELL_VAR, page_id);
		unmap(map, length);
		LOOK();
		ASSERT_NO_VAR(self->counts.ufile, page_id);
	}
	peer_end(&peer);
}

/*
 * IMP-08, IMP-10, UOBJ-04: What got the handle of the freed VAR is of another type.
 * Freeing the import then fails with EINVAL, and that object is not touched.
 */
TEST_F(var_share, imp_08_successor_of_another_type)
{
	struct mlx5dv_var *var, *import;
	struct ibv_pd *pd;
	int64_t handle;

	var_alloc(self->ctx, 0, &var);
	var_export(var, self->blob);
	var_import(self->ctx, self->blob, &import);
	LOOK();
	handle = HANDLE_OF(var->page_id);
	mlx5dv_free_var(var);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	ASSERT_EQ(handle, (int64_t)pd->handle);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=PD handle=%ld", handle), "ref=2 usecnt=0 state=live");
	ASSERT_LEDGER(1, "pd");

	raw_var_free_err(EINVAL, self->ctx->cmd_fd, handle);
	mlx5dv_free_var(import);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_LEDGER(1, "pd");
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/*
 * IMP-09, S7, C5: Import into a context that shares nothing with the exporter's.  The
 * import succeeds, being a copy.  There is nothing to map and nothing to free there.
 */
TEST_F(var_share, imp_09_unrelated_context)
{
	struct mlx5dv_var *var, *import;
	struct ibv_context *other;
	uint32_t *map, page_id;
	uint64_t ufile;
	size_t length;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	length = var->length;
	var_map(self->ctx, var, &map);
	var_export(var, self->blob);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	ASSERT_NE(self->counts.ufile, ufile);
	ASSERT_DEVICE(2, "ufiles");
	ASSERT_VAR(self->counts.ufile, page_id, 1);
	ASSERT_NO_VAR(ufile, page_id);

	var_import(other, self->blob, &import);
	ASSERT_SAME_VAR(var, import);
	var_map_err(EINVAL, other, import);
	raw_dmabuf_export_err(EINVAL, other->cmd_fd, import->mmap_off);
	raw_var_free_err(ENOENT, other->cmd_fd, HANDLE_OF(page_id));
	mlx5dv_free_var(import);
	LOOK();
	ASSERT_UNCHANGED();
	doorbell_store(map, DOORBELL_VAR, page_id);

	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_VAR(self->counts.ufile, page_id, 1);
	unmap(map, length);
	mlx5dv_free_var(var);
}

/*
 * IMP-09, C5: The unrelated context has a VAR of its own with the same handle and
 * the same offset.  The import is then a name of that one: what is mapped is its
 * page, and what is freed is it.  The exporter's VAR is not touched.
 */
TEST_F(var_share, imp_09_unrelated_context_with_its_own)
{
	struct mlx5dv_var *var, *own, *import;
	uint32_t *map, page_id, own_page;
	struct ibv_context *other;
	uint64_t ufile;
	size_t length;

	if (bed_lacks_vars(_metadata, &self->bed, 2))
		return;
	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_alloc(other, 0, &own);
	own_page = own->page_id;
	length = own->length;
	ASSERT_NE(page_id, own_page);
	var_export(var, self->blob);
	var_import(other, self->blob, &import);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	ASSERT_ONE(UOBJ, THEIRS(ufile, "type=MLX5_VAR page_id=%u", own_page),
		   scope_kv("handle=%ld", HANDLE_OF(page_id)));
	ASSERT_EQ(own->mmap_off, import->mmap_off);
	ASSERT_EQ(page_id, import->page_id);

	var_map(other, import, &map);
	LOOK();
	ASSERT_VAR(ufile, own_page, 1);
	ASSERT_VAR(self->counts.ufile, page_id, 0);
	doorbell_store(map, DOORBELL_VAR, own_page);
	mlx5dv_free_var(import);
	LOOK();
	ASSERT_VAR_IS_MAPPED_ONLY(ufile, own_page, 1);
	ASSERT_VAR(self->counts.ufile, page_id, 0);
	ASSERT_DEVICE(2, "var_used");
	unmap(map, length);
	LOOK();
	ASSERT_NO_VAR(ufile, own_page);
	ASSERT_VAR(self->counts.ufile, page_id, 0);
	ASSERT_DEVICE(1, "var_used");
	mlx5dv_var_unimport(own);
	mlx5dv_free_var(var);
	ASSERT_EQ(0, ibv_close_device(other));
}

/* IMP-10, S5, C9: An import after the free: it succeeds, and names nothing. */
TEST_F(var_share, imp_10_stale)
{
	struct mlx5dv_var *var, *import;
	int64_t handle;

	var_alloc(self->ctx, 0, &var);
	var_export(var, self->blob);
	LOOK();
	handle = HANDLE_OF(var->page_id);
	mlx5dv_free_var(var);
	LOOK();
	var_import(self->ctx, self->blob, &import);
	var_map_err(EINVAL, self->ctx, import);
	raw_dmabuf_export_err(EINVAL, self->ctx->cmd_fd, import->mmap_off);
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, handle);
	raw_var_free_err(ENOENT, self->ctx->cmd_fd, UINT32_MAX);
	mlx5dv_free_var(import);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DEVICE(0, "var_used");
}

#define BLOBS	100000

static void fill(uint8_t *bytes, size_t count)
{
	while (count--)
		*bytes++ = random() >> 8;
}

/* Garbage, a stale export, or one with some bits that are not its own. */
static void make_blob(uint8_t *blob, size_t size, const uint8_t *stale)
{
	size_t i;

	switch (random() % 4) {
	case 0:
		fill(blob, size);
		break;
	case 1:
		memcpy(blob, stale, size);
		break;
	case 2:
		memcpy(blob, stale, size);
		for (i = 1 + random() % 4; i--;)
			blob[random() % size] ^= 1 << random() % 8;
		break;
	case 3:
		/* Small numbers, so that handles and offsets of something are among them. */
		memset(blob, 0, size);
		for (i = 0; i < size; i += 4)
			blob[i] = random() % 32;
		/* Bits of the offset that tell mmap entries apart by their type. */
		blob[size - 6] = (8 + random() % 8) << 4;
		break;
	}
}

/*
 * Map what an import says, as it is or of one page.  0 if that was refused, 1 if
 * the kernel has something there, and -1 with errno set if that cannot be unmapped.
 */
static int try_map(struct ibv_context *ctx, const struct mlx5dv_var *import, bool whole)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	const size_t length = whole ? import->length : page_size;
	const off_t off = whole ? import->mmap_off : import->mmap_off & -(off_t)page_size;
	void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, ctx->cmd_fd, off);

	if (map == MAP_FAILED)
		return 0;
	return munmap(map, length) ? -1 : 1;
}

/* Offsets that are those of no mmap entries, but commands: UARs, the clock. */
static bool is_command(off_t off)
{
	return (off >> 20 & 0xff) < 8;
}

/* The driver looks at 24 bits of the page number. */
#define OFFSET_BITS	((1UL << 36) - 1)

/*
 * IMP-10: 100,000 imports of garbage and of stale exports are mapped and freed.  Any
 * bytes can be imported; the kernel maps only what it has at that offset, frees
 * nothing, complains of nothing, and has in the end what it had at the beginning.
 *
 * The context has no VAR: only what the library itself made in it could be hit.
 */
TEST_F_TIMEOUT(var_share, imp_10_garbage, 120)
{
	const char *seed = getenv("SEED");
	const int blobs = BLOBS / bed_slowness();
	struct mlx5dv_export_sizes sizes;
	uint8_t stale[VAR_BLOB_MAX] = {};
	int64_t cmds = vhca_seq(&self->bed.dev);
	struct mlx5dv_var *var, *import;
	struct raw_var second;
	unsigned int number;
	int i, whole, got, commands = 0, mapped = 0;
	off_t off;

	number = seed ? strtoul(seed, NULL, 0) : (unsigned int)time(NULL);
	TH_LOG("SEED=%u", number);
	srandom(number);
	mlx5dv_get_export_sizes(&sizes);
	/* Stale, and with an offset and a handle that nobody else has either. */
	raw_var_alloc(self->ctx->cmd_fd, 0, &second);
	var_alloc(self->ctx, 0, &var);
	var_export(var, stale);
	mlx5dv_free_var(var);
	raw_var_free(self->ctx->cmd_fd, second.handle);
	LOOK();
	for (i = 0; i < blobs; i++) {
		make_blob(self->blob, sizes.var_attrs_size, stale);
		var_import(self->ctx, self->blob, &import);
		off = import->mmap_off;
		/* Each unknown UAR is a line in the log, so some must be enough. */
		commands += is_command(off);
		for (whole = 0; whole < 2 && !(is_command(off) && commands > 50); whole++) {
			got = try_map(self->ctx, import, whole);
			ASSERT_LE(0, got);
			mapped += got;
			if (got && !is_command(off))
				ASSERT_COUNT(1, MMAP, OURS("pgoff=%lu",
							   pgoff_of(off & OFFSET_BITS)));
		}
		mlx5dv_free_var(import);
	}
	LOOK();
	ASSERT_UNCHANGED();
	TH_LOG("%d mappings of what the library has there", mapped);
	for (i = 0; i < blobs / 10; i++) {
		got = _raw_var_free(self->ctx->cmd_fd, random() % (i & 1 ? 64 : RAND_MAX));
		ASSERT_TRUE(got == ENOENT || got == EINVAL)
			TH_LOG("freeing a random handle: %s", strerror(got));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DEVICE(0, "var_used");
	ASSERT_EQ(0, vhca_other_since(&self->bed.dev, cmds));
}

/*
 * IMP-12, C16: What is no uverbs device is refused by the library alone, and the
 * descriptor stays the caller's.
 */
TEST_F(var_share, imp_12_descriptor_stays_open)
{
	struct {
		const char *what;
		int fd;
		int err;
	} cases[] = {
		{ "/dev/null", open("/dev/null", O_RDWR | O_CLOEXEC), ENODEV },
		{ "a regular file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), EINVAL },
		{ "a socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_LE(0, cases[i].fd);
		errno = 0;
		ASSERT_EQ(NULL, ibv_import_device(cases[i].fd));
		ASSERT_EQ(cases[i].err, errno)
			TH_LOG("%s", cases[i].what);
		ASSERT_LE(0, fcntl(cases[i].fd, F_GETFD));
		ASSERT_EQ(0, close(cases[i].fd));
	}
	errno = 0;
	ASSERT_EQ(NULL, ibv_import_device(-1));
	ASSERT_EQ(EINVAL, errno);
}

/*
 * IMP-12, C16: A uverbs file that has no context gets as far as the provider, which
 * closes the descriptor on failure.  (That the two differ is L14.)  The ufile goes
 * with it.
 */
TEST_F(var_share, imp_12_descriptor_is_closed)
{
	uint64_t ufile;
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", self->ctx->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), fd);
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=1 state=nocontext");
	errno = 0;
	ASSERT_EQ(NULL, ibv_import_device(fd));
	ASSERT_EQ(EINVAL, errno);
	ASSERT_EQ(-1, fcntl(fd, F_GETFD));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_DEVICE(1, "ufiles");
}

/*
 * IMP-15: A dma-buf that the importer makes of the VAR belongs to the ufile: it adds
 * one reference to the one entry, and the free in this process revokes it.
 */
TEST_F(var_share, imp_15_dmabuf_of_the_importer)
{
	struct mlx5dv_var *var;
	struct peer_var import;
	struct peer peer;
	uint32_t page_id;
	int there;

	var_alloc(self->ctx, 0, &var);
	page_id = var->page_id;
	var_export(var, self->blob);
	peer_start(&peer);
	peer_import(&peer, self->ctx);
	peer_var_import(&peer, self->blob, &import);
	peer_raw_export(&peer, import.mmap_off, &there);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 usecnt=0 file_ref=1 kref=1 revoked=0");
	ASSERT_ONE(FD, OURS("kind=dmabuf"), scope_kv("pid=%d fd=%d", peer.pid, there));
	ASSERT_ONE(MMAP, OURS("kind=VAR page_id=%u", page_id),
		   "ref=2 vmas=0 dmabufs=1 driver_removed=0");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=4");

	mlx5dv_free_var(var);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "ref=2 file_ref=1 kref=0 revoked=1");
	ASSERT_ONE(MMAP, OURS("kind=VAR page_id=%u", page_id),
		   "ref=1 vmas=0 dmabufs=0 driver_removed=1 var_bit=1");
	ASSERT_PAGE_FREE(0, page_id);
	peer_close_fd(&peer, there);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DMABUF"));
	ASSERT_NO_VAR(self->counts.ufile, page_id);
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3");
	ASSERT_PAGE_FREE(1, page_id);
	peer_end(&peer);
}

/*
 * The exporter is the peer here, so that it can go first.
 */
FIXTURE(exporter)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
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
	if (!bed_make(_metadata, &self->bed, false) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	peer_start(&self->peer);
	peer_open(&self->peer, self->bed.dev.name);
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(exporter)
{
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/*
 * IMP-04, S1: The exporter is gone while the importer holds the context: nothing was
 * destroyed.  The VAR can be mapped, exported as a dma-buf and freed, and closing the
 * context is what destroys the rest.
 */
TEST_F(exporter, imp_04_goes_first)
{
	struct peer_var var, second;
	struct mlx5dv_var *import;
	struct ibv_context *lent;
	uint64_t addr, ufile;
	uint32_t *map;
	int fd;

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
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), lent->cmd_fd);
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), scope_kv("ref=3 pid=%d", self->peer.pid));
	ASSERT_VAR(ufile, var.page_id, 1);
	ASSERT_VAR(ufile, second.page_id, 0);
	ASSERT_EQ(0, variant->end(&self->peer));

	/* Its async event file had a reference to the ufile, too. */
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=2 state=live file_open=1 listed=1");
	ASSERT_NONE(FD, THEIRS(ufile, "pid=%d", self->peer.pid));
	ASSERT_VAR(ufile, var.page_id, 0);
	ASSERT_VAR(ufile, second.page_id, 0);
	ASSERT_DEVICE(2, "var_used");
	ASSERT_LEDGER(2, "uctx");
	ASSERT_PAGE_FREE(0, var.page_id);

	var_map(lent, import, &map);
	raw_dmabuf_export(lent->cmd_fd, import->mmap_off, &fd);
	LOOK();
	ASSERT_ONE(MMAP, THEIRS(ufile, "kind=VAR page_id=%u", var.page_id),
		   "ref=3 vmas=1 dmabufs=1 driver_removed=0");
	ASSERT_EQ(0, close(fd));
	LOOK();
	ASSERT_VAR(ufile, var.page_id, 1);
	doorbell_store(map, DOORBELL_VAR, var.page_id);
	unmap(map, var.length);
	mlx5dv_free_var(import);
	LOOK();
	ASSERT_NO_VAR(ufile, var.page_id);
	ASSERT_VAR(ufile, second.page_id, 0);
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_PAGE_FREE(0, second.page_id);

	ASSERT_EQ(0, ibv_close_device(lent));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, second.page_id);
	ASSERT_LEDGER(1, "uctx");
}

/*
 * IMP-04, VAR-13, C6: The importer has unimported and closed, too, but still has a
 * mapping: it alone keeps the page, the VAR, and everything else of the context.
 */
TEST_F(exporter, imp_04_only_a_mapping_is_left)
{
	struct mlx5dv_var *import;
	struct ibv_context *lent;
	struct peer_var var;
	uint64_t ufile;
	uint32_t *map;

	peer_var_alloc(&self->peer, &var);
	peer_var_export(&self->peer, &var, self->blob);
	peer_lend(&self->peer, &lent);
	var_import(lent, self->blob, &import);
	var_map(lent, import, &map);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), lent->cmd_fd);
	mlx5dv_var_unimport(import);
	ASSERT_EQ(0, ibv_close_device(lent));
	ASSERT_EQ(0, variant->end(&self->peer));

	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=1 state=live file_open=1 umaps=1");
	ASSERT_NONE(FD, THEIRS(ufile, ""));
	ASSERT_ONE(VMA, THEIRS(ufile, ""), scope_kv("pid=%d start=%lu", getpid(), (uintptr_t)map));
	ASSERT_VAR(ufile, var.page_id, 1);
	ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu", ufile));
	ASSERT_LEDGER(2, "uctx");
	ASSERT_PAGE_FREE(0, var.page_id);
	doorbell_store(map, DOORBELL_VAR, var.page_id);

	unmap(map, var.length);
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_PAGE_FREE(1, var.page_id);
	ASSERT_LEDGER(1, "uctx");
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
