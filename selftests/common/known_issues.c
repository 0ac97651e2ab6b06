// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kselftest.h"

#include "known_issues.h"
#include "text.h"

/* The lines of one entry: from its "id:" to the next empty line. */
struct entry {
	const char *begin;
	const char *end;
};

/* Where the programs are, and the file with the entries beside them. */
static char *read_entries(void)
{
	const char *named = getenv("KNOWN_ISSUES");
	char self[2048], path[4096];
	char *text;
	ssize_t len;

	if (!named) {
		len = readlink("/proc/self/exe", self, sizeof(self) - 1);
		if (len < 0)
			return NULL;
		self[len] = '\0';
		snprintf(path, sizeof(path), "%.*s/known_issues",
			 (int)(strrchr(self, '/') - self), self);
		named = path;
	}
	text = text_read(named);
	if (!text)
		diag("cannot read %s: %s", named, strerror(errno));
	return text;
}

/*
 * The @n-th value of a key, n counting from 0; false if there are fewer.  A value
 * longer than @size is cut, which only texts for people are.
 */
static bool entry_value(const struct entry *entry, const char *key, int n, char *value,
			size_t size)
{
	const size_t length = strlen(key);
	const char *line, *end;

	for (line = entry->begin; line < entry->end; line = end + 1) {
		end = memchr(line, '\n', entry->end - line);
		if (!end)
			end = entry->end;
		if (strncmp(line, key, length) || line[length] != ':' || n--)
			continue;
		line += length + 1;
		line += strspn(line, " ");
		snprintf(value, size, "%.*s", (int)(end - line), line);
		return true;
	}
	return false;
}

static bool find_entry(const char *text, const char *id, struct entry *entry)
{
	char value[32];

	for (; *text; text = entry->end) {
		text += strspn(text, "\n");
		entry->begin = text;
		entry->end = strstr(text, "\n\n");
		entry->end = entry->end ? entry->end + 1 : text + strlen(text);
		if (entry_value(entry, "id", 0, value, sizeof(value)) && !strcmp(value, id))
			return true;
	}
	return false;
}

static bool list_has(const char *list, const char *id)
{
	const size_t length = strlen(id);

	for (; list && *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, id, length) && (!list[length] || list[length] == ','))
			return true;
	return false;
}

bool known_has_version(const char *release, const char *versions)
{
	unsigned int have[3] = {};
	bool newer_than_all = *versions;
	int order, i;

	if (sscanf(release, "%u.%u.%u", &have[0], &have[1], &have[2]) < 2)
		return false;
	while (*versions) {
		unsigned int first[3] = {};

		if (sscanf(versions, "%u.%u.%u", &first[0], &first[1], &first[2]) < 2)
			return false;
		for (i = 0, order = 0; i < 3 && !order; i++)
			order = (have[i] > first[i]) - (have[i] < first[i]);
		if (have[0] == first[0] && have[1] == first[1])
			return order >= 0;
		newer_than_all &= order > 0;
		versions += strcspn(versions, " ");
		versions += strspn(versions, " ");
	}
	return newer_than_all;
}

/* Does a module's type information have the name?  1, 0, or -1 if there is none. */
static int btf_has(const char *module, const char *name)
{
	const size_t length = strlen(name) + 2;
	char path[128], *data, *p;
	ssize_t size = 0, got = 0;
	struct stat st;
	int fd, found;

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	data = fstat(fd, &st) ? NULL : malloc(st.st_size);
	/* A file of sysfs is read by the page. */
	while (data && size < st.st_size) {
		got = read(fd, data + size, st.st_size - size);
		if (got <= 0)
			break;
		size += got;
	}
	close(fd);
	found = data && size == st.st_size ? 0 : -1;
	for (p = data; !found && p + length <= data + size; p++)
		found = !p[0] && !memcmp(p + 1, name, length - 1);
	free(data);
	return found;
}

/* Has the running kernel what a probe looks for?  1, 0, or -1 if it cannot tell. */
static int ask_probes(const struct entry *entry, char *probe, size_t size)
{
	char module[64], name[128];
	int n, answer;

	for (n = 0; entry_value(entry, "probe", n, probe, size); n++) {
		if (sscanf(probe, "btf %63s %127s", module, name) != 2)
			continue;
		answer = btf_has(module, name);
		if (answer >= 0)
			return answer;
	}
	return -1;
}

static bool begins_with(const char *path, char wanted)
{
	char *text = text_read(path);
	const bool is = text && text[0] == wanted;

	free(text);
	return is;
}

static bool kasan_is_there(void)
{
	char *text = text_read("/proc/kallsyms");
	const bool is = text && strstr(text, " kasan_report\n");

	free(text);
	return is;
}

/* Has this machine one of what the entry says is needed? */
static bool is_observable(const char *observable)
{
	if (!strcmp(observable, "any"))
		return true;
	if (strstr(observable, "slab_debug") &&
	    begins_with("/sys/kernel/slab/kmalloc-64/poison", '1'))
		return true;
	if (strstr(observable, "lockdep") && !access("/proc/lockdep", F_OK))
		return true;
	if (strstr(observable, "failslab") && !access("/sys/kernel/debug/failslab", F_OK))
		return true;
	return strstr(observable, "kasan") && kasan_is_there();
}

static void find_state(const struct entry *entry, struct known_issue *issue)
{
	struct utsname kernel;
	char probe[256];
	int answer;

	issue->state = KNOWN_LIVE;
	if (list_has(getenv("KNOWN_FIXED"), issue->id)) {
		issue->state = KNOWN_FIXED;
		snprintf(issue->why, sizeof(issue->why), "the kernel's source has the fix");
	} else if (list_has(getenv("KNOWN_LIVE"), issue->id)) {
		snprintf(issue->why, sizeof(issue->why), "the kernel's source lacks the fix");
	} else {
		answer = ask_probes(entry, probe, sizeof(probe));
		if (answer >= 0) {
			issue->state = answer ? KNOWN_FIXED : KNOWN_LIVE;
			snprintf(issue->why, sizeof(issue->why), "%.120s: %s", probe,
				 answer ? "there" : "not there");
		} else if (!strcmp(issue->component, "kernel") && !uname(&kernel)) {
			if (known_has_version(kernel.release, issue->fixed))
				issue->state = KNOWN_FIXED;
			snprintf(issue->why, sizeof(issue->why), "kernel %.64s", kernel.release);
		}
	}
	if (issue->state == KNOWN_LIVE && !is_observable(issue->observable)) {
		issue->state = KNOWN_HIDDEN;
		snprintf(issue->why, sizeof(issue->why), "can only be seen with %s",
			 issue->observable);
	}
}

int known_issue(const char *id, struct known_issue *issue)
{
	char *text = read_entries();
	struct entry entry;
	char seen[32];
	int err = 0;

	if (!text)
		return errno ? errno : EIO;
	memset(issue, 0, sizeof(*issue));
	snprintf(issue->id, sizeof(issue->id), "%s", id);
	if (!find_entry(text, id, &entry)) {
		diag("known_issues has no entry %s", id);
		err = ENOENT;
	} else if (!entry_value(&entry, "title", 0, issue->title, sizeof(issue->title)) ||
		   !entry_value(&entry, "component", 0, issue->component,
				sizeof(issue->component)) ||
		   !entry_value(&entry, "fixed", 0, issue->fixed, sizeof(issue->fixed)) ||
		   !entry_value(&entry, "observable", 0, issue->observable,
				sizeof(issue->observable)) ||
		   !entry_value(&entry, "seen", 0, seen, sizeof(seen))) {
		diag("known_issues, %s: expected title, component, fixed, observable and seen", id);
		err = EINVAL;
	} else {
		issue->sometimes = !strcmp(seen, "sometimes");
		find_state(&entry, issue);
	}
	free(text);
	return err;
}

int known_verdict(const struct known_issue *issue, bool seen, char *reason)
{
	const bool has_fix = strcmp(issue->fixed, "-");

	reason[0] = '\0';
	if (issue->state == KNOWN_HIDDEN) {
		snprintf(reason, KNOWN_REASON, "%s %s: %s", issue->id, issue->title, issue->why);
		return KSFT_SKIP;
	}
	if (seen && issue->state == KNOWN_FIXED) {
		snprintf(reason, KNOWN_REASON, "%s %s: seen although it is fixed here (%s)",
			 issue->id, issue->title, issue->why);
		return KSFT_FAIL;
	}
	if (seen) {
		snprintf(reason, KNOWN_REASON, "%s %s (%s; %s%s)", issue->id, issue->title,
			 issue->component, has_fix ? "fixed in " : "not fixed",
			 has_fix ? issue->fixed : "");
		return KSFT_XFAIL;
	}
	if (issue->state == KNOWN_FIXED)
		return KSFT_PASS;
	snprintf(reason, KNOWN_REASON, "%s %s: not seen although it is not fixed here%s%s",
		 issue->id, issue->title, issue->why[0] ? ", " : "", issue->why);
	if (issue->sometimes)
		return KSFT_PASS;
	snprintf(reason + strlen(reason), KNOWN_REASON - strlen(reason),
		 ": revise its entry in known_issues");
	return KSFT_FAIL;
}
