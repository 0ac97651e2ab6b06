/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues that no library call makes, by ioctl.
 */
#ifndef _SELFTESTS_RAW_CQ_H
#define _SELFTESTS_RAW_CQ_H

#include <stdint.h>

#include <rdma/mlx5-abi.h>

#include "uverbs_ioctl.h"

/* As many attributes as raw_cq_create() has room for beyond its own. */
#define RAW_CQ_MORE	4

/**
 * raw_cq_create() - create a completion queue
 * @fd: command descriptor of a context
 * @entries: how many
 * @driver: where entries and doorbell record are, and of which size an entry is
 * @more: further attributes, NULL for none
 * @count: how many, RAW_CQ_MORE at most
 * @handle: uobject handle
 *
 * Return: 0 or an errno.
 */
int raw_cq_create(int fd, uint32_t entries, const struct mlx5_ib_create_cq *driver,
		  const struct ib_uverbs_attr *more, unsigned int count, uint32_t *handle);

/**
 * raw_cq_destroy() - destroy it
 * @fd: command descriptor of its context
 * @handle: uobject handle
 *
 * Return: 0 or an errno.
 */
int raw_cq_destroy(int fd, uint32_t handle);

#endif /* _SELFTESTS_RAW_CQ_H */
