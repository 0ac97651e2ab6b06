// SPDX-License-Identifier: GPL-2.0
/*
 * Tables that fit the terminal.
 *
 * Where there is not enough room, columns are left out, the least important
 * ones first, and that is said; a cell is never cut, since half a number is a
 * wrong one.  What is not a terminal gets everything.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define GAP 2

struct table {
	const struct column *columns;
	size_t ncolumns;
	char **cells;
	size_t ncells;
	size_t room;
};

struct table *table_new(const struct column *columns, size_t count)
{
	struct table *table = need(calloc(1, sizeof(*table)));

	table->columns = columns;
	table->ncolumns = count;
	return table;
}

void table_cell(struct table *table, char *text)
{
	if (table->ncells == table->room) {
		table->room = table->room ? table->room * 2 : 256;
		table->cells = need(realloc(table->cells, table->room * sizeof(*table->cells)));
	}
	table->cells[table->ncells++] = text;
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->ncells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

static void measure(const struct table *table, size_t *widths)
{
	for (size_t i = 0; i < table->ncolumns; i++)
		widths[i] = strlen(table->columns[i].name);
	for (size_t i = 0; i < table->ncells; i++) {
		size_t n = strlen(table->cells[i]);

		if (n > widths[i % table->ncolumns])
			widths[i % table->ncolumns] = n;
	}
}

static size_t total_width(const struct table *table, const size_t *widths)
{
	size_t total = 0;

	for (size_t i = 0; i < table->ncolumns; i++)
		if (widths[i])
			total += widths[i] + (total ? GAP : 0);
	return total;
}

/* Leave out columns until the rest fits; a width of 0 means left out. */
static void fit(const struct table *table, size_t *widths, size_t width)
{
	char *hidden = need(strdup(""));
	size_t count = 0;

	while (total_width(table, widths) > width) {
		size_t worst = table->ncolumns;

		for (size_t i = 0; i < table->ncolumns; i++)
			if (widths[i] && table->columns[i].hide &&
			    (worst == table->ncolumns ||
			     table->columns[i].hide > table->columns[worst].hide))
				worst = i;
		/* Then from the right, as long as there is more than one. */
		for (size_t i = table->ncolumns; i-- > 1 && worst == table->ncolumns; )
			if (widths[i])
				worst = i;
		if (worst == table->ncolumns)
			break;
		widths[worst] = 0;
		char *more = format("%s%s%s", hidden, count++ ? ", " : "",
				    table->columns[worst].name);

		free(hidden);
		hidden = more;
	}
	if (count)
		remark("left out for want of room (a pipe gets all): %s", hidden);
	free(hidden);
}

static void print_row(const struct table *table, const size_t *widths, char **cells, FILE *out)
{
	size_t blanks = 0;

	for (size_t i = 0; i < table->ncolumns; i++) {
		const char *text = cells ? cells[i] : table->columns[i].name;
		size_t padding;

		if (!widths[i])
			continue;
		padding = widths[i] - strlen(text);
		if (table->columns[i].right)
			blanks += padding;
		/* No blanks at the end of a line. */
		fprintf(out, "%*s%s", (int)blanks, "", text);
		blanks = GAP + (table->columns[i].right ? 0 : padding);
	}
	fputc('\n', out);
}

void table_print(struct table *table, const char *caption, FILE *out, int width)
{
	size_t *widths = need(calloc(table->ncolumns, sizeof(*widths)));

	measure(table, widths);
	if (width)
		fit(table, widths, width);
	if (caption)
		fprintf(out, "%s\n", caption);
	print_row(table, widths, NULL, out);
	for (size_t i = 0; i + table->ncolumns <= table->ncells; i += table->ncolumns)
		print_row(table, widths, table->cells + i, out);
	free(widths);
}
