/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own state.
 */
#ifndef UOBJSCOPE_INFO_H
#define UOBJSCOPE_INFO_H

struct scope_text;

int scope_info(struct scope_text *text);

#endif /* UOBJSCOPE_INFO_H */
