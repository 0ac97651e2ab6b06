/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Building reports of who holds what.
 */
#ifndef UOBJSCOPE_HOLDERS_H
#define UOBJSCOPE_HOLDERS_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/**
 * struct uobjscope_holders - the reports that were made
 * @scope:	the snapshot that they speak of
 * @reports:	the reports
 * @count:	their number
 * @room:	how many there is room for
 * @nomem:	there was no memory at some point; the whole is then thrown away
 */
struct uobjscope_holders {
	const struct uobjscope *scope;
	struct uobjscope_report *reports;
	size_t count;
	size_t room;
	bool nomem;
};

/*
 * All of these do nothing once there was no memory, so that only the last caller
 * has to look.  A report is finished when the next one is begun.
 */
void holders_begin(struct uobjscope_holders *holders, enum uobjscope_object_kind kind,
		   uint64_t id, const struct uobjscope_record *record);
void holders_tally(struct uobjscope_holders *holders, const char *name);
/* The count itself, where the record has that key. */
void holders_total(struct uobjscope_holders *holders, const struct uobjscope_record *record,
		   enum uobjscope_key key);
void holders_add(struct uobjscope_holders *holders, enum uobjscope_holder_kind kind,
		 uint64_t refs, const struct uobjscope_record *record);
void holders_add_all(struct uobjscope_holders *holders, enum uobjscope_holder_kind kind,
		     struct uobjscope_group group);
/* At least so many references exist, though the total is not known. */
void holders_at_least(struct uobjscope_holders *holders, uint64_t refs);
void holders_note(struct uobjscope_holders *holders, const char *note);

void holders_of_dmabuf(struct uobjscope_holders *holders, uint64_t ino);
void holders_of_ufile(struct uobjscope_holders *holders, uint64_t ufile);
void holders_of_mmap(struct uobjscope_holders *holders, const struct uobjscope_record *mmap);
void holders_of_uobj(struct uobjscope_holders *holders, const struct uobjscope_record *uobj);
void holders_of_file(struct uobjscope_holders *holders, const struct uobjscope_record *fd);

#pragma GCC visibility pop

#endif
