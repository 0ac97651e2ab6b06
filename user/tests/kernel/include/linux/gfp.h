/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flags that say how memory is asked for; the host has one way only.
 */
#ifndef HOST_LINUX_GFP_H
#define HOST_LINUX_GFP_H

/* Not the tools' own gfp_t, an enum of what they use of it. */
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_RETRY_MAYFAIL	0
#define __GFP_NOWARN		0

#endif /* HOST_LINUX_GFP_H */
