// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope show: one table for each kind of object.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Which record a column is taken from. */
enum source {
	FROM_SELF,
	FROM_ENTRY,	/* the mmap entry of a VAR, a DM or a DMABUF */
	FROM_UFILE,
	FROM_NUMBER,	/* the device's own number, by its name */
};

struct field_column {
	struct column column;
	enum source source;
	enum uobjscope_key key;
};

#define LEFT(name, hide, source, key) \
	{ { name, false, hide }, FROM_##source, UOBJSCOPE_KEY_##key }
#define RIGHT(name, hide, source, key) \
	{ { name, true, hide }, FROM_##source, UOBJSCOPE_KEY_##key }

/* What a row is about: a uobject and its entry, or either alone. */
struct row {
	const struct uobjscope_record *self;
	const struct uobjscope_record *entry;
};

struct rows {
	struct row *rows;
	size_t count;
	size_t room;
};

/**
 * struct show - a kind of object that can be shown
 * @name:	its word on the command line and in JSON
 * @caption:	line above the table where there are several
 * @columns:	its columns
 * @ncolumns:	their number
 * @collect:	finds what goes into it
 * @also:	word that shows this table as well, or NULL
 */
struct show {
	const char *name;
	const char *caption;
	const struct field_column *columns;
	size_t ncolumns;
	void (*collect)(const struct uobjscope *scope, struct rows *rows);
	const char *also;
};

static const struct field_column ufile_columns[] = {
	RIGHT("UFILE", 0, SELF, ID),
	LEFT("DEVICE", 0, SELF, DEVICE),
	LEFT("UVERBS", 5, SELF, UVERBS),
	LEFT("STATE", 0, SELF, STATE),
	LEFT("LISTED", 7, SELF, LISTED),
	RIGHT("REF", 0, SELF, REF),
	RIGHT("UOBJECTS", 2, SELF, UOBJECTS),
	RIGHT("UMAPS", 3, SELF, UMAPS),
	RIGHT("CTXN", 6, SELF, CTXN),
	LEFT("CHANGED", 8, SELF, CHANGED),
	RIGHT("PID", 0, SELF, PID),
	LEFT("COMM", 1, SELF, COMM),
};

static const struct field_column uobj_columns[] = {
	RIGHT("UFILE", 0, SELF, UFILE),
	LEFT("TYPE", 0, SELF, TYPE),
	RIGHT("HANDLE", 0, SELF, HANDLE),
	LEFT("CLASS", 6, SELF, CLASS),
	RIGHT("REF", 0, SELF, REF),
	RIGHT("USECNT", 0, SELF, USECNT),
	LEFT("STATE", 0, SELF, STATE),
	LEFT("NUMBER", 2, NUMBER, OTHER),
	RIGHT("USERS", 3, SELF, USERS),
	LEFT("DEVICE", 5, UFILE, DEVICE),
	RIGHT("PID", 1, UFILE, PID),
	LEFT("COMM", 4, UFILE, COMM),
};

static const struct field_column var_columns[] = {
	RIGHT("UFILE", 0, SELF, UFILE),
	RIGHT("HANDLE", 0, SELF, HANDLE),
	LEFT("KIND", 6, ENTRY, KIND),
	RIGHT("PAGE", 0, ENTRY, PAGE_ID),
	RIGHT("BIT", 4, ENTRY, VAR_BIT),
	RIGHT("REF", 0, SELF, REF),
	RIGHT("USECNT", 3, SELF, USECNT),
	LEFT("STATE", 1, SELF, STATE),
	RIGHT("PGOFF", 2, ENTRY, PGOFF),
	RIGHT("ENTRY_REF", 0, ENTRY, REF),
	RIGHT("VMAS", 0, ENTRY, VMAS),
	RIGHT("DMABUFS", 0, ENTRY, DMABUFS),
	RIGHT("REMOVED", 1, ENTRY, DRIVER_REMOVED),
	LEFT("DEVICE", 7, UFILE, DEVICE),
	RIGHT("PID", 1, UFILE, PID),
	LEFT("COMM", 5, UFILE, COMM),
};

static const struct field_column dm_columns[] = {
	RIGHT("UFILE", 0, SELF, UFILE),
	RIGHT("HANDLE", 0, SELF, HANDLE),
	LEFT("TYPE", 3, SELF, DM_TYPE),
	RIGHT("LENGTH", 0, SELF, LENGTH),
	RIGHT("DEV_ADDR", 4, SELF, DEV_ADDR),
	RIGHT("REF", 0, SELF, REF),
	LEFT("STATE", 2, SELF, STATE),
	RIGHT("DM_REF", 0, SELF, DM_REF),
	RIGHT("DM_USERS", 0, SELF, DM_USERS),
	RIGHT("OPS", 1, SELF, OPS),
	RIGHT("PGOFF", 3, ENTRY, PGOFF),
	RIGHT("ENTRY_REF", 0, ENTRY, REF),
	RIGHT("VMAS", 0, ENTRY, VMAS),
	RIGHT("DMABUFS", 1, ENTRY, DMABUFS),
	RIGHT("REMOVED", 2, ENTRY, DRIVER_REMOVED),
	LEFT("DEVICE", 7, UFILE, DEVICE),
	RIGHT("PID", 1, UFILE, PID),
	LEFT("COMM", 5, UFILE, COMM),
};

static const struct field_column dmabuf_columns[] = {
	RIGHT("UFILE", 0, SELF, UFILE),
	RIGHT("INO", 0, SELF, INO),
	RIGHT("SIZE", 1, SELF, SIZE),
	RIGHT("FILE_REF", 0, SELF, FILE_REF),
	RIGHT("KREF", 0, SELF, KREF),
	RIGHT("REVOKED", 0, SELF, REVOKED),
	RIGHT("REF", 2, SELF, REF),
	LEFT("STATE", 2, SELF, STATE),
	LEFT("KIND", 3, ENTRY, KIND),
	RIGHT("PGOFF", 3, ENTRY, PGOFF),
	RIGHT("ENTRY_REF", 4, ENTRY, REF),
	LEFT("DEVICE", 7, UFILE, DEVICE),
	RIGHT("PID", 1, UFILE, PID),
	LEFT("COMM", 5, UFILE, COMM),
};

static const struct field_column attach_columns[] = {
	RIGHT("UFILE", 3, SELF, UFILE),
	RIGHT("INO", 0, SELF, INO),
	LEFT("DEVICE", 1, SELF, DEVICE),
	LEFT("IMPORTER", 2, SELF, IMPORTER),
	RIGHT("P2P", 4, SELF, PEER2PEER),
	RIGHT("INVALIDATE", 5, SELF, INVALIDATE),
	RIGHT("MAPPED", 0, SELF, MAPPED),
	RIGHT("PINNED", 1, SELF, PINNED),
	RIGHT("REVOKED", 1, SELF, REVOKED),
	RIGHT("OFFSET", 6, SELF, OFFSET),
	RIGHT("LENGTH", 6, SELF, LENGTH),
	LEFT("IFNAME", 2, SELF, IBDEV),
	RIGHT("MRN", 0, SELF, MRN),
	LEFT("STATE", 7, SELF, STATE),
};

static const struct field_column mmap_columns[] = {
	RIGHT("UFILE", 0, SELF, UFILE),
	RIGHT("PGOFF", 0, SELF, PGOFF),
	RIGHT("NPAGES", 3, SELF, NPAGES),
	LEFT("KIND", 0, SELF, KIND),
	RIGHT("REF", 0, SELF, REF),
	RIGHT("REMOVED", 0, SELF, DRIVER_REMOVED),
	RIGHT("VMAS", 0, SELF, VMAS),
	RIGHT("DMABUFS", 0, SELF, DMABUFS),
	RIGHT("PAGE", 2, SELF, PAGE_ID),
	RIGHT("OP", 4, SELF, OP),
	RIGHT("ADDR", 5, SELF, ADDR),
	LEFT("DEVICE", 6, UFILE, DEVICE),
	RIGHT("PID", 1, UFILE, PID),
	LEFT("COMM", 4, UFILE, COMM),
};

static const struct field_column vma_columns[] = {
	RIGHT("UFILE", 0, SELF, UFILE),
	RIGHT("PID", 0, SELF, PID),
	RIGHT("START", 0, SELF, START),
	RIGHT("END", 0, SELF, END),
	LEFT("KIND", 1, ENTRY, KIND),
	RIGHT("PGOFF", 0, ENTRY, PGOFF),
};

static void add_row(struct rows *rows, const struct uobjscope_record *self,
		    const struct uobjscope_record *entry)
{
	if (rows->count == rows->room) {
		rows->room = rows->room ? rows->room * 2 : 256;
		rows->rows = need(realloc(rows->rows, rows->room * sizeof(*rows->rows)));
	}
	rows->rows[rows->count++] = (struct row) { self, entry };
}

static void collect_type(const struct uobjscope *scope, enum uobjscope_type type,
			 struct rows *rows)
{
	size_t count = uobjscope_count(scope, type);

	for (size_t i = 0; i < count; i++) {
		const struct uobjscope_record *record = uobjscope_record(scope, type, i);

		add_row(rows, record, type == UOBJSCOPE_UFILE || type == UOBJSCOPE_ATTACH ?
				      NULL : uobjscope_entry_of(scope, record));
	}
}

static void collect_ufiles(const struct uobjscope *scope, struct rows *rows)
{
	collect_type(scope, UOBJSCOPE_UFILE, rows);
}

static void collect_uobjs(const struct uobjscope *scope, struct rows *rows)
{
	collect_type(scope, UOBJSCOPE_UOBJ, rows);
}

static void collect_mmaps(const struct uobjscope *scope, struct rows *rows)
{
	collect_type(scope, UOBJSCOPE_MMAP, rows);
}

static void collect_vmas(const struct uobjscope *scope, struct rows *rows)
{
	collect_type(scope, UOBJSCOPE_VMA, rows);
}

static void collect_attaches(const struct uobjscope *scope, struct rows *rows)
{
	collect_type(scope, UOBJSCOPE_ATTACH, rows);
}

static void collect_by_name(const struct uobjscope *scope, const char *type, struct rows *rows)
{
	size_t count = uobjscope_count(scope, UOBJSCOPE_UOBJ);

	for (size_t i = 0; i < count; i++) {
		const struct uobjscope_record *uobj = uobjscope_record(scope, UOBJSCOPE_UOBJ, i);

		if (uobjscope_type_is(uobj, type))
			add_row(rows, uobj, uobjscope_entry_of(scope, uobj));
	}
}

static void collect_dmabufs(const struct uobjscope *scope, struct rows *rows)
{
	collect_by_name(scope, "DMABUF", rows);
}

static int compare_pointers(const void *a, const void *b)
{
	const struct uobjscope_record *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Entries that outlive their uobject, because a mapping or a dma-buf has them. */
static void collect_orphans(const struct uobjscope *scope, const char *const *kinds,
			    struct rows *rows)
{
	const struct uobjscope_record **owned = need(calloc(rows->count + 1, sizeof(*owned)));
	size_t mmaps = uobjscope_count(scope, UOBJSCOPE_MMAP);
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].entry)
			owned[count++] = rows->rows[i].entry;
	qsort(owned, count, sizeof(*owned), compare_pointers);
	for (size_t i = 0; i < mmaps; i++) {
		const struct uobjscope_record *mmap = uobjscope_record(scope, UOBJSCOPE_MMAP, i);
		const char *kind = uobjscope_text(mmap, UOBJSCOPE_KEY_KIND);
		const char *const *k = kinds;

		while (*k && strcmp(*k, kind))
			k++;
		if (*k && !bsearch(&mmap, owned, count, sizeof(*owned), compare_pointers))
			add_row(rows, NULL, mmap);
	}
	free(owned);
}

static void collect_vars(const struct uobjscope *scope, struct rows *rows)
{
	static const char *const kinds[] = { "VAR", "TLP_VAR", NULL };

	collect_by_name(scope, "VAR", rows);
	collect_orphans(scope, kinds, rows);
}

static void collect_dms(const struct uobjscope *scope, struct rows *rows)
{
	static const char *const kinds[] = { "MEMIC", NULL };

	collect_by_name(scope, "DM", rows);
	collect_orphans(scope, kinds, rows);
}

static const struct show shows[] = {
	{ "ufile", "ufiles", ufile_columns,
	  ARRAY_SIZE(ufile_columns), collect_ufiles, NULL },
	{ "uobj", "uobjects", uobj_columns,
	  ARRAY_SIZE(uobj_columns), collect_uobjs, NULL },
	{ "var", "VARs", var_columns,
	  ARRAY_SIZE(var_columns), collect_vars, NULL },
	{ "dm", "DMs", dm_columns,
	  ARRAY_SIZE(dm_columns), collect_dms, NULL },
	{ "dmabuf", "dma-bufs", dmabuf_columns,
	  ARRAY_SIZE(dmabuf_columns), collect_dmabufs, NULL },
	{ "attach", "attachments", attach_columns,
	  ARRAY_SIZE(attach_columns), collect_attaches, "dmabuf" },
	{ "mmap", "mmap entries", mmap_columns,
	  ARRAY_SIZE(mmap_columns), collect_mmaps, NULL },
	{ "vma", "mappings", vma_columns,
	  ARRAY_SIZE(vma_columns), collect_vmas, "mmap" },
};

static char *cell(const struct uobjscope *scope, const struct row *row,
		  const struct field_column *column)
{
	const struct uobjscope_record *any = row->self ? row->self : row->entry;

	switch (column->source) {
	case FROM_SELF:
		/* What an entry says of its DM is all that is left of it. */
		if (!row->self && column->key != UOBJSCOPE_KEY_REF)
			return value_text(row->entry, column->key);
		return value_text(row->self, column->key);
	case FROM_ENTRY:
		return value_text(row->entry, column->key);
	case FROM_UFILE:
		return value_text(uobjscope_ufile_of(scope, any), column->key);
	default:
		return number_text(any);
	}
}

static void print_table(const struct uobjscope *scope, const struct show *show,
			const struct rows *rows, const char *caption, int width, FILE *out)
{
	struct column *columns = need(calloc(show->ncolumns, sizeof(*columns)));
	struct table *table;

	for (size_t i = 0; i < show->ncolumns; i++)
		columns[i] = show->columns[i].column;
	table = table_new(columns, show->ncolumns);
	for (size_t i = 0; i < rows->count; i++)
		for (size_t j = 0; j < show->ncolumns; j++)
			table_cell(table, cell(scope, &rows->rows[i], &show->columns[j]));
	table_print(table, caption, out, width);
	table_free(table);
	free(columns);
}

static json_object *json_row(const struct uobjscope *scope, const struct row *row)
{
	json_object *map = json_record(scope, row->self ? row->self : row->entry);

	if (row->self && row->entry && row->self != row->entry)
		json_put(map, "mmap", json_record(scope, row->entry));
	return map;
}

static bool is_wanted(const struct show *show, const char *what)
{
	if (!what)
		return strcmp(show->name, "var") && strcmp(show->name, "dm");
	return !strcmp(show->name, what) || (show->also && !strcmp(show->also, what));
}

bool is_show(const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++)
		if (!shows[i].also && !strcmp(shows[i].name, what))
			return true;
	return false;
}

static size_t count_wanted(const char *what)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(shows); i++)
		count += is_wanted(&shows[i], what);
	return count;
}

int print_show(const struct uobjscope *scope, const char *what, bool json, bool compact,
	       FILE *out)
{
	json_object *map = json ? json_map() : NULL;
	bool several = count_wanted(what) > 1, first = true;
	int width = terminal_width();

	if (json)
		json_put(map, "snapshot", json_header(scope));
	for (size_t i = 0; i < ARRAY_SIZE(shows); i++) {
		struct rows rows = { 0 };

		if (!is_wanted(&shows[i], what))
			continue;
		shows[i].collect(scope, &rows);
		if (json) {
			json_object *array = json_array();

			for (size_t j = 0; j < rows.count; j++)
				json_append(array, json_row(scope, &rows.rows[j]));
			json_put(map, shows[i].name, array);
		} else {
			if (!first)
				fputc('\n', out);
			print_table(scope, &shows[i], &rows,
				    several ? shows[i].caption : NULL, width, out);
		}
		first = false;
		free(rows.rows);
	}
	if (json)
		json_print(map, out, compact);
	return EXIT_FINE;
}

int cmd_show(const struct options *options)
{
	struct uobjscope *scope = load(options);
	FILE *out;
	int status;

	if (!scope)
		return EXIT_UNREADABLE;
	out = begin_output();
	status = print_show(scope, options->nargs ? options->args[0] : NULL, options->json,
			    false, out);
	status = end_output(out, status);
	uobjscope_free(scope);
	return status;
}
