/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The uverbs ioctl without a library in between, for what no library would do.
 */
#ifndef _SELFTESTS_UVERBS_IOCTL_H
#define _SELFTESTS_UVERBS_IOCTL_H

#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

/* An address that no process has, for attributes that the kernel writes. */
#define UVERBS_BAD_POINTER	((void *)16)

/**
 * uverbs_in() - attribute that the kernel reads
 * @id: attribute id
 * @value: bytes of the attribute
 * @len: number of them; up to eight are passed in the attribute itself
 *
 * Return: the attribute.
 */
struct ib_uverbs_attr uverbs_in(uint16_t id, const void *value, uint16_t len);

/**
 * uverbs_out() - attribute that the kernel writes
 * @id: attribute id
 * @value: where to
 * @len: number of bytes there
 *
 * Return: the attribute.
 */
struct ib_uverbs_attr uverbs_out(uint16_t id, void *value, uint16_t len);

/**
 * uverbs_handle() - attribute that names an object or gets a new one's handle
 * @id: attribute id
 * @handle: the handle, 0 for a new object
 *
 * Return: the attribute.
 */
struct ib_uverbs_attr uverbs_handle(uint16_t id, uint64_t handle);

/**
 * uverbs_ioctl() - call a method of an object
 * @fd: the command descriptor of a context
 * @object: object id
 * @method: method id
 * @attr: the attributes; handles of new objects are written back
 * @count: number of them, at most 16
 *
 * Return: 0 or an errno.
 */
int uverbs_ioctl(int fd, uint16_t object, uint16_t method,
		 struct ib_uverbs_attr *attr, unsigned int count);

#endif /* _SELFTESTS_UVERBS_IOCTL_H */
