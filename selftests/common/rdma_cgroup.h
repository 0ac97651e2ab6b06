/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A control group of the rdma controller for the calling process.
 *
 * The group's counts are the kernel's own account of uobjects and contexts
 * (core/cgroup.c, kernel/cgroup/rdma.c), independent of everything else.
 */
#ifndef _SELFTESTS_RDMA_CGROUP_H
#define _SELFTESTS_RDMA_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* No limit, for rdma_cgroup_limit(). */
#define RDMA_CGROUP_MAX	-1

/**
 * struct rdma_cgroup - the group
 * @path: its folder, below a cgroup file system of version 2
 * @procs: file that lists the processes of the group that the process came from
 * @control: file that lists the controllers in use, empty if rdma was one of them
 * @mounted: folder that the file system was mounted to for it, empty if it was there
 */
struct rdma_cgroup {
	char path[128];
	char procs[192];
	char control[96];
	char mounted[64];
};

/**
 * rdma_cgroup_make() - make a group, in which nobody is yet
 * @group: filled in
 *
 * The file system is mounted if it is nowhere.
 *
 * Return: NULL, or why there is none together with the way out, as the text for a
 * SKIP.
 */
const char *rdma_cgroup_make(struct rdma_cgroup *group);

/**
 * rdma_cgroup_remove() - undo rdma_cgroup_make()
 * @group: the group; nobody may be in it
 *
 * Return: 0 or an errno.
 */
int rdma_cgroup_remove(struct rdma_cgroup *group);

/**
 * rdma_cgroup_enter() - move the calling process into the group, or back
 * @group: the group
 * @inside: whether it shall be inside afterwards
 *
 * Objects stay charged to the group that their maker was in.
 *
 * Return: 0 or an errno.
 */
int rdma_cgroup_enter(const struct rdma_cgroup *group, bool inside);

/**
 * rdma_cgroup_count() - what the group is charged for
 * @group: the group
 * @device: name of the ib_device
 * @key: hca_handle (contexts) or hca_object (uobjects with a handle)
 *
 * Return: the count, or -1 if it cannot be read.
 */
int64_t rdma_cgroup_count(const struct rdma_cgroup *group, const char *device, const char *key);

/**
 * rdma_cgroup_limit() - limit the uobjects of the group
 * @group: the group
 * @device: name of the ib_device
 * @objects: so many, or RDMA_CGROUP_MAX
 *
 * Return: 0 or an errno.
 */
int rdma_cgroup_limit(const struct rdma_cgroup *group, const char *device, int64_t objects);

#endif /* _SELFTESTS_RDMA_CGROUP_H */
