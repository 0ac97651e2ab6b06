/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who keeps an object in the end.
 */
#ifndef UOBJSCOPE_KEEPERS_H
#define UOBJSCOPE_KEEPERS_H

#include "births.h"
#include "cli.h"

struct keepers;

/**
 * keepers_find() - follow the holders of an object, and theirs, to those that are not held
 * @scope: the snapshot
 * @births: the events, may be NULL
 * @object: as for uobjscope_holders()
 *
 * That is a process, by a descriptor or a mapping; an object that somebody has to destroy
 * and has not, such as an MR; or references that nobody is seen to have.
 *
 * Return: them, for keepers_free().
 */
struct keepers *keepers_find(const struct uobjscope *scope, const struct births *births,
			     const char *object);

/**
 * keepers_decides() - is a count one that decides how long its object is there?
 * @report: of the object
 * @tally: the count
 *
 * Return: false of one that says who uses it at the moment, or holds something else.
 */
bool keepers_decides(const struct uobjscope_report *report, const struct uobjscope_tally *tally);

void keepers_free(struct keepers *keepers);
void keepers_print(const struct keepers *keepers, const struct uobjscope *scope, FILE *out);
json_object *keepers_json(const struct keepers *keepers, const struct uobjscope *scope);

#endif
