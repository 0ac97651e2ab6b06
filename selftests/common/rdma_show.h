/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rdma(8) shows of resources: the kernel's resource tracking, through
 * netlink and iproute2, which know nothing of uobjscope.
 */
#ifndef _SELFTESTS_RDMA_SHOW_H
#define _SELFTESTS_RDMA_SHOW_H

#include <stdint.h>

/**
 * struct rdma_show - the answer to one "rdma resource show"
 * @text: what the pointers point into
 * @object: one JSON object each
 * @count: number of them
 */
struct rdma_show {
	char *text;
	char **object;
	unsigned int count;
};

/**
 * rdma_show() - have rdma(8) show all resources of a type
 * @type: ctx, pd, cq, qp, srq or mr
 * @show: filled in, to be given to rdma_forget()
 *
 * Return: 0 or an errno; ENOENT if there is no such program.
 */
int rdma_show(const char *type, struct rdma_show *show);

/**
 * rdma_forget() - free what rdma_show() read
 * @show: the answer
 */
void rdma_forget(struct rdma_show *show);

/**
 * rdma_number() - a number of a resource
 * @object: the resource
 * @key: its name
 *
 * Return: the number, or INT64_MIN if it is not there.
 */
int64_t rdma_number(const char *object, const char *key);

#endif /* _SELFTESTS_RDMA_SHOW_H */
