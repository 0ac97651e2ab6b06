/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loan: memory that the running kernel hands out for the window, and gets
 * back.
 */
#ifndef VHCA_LOAN_H
#define VHCA_LOAN_H

#include <linux/ioport.h>
#include <linux/types.h>

/* What marks a loan in the resource tree; the kernel's own are IORES_DESC_*. */
#define VHCA_LOAN_DESC	0x76686361	/* "vhca" */

/**
 * struct vhca_loan - a part of RAM that is not the kernel's
 * @resource: where it is; stays in the tree as long as the loan does
 * @node: the NUMA node that it is of
 * @name: of @resource, which may outlive the module, and so points nowhere else
 */
struct vhca_loan {
	struct resource	resource;
	int		node;
	char		name[24];
};

struct vhca_loan *vhca_loan_take(u64 size);
void vhca_loan_give_back(struct vhca_loan *loan);

#endif /* VHCA_LOAN_H */
