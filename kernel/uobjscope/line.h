/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One line of a report: a record's name and key=value pairs.
 */
#ifndef UOBJSCOPE_LINE_H
#define UOBJSCOPE_LINE_H

#include <linux/types.h>

/** define SCOPE_LINE - no line is longer, the newline included */
#define SCOPE_LINE	1024

/**
 * struct scope_line - a line in the making
 * @used: bytes in @text
 * @text: not terminated
 */
struct scope_line {
	unsigned int	used;
	char		text[SCOPE_LINE];
};

void scope_line_begin(struct scope_line *line, const char *record);
void scope_line_word(struct scope_line *line, const char *key, const char *value);
void scope_line_text(struct scope_line *line, const char *key, const char *value);
void scope_line_number(struct scope_line *line, const char *key, u64 value);
void scope_line_signed(struct scope_line *line, const char *key, s64 value);
void scope_line_hex(struct scope_line *line, const char *key, u64 value);
void scope_line_token(struct scope_line *line, const char *key, u64 value);
void scope_line_end(struct scope_line *line);

#endif /* UOBJSCOPE_LINE_H */
