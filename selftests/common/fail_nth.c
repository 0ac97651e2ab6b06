// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail_nth.h"
#include "helper_module.h"
#include "text.h"

#define DEBUGFS		"/sys/kernel/debug/"
#define TRACEFS		"/sys/kernel/tracing/"
#define INSTANCE	TRACEFS "instances/fail_nth/"
#define MAKE_IT_FAIL	"/proc/self/make-it-fail"
#define NTH		"/proc/thread-self/fail-nth"

/* How far up the kernel looks for a function, its own limit. */
#define DEPTH		"32"
#define HEAP		(8 << 20)

static const char *const attributes[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

/* A setting and what it was before. */
struct setting {
	char path[96];
	char was[32];
};

/* In place of the kernel's own, selftests/modules/fail_allocation.c. */
#define MODULE		"fail_allocation"
#define PARAMETERS	"/sys/module/" MODULE "/parameters/"

/* The text of a function of the kernel. */
struct range {
	uint64_t start;
	uint64_t end;
};

/*
 * Of all processes of the program: a test may die, and its parent sets all back then.
 * kmemleak notes each allocation in memory of its own, for which it has a reserve.
 */
static struct {
	struct setting setting[64];
	unsigned int changed;
	bool counts;
	enum fail_nth_what what;
	bool worker;
	bool module;
	bool asked;
	struct range kmemleak;
} *kept;

static void __attribute__((constructor)) keep(void)
{
	kept = mmap(NULL, sizeof(*kept), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	if (kept == MAP_FAILED) {
		perror("mmap");
		_exit(1);
	}
}

/* The kernel has none of that; whether the module is there that does without. */
static bool have_module(void)
{
	if (!access(PARAMETERS "nth", W_OK) && !kept->module)
		helper_unload(MODULE);
	if (!kept->module)
		kept->module = !helper_load(MODULE, "");
	return kept->module;
}

const char *fail_nth_missing(enum fail_nth_what what)
{
	static char reason[160];
	char path[96];
	size_t i;

	if (access(NTH, R_OK | W_OK)) {
		if (what == FAIL_NTH_MEMORY && have_module())
			return NULL;
		snprintf(reason, sizeof(reason),
			 "no " NTH ": the kernel has no fault injection (make run KERNEL=debug)");
		return reason;
	}
	for (i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		snprintf(path, sizeof(path), DEBUGFS "%s/require-start", attributes[i]);
		if (!access(path, W_OK))
			continue;
		snprintf(reason, sizeof(reason),
			 "no %s: the kernel lacks such faults, or their stack filter", path);
		return reason;
	}
	return NULL;
}

/* Change a setting; what it was when it was changed first is kept. */
static int set(const char *attribute, const char *name, const char *value)
{
	struct setting *setting;
	char path[96], *text;
	unsigned int i;
	int err;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", attribute, name);
	for (i = 0; i < kept->changed && strcmp(kept->setting[i].path, path); i++)
		;
	setting = &kept->setting[i];
	if (i == kept->changed) {
		text = i < sizeof(kept->setting) / sizeof(*kept->setting) ? text_read(path) : NULL;
		if (!text) {
			diag("%s: not changed, as it cannot be read", path);
			return EIO;
		}
		snprintf(setting->path, sizeof(setting->path), "%s", path);
		snprintf(setting->was, sizeof(setting->was), "%.*s",
			 (int)strcspn(text, "\n"), text);
		free(text);
		kept->changed++;
	}
	err = text_write(path, value, 0);
	if (err)
		diag("%s: '%s' is not taken: %s", path, value, strerror(err));
	return err;
}

/* A parameter of the module; what it was is not kept, as the module goes at the end. */
static int set_parameter(const char *name, const char *fmt, long value)
{
	char path[96], text[24];
	int err;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	snprintf(text, sizeof(text), fmt, value);
	err = text_write(path, text, 0);
	if (err)
		diag("%s: '%s' is not taken: %s", path, text, strerror(err));
	return err;
}

static int set_address(const char *attribute, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return set(attribute, name, text);
}

/*
 * kallsyms is in no order, and slow to read: the next address is found in the same turn.
 */
static int look_up(const char *function, struct range *range)
{
	char *line = NULL, *end;
	uint64_t *all = NULL, address;
	size_t size = 0, count = 0, i;
	const size_t length = strlen(function);
	FILE *file = fopen("/proc/kallsyms", "re");
	int err = ENOENT;

	if (!file)
		return errno;
	all = calloc(1 << 20, sizeof(*all));
	while (all && count < 1 << 20 && getline(&line, &size, file) > 0) {
		address = strtoull(line, &end, 16);
		all[count++] = address;
		/* " t name", and a module's name behind a tab. */
		if ((end[1] != 't' && end[1] != 'T') || strncmp(end + 3, function, length) ||
		    (end[3 + length] != '\t' && end[3 + length] != '\n'))
			continue;
		range->start = address;
		err = 0;
	}
	range->end = UINT64_MAX;
	for (i = 0; i < count; i++)
		if (all[i] > range->start && all[i] < range->end)
			range->end = all[i];
	free(all);
	free(line);
	fclose(file);
	return err;
}

static int set_within(const struct range *within)
{
	return set_parameter("within_start", "%lu", within->start) ?:
	       set_parameter("within_end", "%lu", within->end);
}

static const struct range everything = { 0, UINT64_MAX };
static const struct range nothing = { 1, 1 };

static int set_filter(const char *attribute, const struct range *require,
		      const struct range *reject)
{
	int err;

	err = set(attribute, "stacktrace-depth", require == &nothing ? "0" : DEPTH);
	if (!err)
		err = set_address(attribute, "require-start", require->start);
	if (!err)
		err = set_address(attribute, "require-end", require->end);
	if (!err)
		err = set_address(attribute, "reject-start", reject ? reject->start : 0);
	if (!err)
		err = set_address(attribute, "reject-end", reject ? reject->end : 0);
	return err;
}

/* Nothing of this kind fails by chance, and nothing is said of what does by number. */
static int set_quiet(const char *attribute)
{
	int err = set(attribute, "probability", "0");

	if (!err)
		err = set(attribute, "verbose", "0");
	if (!err)
		err = set(attribute, "interval", "1");
	if (!err)
		err = set(attribute, "space", "0");
	if (!err)
		err = set(attribute, "times", "-1");
	if (!err)
		err = set(attribute, "task-filter", "N");
	return err;
}

static int set_memory(void)
{
	int err = set("failslab", "ignore-gfp-wait", "N");

	if (!err)
		err = set("failslab", "cache-filter", "N");
	if (!err)
		err = set("fail_page_alloc", "ignore-gfp-wait", "N");
	if (!err)
		err = set("fail_page_alloc", "ignore-gfp-highmem", "N");
	if (!err)
		err = set("fail_page_alloc", "min-order", "0");
	return err;
}

/*
 * The functions that say whether an allocation fails are asked for their answer, and where
 * it is yes, the tracer keeps who called.  Copies are asked for in a folder of the kernel's
 * that cannot be traced.  Without this nobody knows which fault point it was, and nothing
 * else is lost.
 */
static const struct {
	const char *name;
	const char *function;
} probes[] = {
	{ "slab", "should_failslab" },
	{ "page", "should_fail_alloc_page" },
};

static void site_begin(void)
{
	char text[160];
	size_t i;
	int err;

	if (!access(INSTANCE "trace", F_OK))
		return;
	if (mkdir(INSTANCE, 0700) && errno != EEXIST) {
		diag("%s: %s", INSTANCE, strerror(errno));
		return;
	}
	for (i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		snprintf(text, sizeof(text), "r64:fail_nth/%s %s failed=$retval:u8",
			 probes[i].name, probes[i].function);
		err = text_write(TRACEFS "kprobe_events", text, O_APPEND);
		if (err && err != EEXIST)
			diag("%s: %s", text, strerror(err));
		snprintf(text, sizeof(text), INSTANCE "events/fail_nth/%s/trigger",
			 probes[i].name);
		err = text_write(text, "stacktrace if failed != 0", O_APPEND);
		if (err)
			diag("%s: %s", text, strerror(err));
	}
}

static void site_end(void)
{
	size_t i;
	char text[64];

	if (access(INSTANCE "trace", F_OK))
		return;
	rmdir(INSTANCE);
	for (i = 0; i < sizeof(probes) / sizeof(*probes); i++) {
		snprintf(text, sizeof(text), "-:fail_nth/%s", probes[i].name);
		text_write(TRACEFS "kprobe_events", text, O_APPEND);
	}
}

/* The last stack in the trace. */
bool fail_nth_site(char *site, size_t size)
{
	char *text = text_read(kept->module ? PARAMETERS "site" : INSTANCE "trace"), *p, *next;
	size_t used = 0, length;

	site[0] = 0;
	if (kept->module) {
		snprintf(site, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ?: "");
		free(text);
		return site[0];
	}
	for (p = text; p && (next = strstr(p, "<stack trace>")); )
		p = next + 1;
	if (p == text)
		p = NULL;
	while (p && (p = strstr(p, "=> ")) && used < size) {
		p += 3;
		length = strcspn(p, "+\n");
		used += snprintf(site + used, size - used, "%s%.*s", used ? " " : "",
				 (int)length, p);
	}
	free(text);
	text_write(INSTANCE "trace", "", O_TRUNC);
	return site[0];
}

bool fail_nth_site_has(const char *site, const char *function)
{
	const size_t length = strlen(function);
	const char *p;

	for (p = site; (p = strstr(p, function)); p++)
		if ((p == site || p[-1] == ' ') && (!p[length] || p[length] == ' '))
			return true;
	return false;
}

/* Pages that are shared with a parent, or never touched, would fault. */
static void be_present(void)
{
	void *heap;

	mallopt(M_MMAP_THRESHOLD, 2 * HEAP);
	mallopt(M_TRIM_THRESHOLD, 4 * HEAP);
	heap = malloc(HEAP);
	if (heap)
		memset(heap, 1, HEAP);
	free(heap);
	if (mlockall(MCL_CURRENT))
		diag("memory may be absent: %s", strerror(errno));
}

int fail_nth_begin(enum fail_nth_what what)
{
	const bool copy = what == FAIL_NTH_COPY;
	size_t i;
	int err = 0;

	if (kept->counts && kept->what == what) {
		be_present();
		return 0;
	}
	if (kept->module) {
		err = set_within(&(const struct range){});
		kept->counts = !err;
		kept->what = what;
		be_present();
		return err;
	}
	if (!kept->asked && look_up("kmemleak_alloc", &kept->kmemleak))
		kept->kmemleak = (struct range){};
	kept->asked = true;
	for (i = 0; i < sizeof(attributes) / sizeof(*attributes) && !err; i++) {
		err = set_quiet(attributes[i]);
		if (!err)
			err = set_filter(attributes[i], copy == (i == 2) ? &everything : &nothing,
					 copy ? NULL : &kept->kmemleak);
	}
	if (!err)
		err = set_memory();
	if (err)
		return err;
	site_begin();
	kept->counts = true;
	kept->what = what;
	be_present();
	return 0;
}

int fail_nth_only(const char *function)
{
	struct range range;
	int err, i;

	kept->counts = false;
	err = look_up(function, &range);
	if (kept->module)
		return err ?: set_within(&range);
	for (i = 0; i < 2 && !err; i++)
		err = set_filter(attributes[i], &range, &kept->kmemleak);
	return err;
}

int fail_nth_worker(const char *function, int times)
{
	char text[16];
	int err, i;

	err = fail_nth_only(function);
	snprintf(text, sizeof(text), "%d", times);
	kept->worker = true;
	if (kept->module)
		return err ?: set_parameter("times", "%ld", times) ?:
		       set_parameter("pid", "%ld", -1) ?: set_parameter("nth", "%ld", 1);
	for (i = 0; i < 2 && !err; i++) {
		err = set(attributes[i], "times", text);
		if (!err)
			err = set(attributes[i], "probability", "100");
	}
	return err;
}

int fail_nth_starve(const char *function, int times)
{
	int err = fail_nth_worker(function, times);
	int i;

	if (kept->module)
		return err ?: set_parameter("pid", "%ld", 0) ?: set_parameter("nth", "%ld", 1);
	for (i = 0; i < 2 && !err; i++)
		err = set(attributes[i], "task-filter", "Y");
	return err ?: text_write(MAKE_IT_FAIL, "1", 0);
}

void fail_nth_worker_end(void)
{
	int i;

	if (!kept->worker)
		return;
	if (kept->module) {
		kept->worker = false;
		set_parameter("nth", "%ld", 0);
		set_parameter("pid", "%ld", 0);
		set_parameter("times", "%ld", 1);
		set_within(&(const struct range){});
		return;
	}
	text_write(MAKE_IT_FAIL, "0", 0);
	for (i = 0; i < 2; i++)
		set(attributes[i], "probability", "0");
	kept->worker = false;
}

int fail_nth_worker_left(void)
{
	char *text = text_read(kept->module ? PARAMETERS "times" : DEBUGFS "failslab/times");
	int left = text ? atoi(text) : -1;

	free(text);
	return left;
}

void fail_nth_end(void)
{
	const struct setting *setting;
	int err;

	if (kept->changed)
		site_end();
	if (kept->module && !helper_unload(MODULE))
		kept->module = false;
	kept->counts = false;
	while (kept->changed) {
		setting = &kept->setting[--kept->changed];
		err = text_write(setting->path, setting->was, 0);
		if (err)
			diag("%s: '%s' is not taken back: %s", setting->path, setting->was,
			     strerror(err));
	}
}

int fail_nth_open(pid_t pid)
{
	char path[64];

	if (kept->module)
		return open(PARAMETERS "nth", O_RDWR | O_CLOEXEC);
	if (!pid)
		return open(NTH, O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/fail-nth", pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

int fail_nth_arm(int fd, unsigned int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", nth);

	return pwrite(fd, text, length, 0) == length ? 0 : errno;
}

int fail_nth_left(int fd, unsigned int *left)
{
	char text[16] = "";

	/* The copy of the answer is a fault point as well: the only one that was left. */
	if (pread(fd, text, sizeof(text) - 1, 0) < 1) {
		*left = 1;
		return errno == EFAULT ? 0 : errno;
	}
	*left = strtoul(text, NULL, 10);
	return 0;
}

/*
 * To write allocates as well: if that was what failed nothing had failed before, and it is
 * written once more.  Otherwise it has only counted.
 */
static int disarm_module(int fd, unsigned int *left)
{
	const int err = fail_nth_arm(fd, 0);
	char *text;

	*left = 1;
	if (err)
		return err == ENOMEM ? fail_nth_arm(fd, 0) : err;
	text = text_read(PARAMETERS "left");
	if (!text)
		return errno;
	*left = strtoul(text, NULL, 10);
	free(text);
	return 0;
}

int fail_nth_disarm(int fd, unsigned int *left)
{
	unsigned int ignored;
	int err;

	if (kept->module)
		return disarm_module(fd, left ? left : &ignored);
	err = fail_nth_left(fd, left ? left : &ignored);

	/* Likewise: then it was disarmed by that. */
	if (fail_nth_arm(fd, 0) && errno != EFAULT && !err)
		err = errno;
	return err;
}
