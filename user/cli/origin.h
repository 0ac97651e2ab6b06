/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events that made what a snapshot has.
 */
#ifndef UOBJSCOPE_ORIGIN_H
#define UOBJSCOPE_ORIGIN_H

#include "births.h"
#include "cli.h"

/**
 * origin_of() - the event that made a record's object
 * @births: the events, may be NULL
 * @scope: the snapshot
 * @record: a ufile, uobj, mmap, vma, attach or fd of it, or NULL
 *
 * Of a descriptor that is what made its file: no event tells of a copy of it.
 *
 * Return: the event, or NULL.
 */
const struct birth *origin_of(const struct births *births, const struct uobjscope *scope,
			      const struct uobjscope_record *record);

/**
 * origin_untracked() - mappings of a uverbs file that the RDMA core does not track
 * @births: the events
 * @scope: the snapshot
 * @report: of the object
 * @tally: one of its counts
 * @after: the one returned before, NULL for the first one
 *
 * Only the file's own count has such holders: a driver's clock page is one.
 *
 * Return: the next one that is there, or NULL.
 */
const struct birth *origin_untracked(const struct births *births,
				     const struct uobjscope *scope,
				     const struct uobjscope_report *report,
				     const struct uobjscope_tally *tally,
				     const struct birth *after);

/**
 * origin_unfreed() - uobjects of a ufile that were destroyed, and never freed
 * @births: the events, may be NULL
 * @scope: the snapshot
 * @ufile: its record
 * @after: the one returned before, NULL for the first one
 *
 * They are in no snapshot, and yet some keep their ufile.
 *
 * Return: the birth of the next one, or NULL.
 */
const struct birth *origin_unfreed(const struct births *births, const struct uobjscope *scope,
				   const struct uobjscope_record *ufile,
				   const struct birth *after);

/* The event of a holder, on a line below it; nothing if it is NULL. */
void print_origin(const struct birth *birth, FILE *out);
/* The birth of an object with its stack, on lines below it; NULL was not seen. */
void print_birth(const struct birth *birth, FILE *out);
/* The same of one that origin_unfreed() has found. */
void print_unfreed(const struct birth *birth, FILE *out);
json_object *json_birth(const struct birth *birth);

#endif
