// SPDX-License-Identifier: GPL-2.0
/*
 * A timeline as an SVG picture.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "timeline.h"

/* Pixels. */
#define GUTTER		230
#define PLOT		1130
#define MARGIN		16
#define WIDTH		(GUTTER + PLOT + 2 * MARGIN)
#define ROW		24
#define BAR		14
#define GROUP		26
#define TIER		15
#define NR_TIERS	3
#define LEGEND		34
#define LEAST_BAR	3.0
/* Of a letter of the fixed font, whose size is set so that it is that. */
#define LETTER		6.0
#define SANS		"font-family=\"DejaVu Sans,Helvetica,Arial,sans-serif\""
#define FONT		"font-family=\"DejaVu Sans Mono,Liberation Mono,Consolas,monospace\" " \
			"font-size=\"10\""

static const char style[] =
	"<style>\n"
	".grid { stroke: #e4e8ed }\n"
	".edge { stroke: #d5dbe2 }\n"
	".dash { stroke-width: 1.4; stroke-dasharray: 5 3 }\n"
	".tick { font-size: 10px; fill: #5d6b7c }\n"
	".group { fill: #eef1f5 }\n"
	".heading { font-weight: bold; font-size: 12px }\n"
	".child { fill: #5d6b7c }\n"
	".lost { fill-opacity: 0.5; stroke-dasharray: 3 2 }\n"
	".thin { fill-opacity: 0.55 }\n"
	".beside { fill: #3b4757 }\n"
	".mark { fill: #fff; stroke: #1c2430 }\n"
	".bad { fill: #c8102e; stroke: #fff }\n"
	".get { fill: #1f8a70 }\n"
	".put { fill: #c2571a }\n"
	"</style>\n";

/**
 * struct picture - what is being drawn
 * @timeline:	of this
 * @out:	to there
 * @by_order:	the axis is one of events, not of time
 * @span:	microseconds from the first event to the last
 * @top:	first pixel of the rows
 * @bottom:	pixel after the last one
 * @y:		first pixel of each row
 */
struct picture {
	const struct timeline *timeline;
	FILE *out;
	bool by_order;
	double span;
	double top;
	double bottom;
	double *y;
};

/* Text that XML takes, cut off at so many letters. */
static void put_text(FILE *out, const char *text, size_t most)
{
	char *copy = utf8_text(text);
	size_t letters = 0;
	const char *at;

	for (at = copy; *at; at++) {
		if ((*at & 0xc0) != 0x80 && ++letters > most)
			break;
		if (*at == '<')
			fputs("&lt;", out);
		else if (*at == '>')
			fputs("&gt;", out);
		else if (*at == '&')
			fputs("&amp;", out);
		else if (*at == '"')
			fputs("&quot;", out);
		else if ((unsigned char)*at < ' ' || *at == 0x7f)
			fputs("\xef\xbf\xbd", out);
		else
			fputc(*at, out);
	}
	if (*at)
		fputs("\xe2\x80\xa6", out);
	free(copy);
}

static size_t count_letters(const char *text)
{
	size_t letters = 0;

	for (; *text; text++)
		letters += (*text & 0xc0) != 0x80;
	return letters;
}

/* Shapes; look is more attributes of theirs. */
static void put_line(FILE *out, const char *look, double x1, double y1, double x2, double y2)
{
	fprintf(out, "<line %s x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", look, x1, y1,
		x2, y2);
}

static void put_dashes(FILE *out, const char *color, double x, double y1, double y2)
{
	fprintf(out, "<path class=\"dash\" stroke=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", color, x, y1,
		y2);
}

static void put_box(FILE *out, const char *look, double x, double y, double width, double height)
{
	fprintf(out, "<rect %s x=\"%.1f\" y=\"%.1f\" ", look, x, y);
	fprintf(out, "width=\"%.1f\" height=\"%.1f\"/>\n", width, height);
}

/* Text at a place, in the fixed font if it is not said otherwise. */
static void put_words(FILE *out, const char *look, double x, double y, const char *text,
		      size_t most)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, look);
	put_text(out, text, most);
	fputs("</text>\n", out);
}

static double x_of(const struct picture *picture, size_t event)
{
	const size_t count = picture->timeline->trace.count;
	double part = picture->by_order ? (event + 0.5) / count :
		      picture->span > 0 ? timeline_us(picture->timeline, event) / picture->span :
		      0.5;

	return MARGIN + GUTTER + part * PLOT;
}

/* The edges of the whole bar; what is cut off reaches to the end of the picture. */
static double x_of_birth(const struct picture *picture, const struct bar *bar)
{
	return bar->begins == EDGE_CUT ? MARGIN + GUTTER : x_of(picture, bar->birth);
}

static double x_of_death(const struct picture *picture, const struct bar *bar)
{
	double birth = x_of_birth(picture, bar);
	double death = bar->ends == EDGE_CUT ? MARGIN + GUTTER + PLOT :
					       x_of(picture, bar->death);

	return death - birth < LEAST_BAR ? birth + LEAST_BAR : death;
}

/* A time for a person, as exact as the whole is long. */
static char *time_text(double us, double step)
{
	static const struct {
		double us;
		const char *unit;
	} units[] = { { 1e6, "s" }, { 1e3, "ms" }, { 1, "us" } };
	size_t n;
	int digits;

	for (n = 0; n < ARRAY_SIZE(units) - 1; n++)
		if (us >= units[n].us)
			break;
	digits = ceil(log10(units[n].us / step) - 0.001);
	if (digits < 0 || us == 0)
		digits = 0;
	return format("%.*f %s", digits > 6 ? 6 : digits, us / units[n].us, units[n].unit);
}

/* The steps of the axis: 1, 2 or 5 times a power of ten, about ten of them. */
static double step_of(double span)
{
	double step = pow(10, floor(log10(span / 10))), part = span / 10 / step;

	return step * (part > 5 ? 10 : part > 2 ? 5 : part > 1 ? 2 : 1);
}

static void put_tick(const struct picture *picture, double x, double us, double step)
{
	char *text = time_text(us, step);

	put_line(picture->out, "class=\"grid\"", x, picture->top - 4, x, picture->bottom);
	put_words(picture->out, "class=\"tick\" text-anchor=\"middle\"", x, picture->top - 8, text,
		  40);
	free(text);
}

static void axis(const struct picture *picture)
{
	const size_t count = picture->timeline->trace.count;
	double step, us;
	size_t n, every;

	if (picture->by_order) {
		every = (count + 9) / 10;
		for (n = 0; n < count; n += every)
			put_tick(picture, x_of(picture, n), timeline_us(picture->timeline, n),
				 picture->span > 0 ? step_of(picture->span) / 1000 : 1);
		return;
	}
	if (picture->span <= 0)
		return;
	step = step_of(picture->span);
	for (us = 0; us <= picture->span; us += step)
		put_tick(picture, MARGIN + GUTTER + us / picture->span * PLOT, us, step);
}

/* Is there anything of a kind? */
static bool has_kind(const struct timeline *timeline, size_t kind)
{
	size_t n;

	for (n = 0; n < timeline->nr_bars; n++)
		if (timeline->bars[n].kind == kind)
			return true;
	return false;
}

static bool has_line(const struct timeline *timeline, size_t kind)
{
	size_t n;

	for (n = 0; n < timeline->nr_lines; n++)
		if (timeline->lines[n].kind == kind)
			return true;
	return false;
}

static double legend_text(const struct picture *picture, double x, const char *text)
{
	put_words(picture->out, FONT, x, LEGEND + 14, text, 40);
	return x + LETTER * strlen(text) + 16;
}

/* Marks: a reference that is taken, or given back, and anything else. */
static void put_get(FILE *out, double x, double y)
{
	fprintf(out, "<path class=\"get\" d=\"M%.1f %.1fl3 5.5h-6z\">", x, y);
}

static void put_put(FILE *out, double x, double y)
{
	fprintf(out, "<path class=\"put\" d=\"M%.1f %.1fl3 -5.5h-6z\">", x, y + 5.5);
}

static void put_dot(FILE *out, const char *class, double x, double y)
{
	fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\">", class, x, y + 3);
}

static void legend(const struct picture *picture)
{
	const struct timeline *timeline = picture->timeline;
	FILE *out = picture->out;
	double x = MARGIN;
	size_t n;

	for (n = KIND_UFILE; n < NR_KINDS; n++) {
		char *look;

		if (!has_kind(timeline, n))
			continue;
		look = format("rx=\"2\" fill=\"%s\"", kinds[n].color);
		put_box(out, look, x, LEGEND + 5, 16, 11);
		free(look);
		x = legend_text(picture, x + 21, kinds[n].name);
	}
	for (n = 0; n < NR_LINE_KINDS; n++) {
		if (!has_line(timeline, n))
			continue;
		put_dashes(out, line_kinds[n].color, x + 4, LEGEND + 3, LEGEND + 18);
		x = legend_text(picture, x + 12, line_kinds[n].name);
	}
	put_get(out, x + 4, LEGEND + 8);
	fputs("</path>", out);
	x = legend_text(picture, x + 12, "reference taken");
	put_put(out, x + 4, LEGEND + 8);
	fputs("</path>", out);
	x = legend_text(picture, x + 12, "given back");
	put_dot(out, "mark", x + 4, LEGEND + 8);
	fputs("</circle>", out);
	x = legend_text(picture, x + 12, "other event");
	put_dot(out, "bad", x + 4, LEGEND + 8);
	fputs("</circle>", out);
	legend_text(picture, x + 12, "refused or failed");
}

static void groups_and_rows(struct picture *picture)
{
	const struct timeline *timeline = picture->timeline;
	double y = picture->top;
	size_t n, group = 0;

	for (n = 0; n < timeline->nr_rows; n++) {
		const struct row *row = &timeline->rows[n];
		const bool child = *row->label == ' ', ufile = row->kind == KIND_UFILE;

		for (; group < timeline->nr_groups && timeline->groups[group].first == n; group++) {
			put_box(picture->out, "class=\"group\"", MARGIN, y + 3, GUTTER + PLOT,
				GROUP - 6);
			put_words(picture->out, "class=\"heading\"", MARGIN + 6, y + 17,
				  timeline->groups[group].label, 120);
			y += GROUP;
		}
		picture->y[n] = y;
		if (ufile)
			put_line(picture->out, "class=\"edge\"", MARGIN, y - 1, WIDTH - MARGIN,
				 y - 1);
		put_words(picture->out, child ? FONT " class=\"child\"" :
			  ufile ? FONT " font-weight=\"bold\"" : FONT, MARGIN + (child ? 24 : 12),
			  y + 13, row->label + strspn(row->label, " "), child ? 33 : 35);
		y += ROW;
	}
}

static double height_of_rows(const struct timeline *timeline)
{
	return (double)timeline->nr_groups * GROUP + (double)timeline->nr_rows * ROW;
}

/* How a bar is filled. */
static char *look_of(const struct bar *bar)
{
	const char *color = kinds[bar->kind].color;

	if (bar->begins == EDGE_NEVER)
		return format("fill=\"#ffffff\" stroke=\"%s\"", color);
	if (bar->ends == EDGE_LOST || bar->begins == EDGE_LOST)
		return format("class=\"lost\" fill=\"%s\" stroke=\"%s\"", color, color);
	return format("fill=\"%s\"", color);
}

/* Born before the picture begins, or there when it ends: an arrow points there. */
static void shape(const struct picture *picture, const struct bar *bar, double x1, double x2,
		  double y)
{
	const double point = x2 - x1 < 12 ? (x2 - x1) / 3 : 5;
	const double end = y + BAR, middle = y + BAR / 2.0;
	FILE *out = picture->out;
	char *look = look_of(bar);

	fprintf(out, "<path %s d=\"M%.1f %.1f", look, x1 + (bar->begins == EDGE_CUT ? point : 0),
		y);
	if (bar->begins == EDGE_CUT)
		fprintf(out, "L%.1f %.1fL%.1f %.1f", x1, middle, x1 + point, end);
	else
		fprintf(out, "V%.1f", end);
	if (bar->ends == EDGE_CUT)
		fprintf(out, "H%.1fL%.1f %.1fL%.1f %.1f", x2 - point, x2, middle, x2 - point, y);
	else
		fprintf(out, "H%.1fV%.1f", x2, y);
	fputs("z\"/>", out);
	free(look);
}

static void whisker(const struct picture *picture, const struct bar *bar, double x1, double x2,
		    double y)
{
	char *look;

	if (x2 - x1 < 1)
		return;
	look = format("class=\"thin\" fill=\"%s\"", kinds[bar->kind].color);
	put_box(picture->out, look, x1, y + BAR / 2.0 - 1.5, x2 - x1, 3);
	free(look);
}

/* What a pointer that rests on it is told. */
static void put_title(const struct picture *picture, const struct bar *bar)
{
	static const char *const never = "never committed";
	const struct timeline *timeline = picture->timeline;
	char *from = time_text(timeline_us(timeline, bar->birth), 0.1);
	char *to = time_text(timeline_us(timeline, bar->death), 0.1);

	fputs("<title>", picture->out);
	put_text(picture->out, bar->name, 200);
	fprintf(picture->out, "\n%s %s\n%s %s</title>",
		bar->begins == EDGE_CUT ? "there at" :
		bar->begins == EDGE_LOST ? "its begin was lost, after" :
		bar->begins == EDGE_NEVER ? never : "from", from,
		bar->ends == EDGE_CUT ? "still there at" :
		bar->ends == EDGE_LOST ? "its end was lost, before" : "to", to);
	free(from);
	free(to);
}

/* The name in the bar, or behind it if nothing else is there. */
static void label(const struct picture *picture, const struct bar *bar, double x1, double x2,
		  double tail, double next, double y)
{
	const bool bright = bar->begins == EDGE_NEVER || bar->begins == EDGE_LOST ||
			    bar->ends == EDGE_LOST;
	const double room = x2 - x1 - 12;
	size_t letters = count_letters(bar->name);
	char *look;

	if (room >= letters * LETTER || room >= 16 * LETTER) {
		look = format(FONT " fill=\"%s\"", bright ? "#1c2430" : kinds[bar->kind].ink);
		put_words(picture->out, look, x1 + 6, y + 10.5, bar->name, room / LETTER);
		free(look);
	} else if (next - tail - 12 >= letters * LETTER) {
		put_words(picture->out, FONT " class=\"beside\"", tail + 4, y + 10.5, bar->name,
			  letters);
	}
}

static const struct timeline *sorted_timeline;

static int by_row(const void *a, const void *b)
{
	const struct bar *x = &sorted_timeline->bars[*(const size_t *)a];
	const struct bar *y = &sorted_timeline->bars[*(const size_t *)b];

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->head < y->head ? -1 : x->head > y->head;
}

static void bars(const struct picture *picture)
{
	const struct timeline *timeline = picture->timeline;
	size_t *sorted = need(malloc((timeline->nr_bars + 1) * sizeof(*sorted))), n;

	for (n = 0; n < timeline->nr_bars; n++)
		sorted[n] = n;
	sorted_timeline = timeline;
	qsort(sorted, timeline->nr_bars, sizeof(*sorted), by_row);
	for (n = 0; n < timeline->nr_bars; n++) {
		const struct bar *bar = &timeline->bars[sorted[n]];
		const struct bar *next = n + 1 < timeline->nr_bars ?
					 &timeline->bars[sorted[n + 1]] : NULL;
		double x1 = x_of_birth(picture, bar), x2 = x_of_death(picture, bar);
		double y = picture->y[bar->row] + 2, tail = fmax(x2, x_of(picture, bar->tail));
		double end = next && next->row == bar->row ? x_of(picture, next->head) :
							      MARGIN + GUTTER + PLOT;

		fprintf(picture->out, "<g class=\"bar\" data-bar=\"%zu\">", sorted[n]);
		put_title(picture, bar);
		whisker(picture, bar, x_of(picture, bar->head), x1, y);
		whisker(picture, bar, x2, tail, y);
		shape(picture, bar, x1, x2, y);
		label(picture, bar, x1, x2, tail, end, y);
		fputs("</g>\n", picture->out);
	}
	free(sorted);
}

/* Something that was refused, or has failed. */
static bool is_bad(const struct trace_event *event)
{
	char text[24];

	return (trace_field(event, "ret", text, sizeof(text)) && strcmp(text, "0")) ||
	       (!strcmp(event->name, "command") &&
		trace_field(event, "status", text, sizeof(text)) && strcmp(text, "0x0"));
}

static void marks(const struct picture *picture)
{
	const struct timeline *timeline = picture->timeline;
	FILE *out = picture->out;
	size_t n;

	for (n = 0; n < timeline->nr_marks; n++) {
		const struct mark *mark = &timeline->marks[n];
		const struct trace_event *event = &timeline->trace.events[mark->event];
		double x = x_of(picture, mark->event), y = picture->y[mark->row] + BAR + 3;
		char *text = time_text(timeline_us(timeline, mark->event), 0.1);
		const char *shape = "path";

		if (!strcmp(event->name, "mmap_entry_get")) {
			put_get(out, x, y);
		} else if (!strcmp(event->name, "mmap_entry_put")) {
			put_put(out, x, y);
		} else {
			put_dot(out, is_bad(event) ? "bad" : "mark", x, y);
			shape = "circle";
		}
		fprintf(out, "<title>%s ", text);
		put_text(out, event->name, 60);
		fputc('\n', out);
		put_text(out, event->fields, 400);
		fprintf(out, "</title></%s>\n", shape);
		free(text);
	}
}

/* Labels are above, in the first of some tiers that has room, or nowhere. */
static void lines(const struct picture *picture)
{
	const struct timeline *timeline = picture->timeline;
	double ends[NR_TIERS] = { 0 }, last = -1e9;
	size_t n, tier, most = 34;

	for (n = 0; n < timeline->nr_lines; n++) {
		const struct line *line = &timeline->lines[n];
		const char *color = line_kinds[line->kind].color;
		double x = x_of(picture, line->event), at, width, y;
		size_t letters = count_letters(line->label);
		char *look;

		width = (letters > most ? most + 1 : letters) * LETTER;
		at = x + width > WIDTH - MARGIN ? x - width - 5 : x + 5;
		for (tier = 0; tier < NR_TIERS; tier++)
			if (ends[tier] < (at < x ? at : x) - 4)
				break;
		y = LEGEND + 26 + TIER * (tier < NR_TIERS ? tier : 0);
		fprintf(picture->out, "<g class=\"line\" data-line=\"%zu\"><title>", n);
		put_text(picture->out, line->label, 400);
		fputs("</title>", picture->out);
		/* Those that no eye can tell apart are one. */
		if (x - last >= 1 || tier < NR_TIERS) {
			put_dashes(picture->out, color, x, y, picture->bottom);
			last = x;
		}
		if (tier < NR_TIERS) {
			look = format(FONT " fill=\"%s\"", color);
			put_words(picture->out, look, at, y + 9, line->label, most);
			free(look);
			ends[tier] = at < x ? x : at + width;
		}
		fputs("</g>\n", picture->out);
	}
}

void timeline_svg(const struct timeline *timeline, const char *title, bool by_order, FILE *out)
{
	struct picture picture = {
		.timeline = timeline,
		.out = out,
		.by_order = by_order,
		.span = timeline_us(timeline, timeline->trace.count - 1),
		.top = LEGEND + 26 + (timeline->nr_lines ? NR_TIERS * TIER : 0) + 24,
		.y = need(calloc(timeline->nr_rows + 1, sizeof(double))),
	};
	char *span = time_text(picture.span, picture.span > 0 ? picture.span / 1000 : 1), *words;
	double height;

	picture.bottom = picture.top + height_of_rows(timeline) + 4;
	height = picture.bottom + MARGIN;
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" ", WIDTH,
		height);
	fprintf(out, "viewBox=\"0 0 %d %.0f\" font-size=\"12\" fill=\"#1c2430\" " SANS ">\n", WIDTH,
		height);
	fputs(style, out);
	put_box(out, "fill=\"#ffffff\"", 0, 0, WIDTH, height);
	put_words(out, "font-size=\"16\" font-weight=\"bold\"", MARGIN, 24, title, 100);
	words = format("%zu events in %s%s", timeline->trace.count, span,
		       by_order ? ", each as wide as another" : "");
	put_words(out, "text-anchor=\"end\" class=\"tick\"", WIDTH - MARGIN, 24, words, 100);
	free(words);
	free(span);
	legend(&picture);
	axis(&picture);
	groups_and_rows(&picture);
	bars(&picture);
	marks(&picture);
	lines(&picture);
	fputs("</svg>\n", out);
	free(picture.y);
}
