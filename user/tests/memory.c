// SPDX-License-Identifier: GPL-2.0
/*
 * Let every allocation fail once.  Each call of the library must then fail as a
 * whole and say that there is no memory; the leak checker sees to the rest.
 *
 * memory SAMPLE FDS OTHER
 *
 * Linked with --wrap for malloc, calloc and realloc.
 */
#include <uobjscope.h>

#include "test.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

/* Allocations until one fails; negative: none fails. */
static long fuse = -1;

static bool burnt(void)
{
	return fuse >= 0 && fuse-- == 0;
}

void *__wrap_malloc(size_t size)
{
	return burnt() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return burnt() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return burnt() ? NULL : __real_realloc(memory, size);
}

static const char *sample, *fds;

/* One call that is to fail; returns whether it went through. */
static bool run_load(struct uobjscope_error *error)
{
	struct uobjscope *scope = uobjscope_load_file(sample, UOBJSCOPE_SNAPSHOT, error);

	uobjscope_free(scope);
	return scope;
}

static struct uobjscope *scope, *other;

static bool run_add_fds(struct uobjscope_error *error)
{
	size_t before = uobjscope_count(scope, UOBJSCOPE_UOBJ);
	bool ok = !uobjscope_add_fds(scope, fds, error);

	/* Where it fails, the snapshot is as it was and can still be used. */
	EXPECT(uobjscope_count(scope, UOBJSCOPE_UOBJ) == before && uobjscope_dmabuf(scope, 3));
	EXPECT(ok == (uobjscope_count(scope, UOBJSCOPE_FD) != 0));
	return ok;
}

static bool run_select(struct uobjscope_error *error)
{
	bool ok = !uobjscope_select_device(scope, "mlx5_0", error);

	EXPECT(uobjscope_dmabuf(scope, 3) && uobjscope_count(scope, UOBJSCOPE_UFILE) == 2);
	return ok;
}

static bool run_diff(struct uobjscope_error *error)
{
	struct uobjscope_diff *diff = uobjscope_diff(scope, other, error);

	uobjscope_diff_free(diff);
	return diff;
}

static bool run_holders(struct uobjscope_error *error)
{
	struct uobjscope_holders *holders = uobjscope_holders(scope, "pid:155", error);

	uobjscope_holders_free(holders);
	return holders;
}

static void test_all(const char *name, bool (*run)(struct uobjscope_error *error))
{
	long n;

	for (n = 0; n < 10000 && !*test_why; n++) {
		struct uobjscope_error error = { 0 };
		bool ok;

		fuse = n;
		ok = run(&error);
		if (fuse >= 0) {
			/* Not a single one failed: all have had their turn. */
			EXPECT(ok, "%s", error.message);
			break;
		}
		EXPECT(!ok, "allocation %ld failed and nobody noticed", n);
		EXPECT(error.status == UOBJSCOPE_ERR_NOMEM, "%ld: %s", n, error.message);
	}
	fuse = -1;
	EXPECT(n > 1 && n < 10000, "%ld allocations", n);
	test_end(name);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	sample = argv[1];
	fds = argv[2];
	scope = uobjscope_load_file(sample, UOBJSCOPE_SNAPSHOT, NULL);
	other = uobjscope_load_file(argv[3], UOBJSCOPE_SNAPSHOT, NULL);
	if (!scope || !other)
		return 2;
	test_all("memory.load", run_load);
	test_all("memory.add-fds", run_add_fds);
	test_all("memory.select-device", run_select);
	test_all("memory.diff", run_diff);
	test_all("memory.holders", run_holders);
	uobjscope_free(scope);
	uobjscope_free(other);
	return test_failures != 0;
}
