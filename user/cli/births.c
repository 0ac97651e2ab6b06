// SPDX-License-Identifier: GPL-2.0
/*
 * Births of objects, from the kernel's tracing.
 *
 * An instance of it, which nobody else sees, has the events of births with a trigger that
 * writes down the stack, and those of deaths that keep the table small.  What it prints is
 * read while the command runs, so that no buffer has to hold all of it.
 *
 * Lines are taken apart from their end: a task may be called anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "births.h"
#include "cli.h"
#include "instance.h"

/* For all processors together, but what the kernel begins with at least. */
#define BUFFERS_KB	65536
#define BUFFER_KB	1408
/* Largest pid that a 64-bit kernel gives out, PID_MAX_LIMIT. */
#define MAX_PID		4194304
#define FORK		"sched_process_fork"

/**
 * struct kind - a kind of event that is kept
 * @event: its name
 * @key: field that says whose it is
 * @death: event after which it is of no use, or NULL: then the next one in the same memory
 *	takes its place
 */
struct kind {
	const char *event;
	const char *key;
	const char *death;
};

static const struct kind kinds[] = {
	{ "ufile_open", "ufile", "ufile_release" },
	{ "uobject_commit", "uobject", "uobject_free" },
	{ "mmap_entry_insert", "entry", NULL },
	{ "vma_open", "vma", "vma_close" },
	{ "dmabuf_export", "uobject", NULL },
	{ "dmabuf_attach", "attachment", NULL },
};

/**
 * struct node - a birth that is kept
 * @birth: what others see
 * @id: kind and value of its key
 * @ours: made by the command
 * @older: the one before
 * @newer: the one after
 */
struct node {
	struct birth birth;
	char *id;
	bool ours;
	struct node *older;
	struct node *newer;
};

/**
 * struct births - all of them
 * @instance: what they are recorded in
 * @pipe: where events come from
 * @text: what was read and is not a whole line yet
 * @length: of @text
 * @room: for so many bytes of @text
 * @tree: of nodes, by id
 * @oldest: begin of the list
 * @newest: end of the list
 * @stack: whose stack the lines are that come, or NULL
 * @ours: a bit for each thread that is the command's
 * @lost: events that were lost
 * @switched_off: by somebody else, which is among @lost
 */
struct births {
	struct instance instance;
	int pipe;
	char *text;
	size_t length;
	size_t room;
	void *tree;
	struct node *oldest;
	struct node *newest;
	struct node *stack;
	unsigned char *ours;
	unsigned long lost;
	bool switched_off;
};

/* ---- the instance ---- */

static int set_event(const struct births *births, const char *event, const char *file,
		     const char *text, char **why)
{
	char *name = format("events/uobjscope/%s/%s", event, file);
	int err = instance_set(&births->instance, name, text, why);

	free(name);
	return err;
}

static bool set_up(const struct births *births, char **why)
{
	char *size = format("%lu", BUFFERS_KB / sysconf(_SC_NPROCESSORS_CONF) > BUFFER_KB ?
				   BUFFERS_KB / sysconf(_SC_NPROCESSORS_CONF) : BUFFER_KB);
	const struct instance *instance = &births->instance;
	bool good = !instance_set(instance, "trace_clock", "mono", why) &&
		    !instance_set(instance, "buffer_size_kb", size, why);

	free(size);
	/* Where it was a thread of another program's that made an object, this is not known. */
	good = good && !instance_set(instance, "events/sched/" FORK "/enable", "1", why);
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && good; i++) {
		good = !set_event(births, kinds[i].event, "trigger", "stacktrace", why) &&
		       !set_event(births, kinds[i].event, "enable", "1", why) &&
		       (!kinds[i].death ||
			!set_event(births, kinds[i].death, "enable", "1", why));
	}
	return good;
}

static void stop(struct births *births)
{
	if (births->pipe >= 0)
		close(births->pipe);
	births->pipe = -1;
	instance_end(&births->instance);
}

struct births *births_begin(const char *debugfs, char **why)
{
	struct births *births = need(calloc(1, sizeof(*births)));
	char *path;

	births->pipe = -1;
	births->ours = need(calloc(MAX_PID / 8 + 1, 1));
	if (!instance_begin(&births->instance, "leaks", debugfs, why) && set_up(births, why)) {
		path = format("%s/trace_pipe", births->instance.dir);
		births->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (births->pipe < 0)
			*why = format("%s: cannot open: %s", path, strerror(errno));
		free(path);
	}
	if (births->pipe >= 0)
		return births;
	stop(births);
	births_free(births);
	return NULL;
}

/* ---- the table ---- */

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->id, ((const struct node *)b)->id);
}

static struct node *find_node(const struct births *births, char *id)
{
	const struct node wanted = { .id = id };
	struct node **found = tfind(&wanted, &births->tree, compare_nodes);

	free(id);
	return found ? *found : NULL;
}

static void drop_node(struct births *births, struct node *node)
{
	if (!node)
		return;
	if (births->stack == node)
		births->stack = NULL;
	tdelete(node, &births->tree, compare_nodes);
	*(node->older ? &node->older->newer : &births->oldest) = node->newer;
	*(node->newer ? &node->newer->older : &births->newest) = node->older;
	free(node->birth.fields);
	free(node->birth.comm);
	free(node->birth.stack);
	free(node->id);
	free(node);
}

static char *field_of(const char *fields, const char *name)
{
	size_t length = strlen(name);

	for (; *fields; fields += strcspn(fields, " "), fields += strspn(fields, " "))
		if (!strncmp(fields, name, length) && fields[length] == '=')
			return format("%.*s", (int)strcspn(fields + length + 1, " "),
				      fields + length + 1);
	return NULL;
}

static char *id_of(const char *event, const char *value)
{
	return format("%s %s", event, value);
}

/* ---- lines ---- */

/**
 * struct line - a line of the trace
 * @comm: of the task, not ended
 * @comm_length: its length
 * @tid: of the task
 * @seconds: its time
 */
struct line {
	const char *comm;
	int comm_length;
	int tid;
	double seconds;
};

/* "  many-123     [000] .....    12.345678", what stands before the event. */
static bool parse_head(const char *text, const char *end, struct line *line)
{
	const char *at = end, *digits;

	/* The time is the last word, flags the one before, the processor before that. */
	for (int word = 0; word < 3; word++) {
		while (at > text && at[-1] == ' ')
			at--;
		while (at > text && at[-1] != ' ')
			at--;
		if (!word)
			line->seconds = strtod(at, NULL);
	}
	if (*at != '[')
		return false;
	while (at > text && at[-1] == ' ')
		at--;
	for (digits = at; digits > text && digits[-1] >= '0' && digits[-1] <= '9'; digits--)
		;
	if (digits == at || digits == text || digits[-1] != '-')
		return false;
	line->tid = atoi(digits);
	line->comm = text + strspn(text, " ");
	line->comm_length = digits - 1 > line->comm ? digits - 1 - line->comm : 0;
	return line->tid >= 0 && line->tid <= MAX_PID;
}

static bool is_ours(const struct births *births, int tid)
{
	return births->ours[tid / 8] & 1 << tid % 8;
}

static void set_ours(struct births *births, int tid, bool ours)
{
	if (ours)
		births->ours[tid / 8] |= 1 << tid % 8;
	else
		births->ours[tid / 8] &= ~(1 << tid % 8);
}

static void take_fork(struct births *births, const struct line *line, const char *fields)
{
	const char *at, *last = NULL;
	int child;

	/* The last one is the kernel's; the others may be in a name. */
	for (at = strstr(fields, " child_pid="); at; at = strstr(at + 1, " child_pid="))
		last = at;
	child = last ? atoi(last + strlen(" child_pid=")) : -1;
	if (child > 0 && child <= MAX_PID)
		set_ours(births, child, is_ours(births, line->tid));
}

static void take_birth(struct births *births, const struct kind *kind, const struct line *line,
		       const char *fields)
{
	char *value = field_of(fields, kind->key);
	struct node *node;

	if (!value)
		return;
	/* The one before, in the same memory, has gone. */
	drop_node(births, find_node(births, id_of(kind->event, value)));
	node = need(calloc(1, sizeof(*node)));
	node->birth.event = kind->event;
	node->birth.fields = need(strdup(fields));
	node->birth.comm = format("%.*s", line->comm_length, line->comm);
	node->birth.tid = line->tid;
	node->birth.seconds = line->seconds;
	node->id = id_of(kind->event, value);
	node->ours = is_ours(births, line->tid);
	free(value);
	node->older = births->newest;
	*(births->newest ? &births->newest->newer : &births->oldest) = node;
	births->newest = node;
	need(tsearch(node, &births->tree, compare_nodes));
}

static void take_death(struct births *births, const struct kind *kind, const char *fields)
{
	char *value = field_of(fields, kind->key);

	if (value)
		drop_node(births, find_node(births, id_of(kind->event, value)));
	free(value);
}

/* Where @event begins in a line, and its fields; the last place, if there are several. */
static const char *find_event(const char *text, const char *event, const char **fields)
{
	char *wanted = format(": %s: ", event);
	const char *at, *found = NULL;

	for (at = strstr(text, wanted); at; at = strstr(at + 1, wanted))
		found = at;
	if (found)
		*fields = found + strlen(wanted);
	free(wanted);
	return found;
}

/*
 * It comes right after its event, but for events of other processors, of which there cannot
 * be many in between.
 */
static struct node *find_stackless(const struct births *births, int tid)
{
	struct node *node = births->newest;
	int tries = 256;

	for (; node && tries--; node = node->older)
		if (node->birth.tid == tid)
			return node->birth.stack ? NULL : node;
	return NULL;
}

/*
 * The functions of the tracing itself are above: of a probe at a function's begin down to
 * that function, of one at its end down to where it would have returned to.
 */
static bool ends_tracing(const char *function)
{
	static const char *const ends[] = {
		"alloc_commit_fd_uobject", "alloc_commit_idr_uobject", "setup_ufile_idr_uobject",
		"rdma_umap_priv_init", "return_to_handler",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(function, ends[i]))
			return true;
	return false;
}

static void add_to_stack(struct node *node, const char *function)
{
	char *longer;

	if (ends_tracing(function)) {
		free(node->birth.stack);
		node->birth.stack = NULL;
		if (!strcmp(function, "return_to_handler"))
			function = "";
	}
	longer = format("%s%s%s", node->birth.stack ? node->birth.stack : "", function,
			*function ? "\n" : "");
	free(node->birth.stack);
	node->birth.stack = longer;
}

static void take_line(struct births *births, const char *text)
{
	const char *at, *fields;
	struct line line;

	if (!strncmp(text, " => ", 4)) {
		if (births->stack)
			add_to_stack(births->stack, text + 4);
		return;
	}
	births->stack = NULL;
	at = strstr(text, " [LOST ");
	if (!strncmp(text, "CPU:", 4) && at) {
		births->lost += strtoul(at + strlen(" [LOST "), NULL, 10);
		return;
	}
	/* Too long to be a part of a name, as the others may be. */
	at = strstr(text, ": " FORK ": ");
	if (at) {
		if (parse_head(text, at, &line))
			take_fork(births, &line, at);
		return;
	}
	at = strstr(text, ": <stack trace>");
	if (at) {
		if (parse_head(text, at, &line))
			births->stack = find_stackless(births, line.tid);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		at = find_event(text, kinds[i].event, &fields);
		if (at && parse_head(text, at, &line)) {
			take_birth(births, &kinds[i], &line, fields);
			return;
		}
		at = kinds[i].death ? find_event(text, kinds[i].death, &fields) : NULL;
		if (at && parse_head(text, at, &line)) {
			take_death(births, &kinds[i], fields);
			return;
		}
	}
}

static void take_lines(struct births *births)
{
	char *begin = births->text, *end;

	while ((end = memchr(begin, '\n', births->text + births->length - begin))) {
		*end = 0;
		take_line(births, begin);
		begin = end + 1;
	}
	births->length -= begin - births->text;
	memmove(births->text, begin, births->length);
}

void births_read(struct births *births)
{
	ssize_t n;

	do {
		if (births->room - births->length < 65536) {
			births->room += 65536;
			births->text = need(realloc(births->text, births->room));
		}
		n = read(births->pipe, births->text + births->length,
			 births->room - births->length);
		if (n > 0) {
			births->length += n;
			take_lines(births);
		}
	} while (n > 0 || (n < 0 && errno == EINTR));
}

void births_check(struct births *births)
{
	if (!births || births->switched_off || instance_is_on(&births->instance))
		return;
	births->switched_off = true;
	/* How many is not known. */
	births->lost++;
}

void births_end(struct births *births)
{
	if (!births)
		return;
	instance_set(&births->instance, "tracing_on", "0", NULL);
	births_read(births);
	births_check(births);
	stop(births);
}

void births_free(struct births *births)
{
	if (!births)
		return;
	while (births->newest)
		drop_node(births, births->newest);
	free(births->text);
	free(births->ours);
	free(births);
}

unsigned long births_lost(const struct births *births)
{
	return births->lost;
}

/* ---- look at them ---- */

static bool has_fields(const struct node *node, const char *fields)
{
	char *copy = need(strdup(fields)), *rest = copy, *word, *value;
	bool all = true;

	while (all && (word = strsep(&rest, " "))) {
		char *name = strsep(&word, "=");

		value = field_of(node->birth.fields, name);
		all = value && word && !strcmp(value, word);
		free(value);
	}
	free(copy);
	return all;
}

const struct birth *births_find(const struct births *births, const char *event,
				const char *key, const char *value)
{
	struct node *node = NULL;

	if (!births)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].event, event) || strcmp(kinds[i].key, key))
			continue;
		node = find_node(births, id_of(event, value));
		return node ? &node->birth : NULL;
	}
	for (node = births->newest; node; node = node->older) {
		char *seen = strcmp(node->birth.event, event) ? NULL :
			     field_of(node->birth.fields, key);
		bool same = seen && !strcmp(seen, value);

		free(seen);
		if (same)
			return &node->birth;
	}
	return NULL;
}

const struct birth *births_each(const struct births *births, const struct birth *after,
				const char *event, const char *fields)
{
	const struct node *node;

	if (!births)
		return NULL;
	/* A birth is the first member of its node. */
	node = after ? ((const struct node *)after)->newer : births->oldest;
	for (; node; node = node->newer)
		if (!strcmp(node->birth.event, event) && has_fields(node, fields))
			return &node->birth;
	return NULL;
}

void births_follow(struct births *births, int pid)
{
	if (births)
		set_ours(births, pid, true);
}

bool births_is_ours(const struct births *births, const struct birth *birth)
{
	/* Whose it is cannot be told if a fork may have been lost. */
	return births->lost || ((const struct node *)birth)->ours;
}

bool births_has_process(const struct births *births, uint64_t pid)
{
	return births->lost || (pid <= MAX_PID && is_ours(births, pid));
}
