// SPDX-License-Identifier: GPL-2.0
/*
 * The text that an open file holds: all of it is made at open, so that a reader
 * never sees half of one snapshot and half of another.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "text.h"

/**
 * scope_text_init - make an empty text
 * @text: the text
 */
void scope_text_init(struct scope_text *text)
{
	text->size = 0;
	text->lines = 0;
	scope_vector_init(&text->pages, PAGE_SIZE);
}

/**
 * scope_text_add - append a line
 * @text: the text
 * @line: finished
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM
 */
int scope_text_add(struct scope_text *text, const struct scope_line *line)
{
	unsigned int done = 0;
	int err;

	while (done < line->used) {
		unsigned int at = offset_in_page(text->size);
		unsigned int n = min_t(unsigned int, line->used - done, PAGE_SIZE - at);

		if (!at) {
			err = scope_vector_reserve(&text->pages, 1);
			if (err)
				return err;
			scope_vector_push(&text->pages);
		}
		memcpy(scope_vector_at(&text->pages, text->size >> PAGE_SHIFT) + at,
		       line->text + done, n);
		text->size += n;
		done += n;
	}
	text->lines++;
	return 0;
}

/**
 * scope_text_read - serve a read
 * @text: finished
 * @to: user space
 * @count: bytes wanted
 * @pos: position, moved on
 *
 * Return: bytes read, 0 at the end, or -EFAULT
 */
ssize_t scope_text_read(const struct scope_text *text, char __user *to, size_t count,
			loff_t *pos)
{
	size_t done = 0;

	while (done < count && *pos < text->size) {
		unsigned int at = offset_in_page(*pos);
		size_t n = min_t(loff_t, text->size - *pos, PAGE_SIZE - at);

		n = min(n, count - done);
		if (copy_to_user(to + done,
				 scope_vector_at(&text->pages, *pos >> PAGE_SHIFT) + at, n))
			return done ? done : -EFAULT;
		*pos += n;
		done += n;
	}
	return done;
}

/**
 * scope_text_free - give the memory back
 * @text: the text
 */
void scope_text_free(struct scope_text *text)
{
	scope_vector_free(&text->pages);
}
