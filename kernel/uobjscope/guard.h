/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Were the private structures of this build those of the running kernel?
 */
#ifndef UOBJSCOPE_GUARD_H
#define UOBJSCOPE_GUARD_H

#include <linux/types.h>

struct device;
struct ib_device;

/**
 * struct scope_size - a size that the kernel knows at run time
 * @name: of the structure
 * @built: bytes in this build
 * @kernel: bytes in the kernel, 0 if it has no such thing
 */
struct scope_size {
	const char	*name;
	size_t		built;
	size_t		kernel;
};

/**
 * struct scope_misfit - why a device is refused
 * @text: for a person; empty if it is not
 */
struct scope_misfit {
	char	text[160];
};

bool scope_guard_sizes(const struct scope_size *sizes, unsigned int count,
		       struct scope_misfit *misfit);
bool scope_guard_core(struct ib_device *ibdev, struct device *uverbs,
		      struct scope_misfit *misfit);
bool scope_guard_mlx5(struct ib_device *ibdev, struct scope_misfit *misfit);

#endif /* UOBJSCOPE_GUARD_H */
