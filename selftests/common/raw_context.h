/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A context of mlx5_ib without the library, which asks for more than a test may want.
 */
#ifndef _SELFTESTS_RAW_CONTEXT_H
#define _SELFTESTS_RAW_CONTEXT_H

#include <stdint.h>

#include <rdma/mlx5-abi.h>

/**
 * raw_context_get() - GET_CONTEXT, with a user context of DEVX
 * @fd: an open file of the device
 * @registers: BlueFlame registers, for which UAR pages are made
 * @answer: filled in; may be an address that cannot be written, as UVERBS_BAD_POINTER
 *
 * Return: 0 or an errno.
 */
int raw_context_get(int fd, uint32_t registers, struct mlx5_ib_alloc_ucontext_resp *answer);

#endif /* _SELFTESTS_RAW_CONTEXT_H */
