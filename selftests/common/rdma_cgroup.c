// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdma_cgroup.h"
#include "text.h"

#define MOUNT_POINT	"/tmp/uobjscope-cgroup"
#define USUAL_PLACE	"/sys/fs/cgroup"

/* Whether the file, a line of words with a blank between two, has the word. */
static bool has_word(const char *path, const char *word)
{
	const size_t length = strlen(word);
	char *text = text_read(path), *p;
	bool found = false;

	for (p = text; p && !found; p = strchr(p, ' ')) {
		p += *p == ' ';
		found = !strncmp(p, word, length) && (!p[length] || isspace(p[length]));
	}
	free(text);
	return found;
}

/* Where the process is: the line "0::/..." of /proc/self/cgroup. */
static bool find_procs(struct rdma_cgroup *group, const char *root)
{
	char *text = text_read("/proc/self/cgroup"), *p, *end;
	bool found = false;

	for (p = text; p && !found; p = end ? end + 1 : NULL) {
		end = strchr(p, '\n');
		if (end)
			*end = 0;
		if (strncmp(p, "0::", 3))
			continue;
		found = snprintf(group->procs, sizeof(group->procs), "%s%s/cgroup.procs", root,
				 p[3] && p[4] ? p + 3 : "") < (int)sizeof(group->procs);
	}
	free(text);
	return found;
}

const char *rdma_cgroup_make(struct rdma_cgroup *group)
{
	const char *root = USUAL_PLACE;
	const char *reason = NULL;
	char path[96];

	memset(group, 0, sizeof(*group));
	if (access(USUAL_PLACE "/cgroup.controllers", F_OK)) {
		root = MOUNT_POINT;
		if ((mkdir(root, 0700) && errno != EEXIST) ||
		    mount("none", root, "cgroup2", 0, NULL))
			return "no cgroup2: build the kernel with CONFIG_CGROUPS";
		snprintf(group->mounted, sizeof(group->mounted), "%s", root);
	}
	snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
	if (!has_word(path, "rdma"))
		reason = "cgroup2 has no controller rdma: build the kernel with CONFIG_CGROUP_RDMA";
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", root);
	if (!reason && !has_word(path, "rdma")) {
		if (text_write(path, "+rdma", 0))
			reason = "no controller rdma: move all processes out of the root group";
		else
			snprintf(group->control, sizeof(group->control), "%s", path);
	}
	if (!reason && !find_procs(group, root))
		reason = "/proc/self/cgroup has no line of version 2: mount cgroup2";
	snprintf(group->path, sizeof(group->path), "%s/uobjscope-%d", root, getpid());
	if (!reason && mkdir(group->path, 0700))
		reason = "no group can be made: be root";
	if (reason)
		rdma_cgroup_remove(group);
	return reason;
}

int rdma_cgroup_remove(struct rdma_cgroup *group)
{
	int err = 0;

	if (rmdir(group->path) && errno != ENOENT)
		err = errno;
	if (!err && group->control[0])
		err = text_write(group->control, "-rdma", 0);
	if (group->mounted[0] && (umount(group->mounted) || rmdir(group->mounted)) && !err)
		err = errno;
	return err;
}

int rdma_cgroup_enter(const struct rdma_cgroup *group, bool inside)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group->path);
	return text_write(inside ? path : group->procs, "0", 0);
}

int64_t rdma_cgroup_count(const struct rdma_cgroup *group, const char *device, const char *key)
{
	char path[160], *text, *line, *p;
	int64_t count = -1;

	snprintf(path, sizeof(path), "%s/rdma.current", group->path);
	text = text_read(path);
	for (line = text; line && *line && count < 0; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, device, strlen(device)) || line[strlen(device)] != ' ')
			continue;
		p = strstr(line, key);
		if (p && p[strlen(key)] == '=')
			count = strtoll(p + strlen(key) + 1, NULL, 10);
		break;
	}
	free(text);
	return count;
}

int rdma_cgroup_limit(const struct rdma_cgroup *group, const char *device, int64_t objects)
{
	char path[160], text[128];

	snprintf(path, sizeof(path), "%s/rdma.max", group->path);
	if (objects == RDMA_CGROUP_MAX)
		snprintf(text, sizeof(text), "%s hca_object=max", device);
	else
		snprintf(text, sizeof(text), "%s hca_object=%ld", device, objects);
	return text_write(path, text, 0);
}
