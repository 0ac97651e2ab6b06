/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of objects that not every kernel has.  Needs nothing of the kernel but its user
 * space interface.
 */
#ifndef UOBJSCOPE_OBJECT_TYPES_H
#define UOBJSCOPE_OBJECT_TYPES_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

/* Entries of tables, which bring the comma behind them. */
#ifdef SCOPE_HAVE_DMABUF
#define SCOPE_DMABUF_OBJECTS		true
#define SCOPE_WITH_DMABUF(...)		__VA_ARGS__,
#else
#define SCOPE_DMABUF_OBJECTS		false
#define SCOPE_WITH_DMABUF(...)
#endif

#ifdef SCOPE_HAVE_DMAH
#define SCOPE_WITH_DMAH(...)		__VA_ARGS__,
#else
#define SCOPE_WITH_DMAH(...)
#endif

#ifdef SCOPE_HAVE_COMP_CNTR
#define SCOPE_WITH_COMP_CNTR(...)	__VA_ARGS__,
#else
#define SCOPE_WITH_COMP_CNTR(...)
#endif

#ifdef SCOPE_HAVE_TLP_VAR
#define SCOPE_WITH_TLP_VAR(...)		__VA_ARGS__,
#else
#define SCOPE_WITH_TLP_VAR(...)
#endif

/* Is it the id of the type DMABUF? */
static inline bool scope_is_dmabuf(u32 type)
{
#ifdef SCOPE_HAVE_DMABUF
	return type == UVERBS_OBJECT_DMABUF;
#else
	return false;
#endif
}

#endif /* UOBJSCOPE_OBJECT_TYPES_H */
