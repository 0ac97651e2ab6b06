// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "memory_type.h"
#include "text.h"

int memory_types(const char *type)
{
	char *text = text_read("/sys/kernel/debug/x86/pat_memtype_list");
	char *line, *rest;
	int n = 0;

	if (!text)
		return -1;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *end = strstr(line, "] ");

		/* "PAT: [mem 0x00000000fd000000-0x00000000fd001000] write-combining" */
		n += end && !strcmp(end + 2, type);
	}
	free(text);
	return n;
}
