/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a person types to name an object, taken apart.
 */
#ifndef UOBJSCOPE_OBJECT_H
#define UOBJSCOPE_OBJECT_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* How an object was named. */
enum object_form {
	OBJECT_INO,		/* ino:N */
	OBJECT_PID,		/* pid:N */
	OBJECT_PID_FD,		/* pid:N/fd:N */
	OBJECT_UFILE,		/* ufile:N */
	OBJECT_UFILE_TYPE,	/* ufile:N/TYPE */
	OBJECT_UFILE_HANDLE,	/* ufile:N/HANDLE and ufile:N/TYPE:HANDLE */
	OBJECT_UFILE_MMAP,	/* ufile:N/mmap:PGOFF */
};

/**
 * struct object - a parsed name
 * @form:	which of the forms it has
 * @number:	inode, pid or ufile
 * @second:	fd, handle or pgoff
 * @type:	name of the uobject's type, empty for any
 */
struct object {
	enum object_form form;
	uint64_t number;
	uint64_t second;
	char type[32];
};

int uobjscope_parse_object(struct object *object, const char *name,
			   struct uobjscope_error *error);

#pragma GCC visibility pop

#endif
