/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Giving back a reference to a ufile.
 */
#ifndef UOBJSCOPE_RELEASE_H
#define UOBJSCOPE_RELEASE_H

#include <linux/kref.h>

#include "compat.h"

#ifdef SCOPE_HAVE_RELEASE_FILE
#define scope_release_file	ib_uverbs_release_file

static inline int scope_release_find(void)
{
	return 0;
}
#else
void scope_release_file(struct kref *ref);
int scope_release_find(void);
#endif

#endif /* UOBJSCOPE_RELEASE_H */
