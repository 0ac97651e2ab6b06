/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sizes and offsets that this build was made with.
 */
#ifndef UOBJSCOPE_LAYOUT_H
#define UOBJSCOPE_LAYOUT_H

struct scope_text;

int scope_layout(struct scope_text *text);

#endif /* UOBJSCOPE_LAYOUT_H */
