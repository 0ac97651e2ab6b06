// SPDX-License-Identifier: GPL-2.0
/*
 * Who holds it: from the name of an object to the reports.
 */
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "object.h"

/* Room for one more in an array that doubles; its length is not kept elsewhere. */
static void *grow(struct uobjscope_holders *holders, void *array, size_t count, size_t size)
{
	void *more = array;

	if (holders->nomem)
		return NULL;
	/* A power of two, or nothing yet: the array is full. */
	if (!(count & (count - 1))) {
		more = realloc(array, (count ? count * 2 : 1) * size);
		if (!more) {
			holders->nomem = true;
			return NULL;
		}
	}
	return more;
}

static struct uobjscope_report *last_report(struct uobjscope_holders *holders)
{
	return &holders->reports[holders->count - 1];
}

static struct uobjscope_tally *last_tally(struct uobjscope_holders *holders)
{
	struct uobjscope_report *report = last_report(holders);

	return &report->tallies[report->count - 1];
}

/* What is left follows from the total and the holders. */
static void settle(struct uobjscope_tally *tally)
{
	uint64_t total = tally->known && tally->total > 0 ? tally->total : 0;
	/* Until now: how many there must be at least. */
	uint64_t least = tally->unexplained;

	tally->explained = 0;
	for (size_t i = 0; i < tally->count; i++)
		tally->explained += tally->holders[i].refs;
	if (!tally->known)
		total = least > tally->explained ? least : tally->explained;
	tally->unexplained = total > tally->explained ? total - tally->explained : 0;
	tally->surplus = tally->explained > total ? tally->explained - total : 0;
	if (tally->known && tally->total < 0 && !tally->note)
		tally->note = "the count is below 0: it has saturated, or was dropped too often";
	else if (tally->surplus && !tally->note)
		tally->note = "more holders than references: they were read at different instants";
}

static void settle_report(struct uobjscope_holders *holders)
{
	struct uobjscope_report *report;

	if (holders->nomem || !holders->count)
		return;
	report = last_report(holders);
	for (size_t i = 0; i < report->count; i++)
		settle(&report->tallies[i]);
}

void holders_begin(struct uobjscope_holders *holders, enum uobjscope_object_kind kind,
		   uint64_t id, const struct uobjscope_record *record)
{
	struct uobjscope_report *reports;

	settle_report(holders);
	reports = grow(holders, holders->reports, holders->count, sizeof(*reports));
	if (!reports)
		return;
	holders->reports = reports;
	reports[holders->count++] = (struct uobjscope_report) {
		.kind = kind, .id = id, .record = record
	};
}

void holders_tally(struct uobjscope_holders *holders, const char *name)
{
	struct uobjscope_tally *tallies;
	struct uobjscope_report *report;

	if (holders->nomem)
		return;
	report = last_report(holders);
	tallies = grow(holders, report->tallies, report->count, sizeof(*tallies));
	if (!tallies)
		return;
	report->tallies = tallies;
	tallies[report->count++] = (struct uobjscope_tally) { .name = name };
}

void holders_total(struct uobjscope_holders *holders, const struct uobjscope_record *record,
		   enum uobjscope_key key)
{
	struct uobjscope_tally *tally;

	if (holders->nomem)
		return;
	tally = last_tally(holders);
	if (uobjscope_get_signed(record, key, &tally->total))
		tally->known = true;
}

void holders_add(struct uobjscope_holders *holders, enum uobjscope_holder_kind kind,
		 uint64_t refs, const struct uobjscope_record *record)
{
	struct uobjscope_holder *more;
	struct uobjscope_tally *tally;

	if (holders->nomem)
		return;
	tally = last_tally(holders);
	more = grow(holders, tally->holders, tally->count, sizeof(*more));
	if (!more)
		return;
	tally->holders = more;
	more[tally->count++] = (struct uobjscope_holder) {
		.kind = kind, .refs = refs, .record = record,
		.mr = kind == UOBJSCOPE_HOLDER_ATTACH ?
			uobjscope_mr_of(holders->scope, record) : NULL,
	};
}

void holders_add_all(struct uobjscope_holders *holders, enum uobjscope_holder_kind kind,
		     struct uobjscope_group group)
{
	for (size_t i = 0; i < group.count; i++)
		holders_add(holders, kind, 1, group.records[i]);
}

void holders_at_least(struct uobjscope_holders *holders, uint64_t refs)
{
	if (!holders->nomem)
		last_tally(holders)->unexplained = refs;
}

void holders_note(struct uobjscope_holders *holders, const char *note)
{
	if (!holders->nomem)
		last_tally(holders)->note = note;
}

/* An object that a process holds, so that each is reported once. */
struct target {
	enum uobjscope_object_kind kind;
	uint64_t number;
	const struct uobjscope_record *record;
};

static int compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->record < y->record ? -1 : x->record > y->record;
}

/* What an fd leads to.  A file of an fd uobject has no identity but the fd. */
static struct target fd_target(const struct uobjscope_record *fd)
{
	struct target target = { .kind = UOBJSCOPE_OBJECT_FILE, .record = fd };
	const char *kind = uobjscope_text(fd, UOBJSCOPE_KEY_KIND);

	if (uobjscope_get(fd, UOBJSCOPE_KEY_INO, &target.number)) {
		target.kind = UOBJSCOPE_OBJECT_DMABUF;
		target.record = NULL;
	} else if (!strcmp(kind, "uverbs") &&
		   uobjscope_get(fd, UOBJSCOPE_KEY_UFILE, &target.number)) {
		target.kind = UOBJSCOPE_OBJECT_UFILE;
		target.record = NULL;
	}
	return target;
}

/* A mapping leads to its entry, and one that has let go of it to its file. */
static struct target vma_target(const struct uobjscope *scope,
				const struct uobjscope_record *vma)
{
	struct target target = { .kind = UOBJSCOPE_OBJECT_MMAP };

	target.record = uobjscope_entry_of(scope, vma);
	if (!target.record) {
		target.kind = UOBJSCOPE_OBJECT_UFILE;
		uobjscope_get(vma, UOBJSCOPE_KEY_UFILE, &target.number);
	}
	return target;
}

static void of_target(struct uobjscope_holders *holders, const struct target *target)
{
	switch (target->kind) {
	case UOBJSCOPE_OBJECT_DMABUF:
		holders_of_dmabuf(holders, target->number);
		break;
	case UOBJSCOPE_OBJECT_UFILE:
		holders_of_ufile(holders, target->number);
		break;
	case UOBJSCOPE_OBJECT_MMAP:
		holders_of_mmap(holders, target->record);
		break;
	default:
		holders_of_file(holders, target->record);
	}
}

static void of_pid(struct uobjscope_holders *holders, uint64_t pid)
{
	const struct uobjscope *scope = holders->scope;
	struct uobjscope_group fds = uobjscope_find(scope, UOBJSCOPE_FDS_BY_PID, pid);
	struct uobjscope_group vmas = uobjscope_find(scope, UOBJSCOPE_VMAS_BY_PID, pid);
	struct target *targets = malloc((fds.count + vmas.count + 1) * sizeof(*targets));
	size_t count = 0;

	if (!targets) {
		holders->nomem = true;
		return;
	}
	for (size_t i = 0; i < fds.count; i++)
		targets[count++] = fd_target(fds.records[i]);
	for (size_t i = 0; i < vmas.count; i++)
		targets[count++] = vma_target(scope, vmas.records[i]);
	qsort(targets, count, sizeof(*targets), compare_targets);
	for (size_t i = 0; i < count; i++)
		if (!i || compare_targets(&targets[i - 1], &targets[i]))
			of_target(holders, &targets[i]);
	free(targets);
}

static void of_pid_fd(struct uobjscope_holders *holders, uint64_t pid, uint64_t fd)
{
	struct uobjscope_group fds =
		uobjscope_find_both(holders->scope, UOBJSCOPE_FDS_BY_PID, pid, fd);

	if (fds.count) {
		struct target target = fd_target(fds.records[0]);

		of_target(holders, &target);
	}
}

static void of_type(struct uobjscope_holders *holders, uint64_t ufile, const char *type)
{
	struct uobjscope_group uobjs =
		uobjscope_find(holders->scope, UOBJSCOPE_UOBJS_BY_UFILE, ufile);

	for (size_t i = 0; i < uobjs.count; i++)
		if (uobjscope_type_is(uobjs.records[i], type))
			holders_of_uobj(holders, uobjs.records[i]);
}

static void of_object(struct uobjscope_holders *holders, const struct object *object)
{
	const struct uobjscope *scope = holders->scope;
	const struct uobjscope_record *record;

	switch (object->form) {
	case OBJECT_INO:
		holders_of_dmabuf(holders, object->number);
		break;
	case OBJECT_PID:
		of_pid(holders, object->number);
		break;
	case OBJECT_PID_FD:
		of_pid_fd(holders, object->number, object->second);
		break;
	case OBJECT_UFILE:
		holders_of_ufile(holders, object->number);
		break;
	case OBJECT_UFILE_TYPE:
		of_type(holders, object->number, object->type);
		break;
	case OBJECT_UFILE_HANDLE:
		record = uobjscope_uobj(scope, object->number,
					object->type[0] ? object->type : NULL, object->second);
		if (record)
			holders_of_uobj(holders, record);
		break;
	case OBJECT_UFILE_MMAP:
		record = uobjscope_mmap(scope, object->number, object->second);
		if (record)
			holders_of_mmap(holders, record);
		break;
	}
}

struct uobjscope_holders *uobjscope_holders(const struct uobjscope *scope, const char *name,
					    struct uobjscope_error *error)
{
	struct uobjscope_holders *holders;
	struct object object;

	if (uobjscope_parse_object(&object, name, error))
		return NULL;
	holders = calloc(1, sizeof(*holders));
	if (!holders) {
		uobjscope_nomem(error, name);
		return NULL;
	}
	holders->scope = scope;
	of_object(holders, &object);
	settle_report(holders);
	if (holders->nomem) {
		uobjscope_holders_free(holders);
		uobjscope_nomem(error, name);
		return NULL;
	}
	return holders;
}

void uobjscope_holders_free(struct uobjscope_holders *holders)
{
	if (!holders)
		return;
	for (size_t i = 0; i < holders->count; i++) {
		struct uobjscope_report *report = &holders->reports[i];

		for (size_t j = 0; j < report->count; j++)
			free(report->tallies[j].holders);
		free(report->tallies);
	}
	free(holders->reports);
	free(holders);
}

size_t uobjscope_holders_count(const struct uobjscope_holders *holders)
{
	return holders->count;
}

const struct uobjscope_report *uobjscope_holders_report(const struct uobjscope_holders *holders,
							size_t n)
{
	return n < holders->count ? &holders->reports[n] : NULL;
}
