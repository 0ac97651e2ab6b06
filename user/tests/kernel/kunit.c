// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a suite on the host, and is what of the kernel its code asks for.
 */
#include <kunit/test.h>
#include <linux/uaccess.h>

struct host_memory {
	struct host_memory *next;
	char bytes[] __attribute__((aligned(16)));
};

int host_memory = -1;
char *host_user_end;

void *host_alloc(size_t count, size_t size, size_t align)
{
	void *memory;

	if (!host_memory)
		return NULL;
	if (host_memory > 0)
		host_memory--;
	memory = align ? aligned_alloc(align, count * size) : malloc(count * size);
	if (memory)
		memset(memory, 0xa5, count * size);
	return memory;
}

void *host_zalloc(size_t count, size_t size)
{
	void *memory = host_alloc(count, size, 0);

	return memory ? memset(memory, 0, count * size) : NULL;
}

unsigned long copy_to_user(void __user *to, const void *from, unsigned long n)
{
	unsigned long there = n;

	if (host_user_end)
		there = (char *)to >= host_user_end ? 0 : host_user_end - (char *)to;
	if (there > n)
		there = n;
	memcpy(to, from, there);
	return n - there;
}

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	/* So large and no larger, for the sanitizer to see what is beyond. */
	struct host_memory *memory = calloc(1, sizeof(*memory) + size);

	(void)gfp;
	if (!memory)
		return NULL;
	memory->next = test->memory;
	test->memory = memory;
	return memory->bytes;
}

void host_failed(struct kunit *test, const char *at, const char *what, const char *seen, bool end)
{
	test->failed = true;
	printf("# %s: %s: expected %s, seen %s\n", test->name, at, what, seen);
	if (end)
		longjmp(test->end, 1);
}

static bool run(const struct kunit_case *this)
{
	struct kunit test = { .name = this->name };
	struct host_memory *next;

	host_memory = -1;
	host_user_end = NULL;
	if (!setjmp(test.end))
		this->run_case(&test);
	for (; test.memory; test.memory = next) {
		next = test.memory->next;
		free(test.memory);
	}
	return !test.failed;
}

int main(void)
{
	const struct kunit_case *this;
	int failed = 0;

	/* A crash must not take the results before it. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (this = host_suite->test_cases; this->run_case; this++) {
		bool good = run(this);

		printf("%sok %s.%s\n", good ? "" : "not ", host_suite->name, this->name);
		failed += !good;
	}
	return failed ? 1 : 0;
}
