/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The text that an open file holds.
 */
#ifndef UOBJSCOPE_TEXT_H
#define UOBJSCOPE_TEXT_H

#include <linux/fs.h>

#include "line.h"
#include "vector.h"

/**
 * struct scope_text - a text in pages
 * @size: bytes
 * @lines: lines
 * @pages: one entry a page
 */
struct scope_text {
	loff_t			size;
	u64			lines;
	struct scope_vector	pages;
};

void scope_text_init(struct scope_text *text);
int scope_text_add(struct scope_text *text, const struct scope_line *line);
ssize_t scope_text_read(const struct scope_text *text, char __user *to, size_t count,
			loff_t *pos);
void scope_text_free(struct scope_text *text);

#endif /* UOBJSCOPE_TEXT_H */
