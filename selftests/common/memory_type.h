/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the kernel lets pages of devices be cached.
 */
#ifndef _SELFTESTS_MEMORY_TYPE_H
#define _SELFTESTS_MEMORY_TYPE_H

/**
 * memory_types() - how many mappings of devices there are of a type
 * @type: as debugfs calls it, "write-combining"
 *
 * x86 keeps a record of what is mapped outside of its memory, so that nobody maps the same
 * with another type (arch/x86/mm/pat/memtype.c).  Whether a copy of a mapping has a record
 * of its own depends on the kernel.
 *
 * Return: the number; or -1 with errno set, ENOENT where the kernel keeps none.
 */
int memory_types(const char *type);

#endif /* _SELFTESTS_MEMORY_TYPE_H */
