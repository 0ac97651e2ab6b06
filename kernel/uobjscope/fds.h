/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which task holds what.
 */
#ifndef UOBJSCOPE_FDS_H
#define UOBJSCOPE_FDS_H

struct scope_text;

int scope_fds(struct scope_text *text);
int scope_fds_seed(void);

#endif /* UOBJSCOPE_FDS_H */
