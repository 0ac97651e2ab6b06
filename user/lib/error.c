// SPDX-License-Identifier: GPL-2.0
/*
 * Errors: one line for a person, one word for a program.
 */
#include <stdarg.h>
#include <string.h>

#include "internal.h"

int uobjscope_fail(struct uobjscope_error *error, enum uobjscope_status status,
		   unsigned long line, const char *format, ...)
{
	va_list args;

	if (!error)
		return -1;
	error->status = status;
	error->line = line;
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return -1;
}

int uobjscope_nomem(struct uobjscope_error *error, const char *name)
{
	return uobjscope_fail(error, UOBJSCOPE_ERR_NOMEM, 0,
			      "%s: out of memory; nothing of it was used", name);
}

const char *uobjscope_quote(char quoted[QUOTED_MAX], const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length && i < QUOTED_MAX - 1; i++)
		quoted[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	quoted[i] = '\0';
	if (length > QUOTED_MAX - 1)
		memcpy(quoted + QUOTED_MAX - 4, "...", 4);
	return quoted;
}
