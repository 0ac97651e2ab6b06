/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel holds, as uobjscope.ko shows it, for tests that state it.
 *
 * A record is named by some of its keys and expected to have others, both as
 * they stand in the module's own text: "type=PD handle=0" and "ref=2 usecnt=0".
 * "!key" means that the key is absent, which is how the text says "not known".
 */
#ifndef _SELFTESTS_SCOPE_H
#define _SELFTESTS_SCOPE_H

#include <stdint.h>
#include <sys/types.h>

#include <uobjscope.h>

/* What scope_value() returns where there is no such record or key. */
#define SCOPE_NOTHING	INT64_MIN

/**
 * struct scope - snapshots of one test
 * @first: the one that deltas refer to
 * @before: the one before the last
 * @now: the last one, which all expectations are about
 *
 * They may be the same.
 */
struct scope {
	struct uobjscope *first;
	struct uobjscope *before;
	struct uobjscope *now;
};

/**
 * scope_missing() - why no snapshot can be taken
 *
 * Return: NULL if one can, else the text for a SKIP, with the way out.
 */
const char *scope_missing(void);

/**
 * scope_take() - take a snapshot
 * @scope: all zero before the first time
 *
 * Pointers to records of earlier snapshots are no longer valid.
 *
 * Return: 0, or EIO with the reason written as a diagnostic.
 */
int scope_take(struct scope *scope);

/**
 * scope_deref() - have snapshots lock uobjects to see what is behind them, or not
 * @on: which
 *
 * Return: 0 or an errno.
 */
int scope_deref(bool on);

/**
 * scope_drop() - free all snapshots
 * @scope: all zero afterwards
 */
void scope_drop(struct scope *scope);

/**
 * scope_kv() - put keys and values together
 * @fmt: as for printf()
 *
 * Return: the text, in one of a few static buffers that are used in turn.
 */
const char *scope_kv(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/**
 * scope_ufile() - the ufile behind a descriptor
 * @scope: the snapshots
 * @pid: the process
 * @fd: its descriptor
 *
 * Return: its id, or 0 if it is not known.
 */
uint64_t scope_ufile(const struct scope *scope, pid_t pid, int fd);

/**
 * scope_find() - a record by some of its keys
 * @scope: the snapshots
 * @type: its type
 * @where: the keys
 *
 * Return: the first one that has them all, or NULL.
 */
const struct uobjscope_record *scope_find(const struct scope *scope, enum uobjscope_type type,
					  const char *where);

/**
 * scope_count() - how many records have some keys
 * @scope: the snapshots
 * @type: their type
 * @where: the keys
 *
 * Return: the count.
 */
int scope_count(const struct scope *scope, enum uobjscope_type type, const char *where);

/**
 * scope_check() - is there one such record, and is it as expected?
 * @scope: the snapshots
 * @type: its type
 * @where: keys that only one record has
 * @is: what it must be
 *
 * A record of a ufile that changed while it was looked at is never as expected.
 *
 * Return: how many expectations do not hold; each is written as a diagnostic.
 */
int scope_check(const struct scope *scope, enum uobjscope_type type, const char *where,
		const char *is);

/**
 * scope_value() - a number of a record
 * @of: a snapshot
 * @type: its type
 * @where: the keys of the record
 * @key: the name of the number
 *
 * Return: the number, SCOPE_NOTHING if it is not there.
 */
int64_t scope_value(const struct uobjscope *of, enum uobjscope_type type, const char *where,
		    const char *key);

/**
 * scope_unexplained() - references to an object that no record accounts for
 * @scope: the snapshots
 * @object: as for uobjscope_holders()
 *
 * Return: the sum over all counts of all objects found, or -1 if there is none.
 */
int64_t scope_unexplained(const struct scope *scope, const char *object);

/**
 * scope_held_by() - references that are known to be held in one way
 * @scope: the snapshots
 * @object: as for uobjscope_holders()
 * @kind: the way
 *
 * Return: the sum over all counts of all objects found, or -1 if there is none.
 */
int64_t scope_held_by(const struct scope *scope, const char *object,
		      enum uobjscope_holder_kind kind);

/**
 * scope_differences() - how the last two snapshots differ
 * @scope: the snapshots
 *
 * Return: the number of records that differ, or -1.
 */
int scope_differences(const struct scope *scope);

/**
 * scope_print_differences() - write as diagnostics how the last two differ
 * @scope: the snapshots
 */
void scope_print_differences(const struct scope *scope);

/**
 * scope_left() - how the last snapshot differs from the first one
 * @scope: the snapshots
 *
 * What a file that was closed before the first one loses as its device is removed does not
 * count: the kernel has leaked it, and it is nobody's here.
 *
 * Return: the number of records that differ, or -1.
 */
int scope_left(const struct scope *scope);

/**
 * scope_print_left() - write as diagnostics what scope_left() counts, and who holds it
 * @scope: the snapshots
 */
void scope_print_left(const struct scope *scope);

#endif /* _SELFTESTS_SCOPE_H */
