// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope tree: objects below what they belong to.
 *
 * A device has ufiles, a ufile has uobjects, a VAR or a DM has an mmap entry, an
 * entry has mappings and DMABUFs, a dma-buf has attachments and fds.  An object
 * whose owner is gone hangs one level higher; each is there exactly once.
 */
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct node {
	const struct uobjscope_record *record;
	struct node **children;
	size_t count;
	size_t room;
};

static struct node *new_node(struct node *parent, const struct uobjscope_record *record)
{
	struct node *node = need(calloc(1, sizeof(*node)));

	node->record = record;
	if (!parent)
		return node;
	if (parent->count == parent->room) {
		parent->room = parent->room ? parent->room * 2 : 4;
		parent->children = need(realloc(parent->children,
						parent->room * sizeof(*parent->children)));
	}
	parent->children[parent->count++] = node;
	return node;
}

static void free_node(struct node *node)
{
	for (size_t i = 0; i < node->count; i++)
		free_node(node->children[i]);
	free(node->children);
	free(node);
}

/* ---- what belongs where ---- */

static void add_group(struct node *parent, struct uobjscope_group group)
{
	for (size_t i = 0; i < group.count; i++)
		new_node(parent, group.records[i]);
}

static void add_dmabuf(struct node *parent, const struct uobjscope *scope,
		       const struct uobjscope_record *uobj)
{
	struct node *node = new_node(parent, uobj);
	uint64_t ino;

	if (!uobjscope_get(uobj, UOBJSCOPE_KEY_INO, &ino))
		return;
	add_group(node, uobjscope_find(scope, UOBJSCOPE_FDS_BY_INO, ino));
	add_group(node, uobjscope_find(scope, UOBJSCOPE_ATTACHES_BY_INO, ino));
}

static void add_entry(struct node *parent, const struct uobjscope *scope,
		      const struct uobjscope_record *mmap)
{
	struct node *node = new_node(parent, mmap);
	struct uobjscope_group uobjs;
	uint64_t token;

	if (!uobjscope_get(mmap, UOBJSCOPE_KEY_ENTRY, &token))
		return;
	add_group(node, uobjscope_find(scope, UOBJSCOPE_VMAS_BY_ENTRY, token));
	uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_ENTRY, token);
	for (size_t i = 0; i < uobjs.count; i++)
		if (uobjscope_type_is(uobjs.records[i], "DMABUF"))
			add_dmabuf(node, scope, uobjs.records[i]);
}

/* The uobject that an entry hangs below: its VAR, UAR or DM. */
static const struct uobjscope_record *owner_of(const struct uobjscope *scope,
					       const struct uobjscope_record *mmap)
{
	struct uobjscope_group uobjs;
	uint64_t token, ufile = 0, other;

	uobjscope_get(mmap, UOBJSCOPE_KEY_UFILE, &ufile);
	if (uobjscope_get(mmap, UOBJSCOPE_KEY_ENTRY, &token)) {
		uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_ENTRY, token);
		for (size_t i = 0; i < uobjs.count; i++)
			if (!uobjscope_type_is(uobjs.records[i], "DMABUF") &&
			    uobjscope_get(uobjs.records[i], UOBJSCOPE_KEY_UFILE, &other) &&
			    other == ufile)
				return uobjs.records[i];
	}
	if (!uobjscope_get(mmap, UOBJSCOPE_KEY_OBJECT, &token))
		return NULL;
	uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_OBJECT, token);
	for (size_t i = 0; i < uobjs.count; i++)
		if (uobjscope_type_is(uobjs.records[i], "DM") &&
		    uobjscope_get(uobjs.records[i], UOBJSCOPE_KEY_UFILE, &other) &&
		    other == ufile)
			return uobjs.records[i];
	return NULL;
}

struct owned {
	const struct uobjscope_record *owner;
	const struct uobjscope_record *mmap;
	size_t place;
};

static int compare_owned(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static size_t first_owned(const struct owned *owned, size_t count,
			  const struct uobjscope_record *owner)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (owned[middle].owner < owner)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_fd_of(const struct uobjscope_record *fd, const char *kind)
{
	const char *text = uobjscope_text(fd, UOBJSCOPE_KEY_KIND);

	return text && !strcmp(text, kind);
}

/* fds that are not below a DMABUF, and attachments whose DMABUF is gone */
static void add_rest(struct node *parent, const struct uobjscope *scope, uint64_t ufile)
{
	struct uobjscope_group group = uobjscope_find(scope, UOBJSCOPE_FDS_BY_UFILE, ufile);
	uint64_t ino;

	for (size_t i = 0; i < group.count; i++)
		if (!is_fd_of(group.records[i], "dmabuf") ||
		    !uobjscope_get(group.records[i], UOBJSCOPE_KEY_INO, &ino) ||
		    !uobjscope_dmabuf(scope, ino))
			new_node(parent, group.records[i]);
	group = uobjscope_find(scope, UOBJSCOPE_ATTACHES_BY_UFILE, ufile);
	for (size_t i = 0; i < group.count; i++)
		if (!uobjscope_get(group.records[i], UOBJSCOPE_KEY_INO, &ino) ||
		    !uobjscope_dmabuf(scope, ino))
			new_node(parent, group.records[i]);
	group = uobjscope_find(scope, UOBJSCOPE_VMAS_BY_UFILE, ufile);
	for (size_t i = 0; i < group.count; i++)
		if (!uobjscope_entry_of(scope, group.records[i]))
			new_node(parent, group.records[i]);
}

static void add_ufile(struct node *parent, const struct uobjscope *scope,
		      const struct uobjscope_record *ufile, uint64_t id)
{
	struct uobjscope_group mmaps = uobjscope_find(scope, UOBJSCOPE_MMAPS_BY_UFILE, id);
	struct uobjscope_group uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_UFILE, id);
	struct owned *owned = need(calloc(mmaps.count + 1, sizeof(*owned)));
	struct node *node = new_node(parent, ufile);

	for (size_t i = 0; i < mmaps.count; i++)
		owned[i] = (struct owned) { owner_of(scope, mmaps.records[i]),
					    mmaps.records[i], i };
	qsort(owned, mmaps.count, sizeof(*owned), compare_owned);
	for (size_t i = 0; i < uobjs.count; i++) {
		const struct uobjscope_record *uobj = uobjs.records[i];
		struct node *below;

		if (uobjscope_type_is(uobj, "DMABUF")) {
			if (!uobjscope_entry_of(scope, uobj))
				add_dmabuf(node, scope, uobj);
			continue;
		}
		below = new_node(node, uobj);
		for (size_t j = first_owned(owned, mmaps.count, uobj);
		     j < mmaps.count && owned[j].owner == uobj; j++)
			add_entry(below, scope, owned[j].mmap);
	}
	for (size_t i = 0; i < mmaps.count && !owned[i].owner; i++)
		add_entry(node, scope, owned[i].mmap);
	free(owned);
	add_rest(node, scope, id);
}

static bool is_device(const struct uobjscope *scope, const char *name)
{
	size_t count = uobjscope_count(scope, UOBJSCOPE_DEVICE);

	for (size_t i = 0; name && i < count; i++)
		if (!strcmp(uobjscope_text(uobjscope_record(scope, UOBJSCOPE_DEVICE, i),
					   UOBJSCOPE_KEY_NAME), name))
			return true;
	return false;
}

/* The ufiles of a device; for NULL those whose device is gone or not there. */
static void add_ufiles(struct node *parent, const struct uobjscope *scope, const char *device)
{
	size_t count = uobjscope_count(scope, UOBJSCOPE_UFILE);

	for (size_t i = 0; i < count; i++) {
		const struct uobjscope_record *ufile = uobjscope_record(scope, UOBJSCOPE_UFILE, i);
		const char *of = uobjscope_text(ufile, UOBJSCOPE_KEY_DEVICE);
		uint64_t id = 0;

		if (device ? !of || strcmp(of, device) : is_device(scope, of))
			continue;
		uobjscope_get(ufile, UOBJSCOPE_KEY_ID, &id);
		add_ufile(parent, scope, ufile, id);
	}
}

/* Records of a ufile that is not in the snapshot, and fds of others' dma-bufs. */
static void add_strays(struct node *root, const struct uobjscope *scope)
{
	static const enum uobjscope_type types[] = {
		UOBJSCOPE_UOBJ, UOBJSCOPE_MMAP, UOBJSCOPE_VMA, UOBJSCOPE_ATTACH, UOBJSCOPE_FD,
	};
	uint64_t ino;

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t count = uobjscope_count(scope, types[i]);

		for (size_t j = 0; j < count; j++) {
			const struct uobjscope_record *record =
				uobjscope_record(scope, types[i], j);

			if (uobjscope_ufile_of(scope, record))
				continue;
			/* Below its DMABUF already, by the inode. */
			if (types[i] == UOBJSCOPE_FD &&
			    uobjscope_get(record, UOBJSCOPE_KEY_INO, &ino) &&
			    uobjscope_dmabuf(scope, ino))
				continue;
			new_node(root, record);
		}
	}
}

static struct node *build(const struct uobjscope *scope)
{
	size_t count = uobjscope_count(scope, UOBJSCOPE_DEVICE);
	struct node *root = new_node(NULL, NULL);

	for (size_t i = 0; i < count; i++) {
		const struct uobjscope_record *device =
			uobjscope_record(scope, UOBJSCOPE_DEVICE, i);

		add_ufiles(new_node(root, device), scope,
			   uobjscope_text(device, UOBJSCOPE_KEY_NAME));
	}
	add_ufiles(root, scope, NULL);
	add_strays(root, scope);
	return root;
}

/* ---- as text ---- */

static bool is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* A line of ASCII after a prefix of so many columns; cut with a mark, on a terminal. */
static void print_cut(const char *text, size_t prefix, int width, FILE *out)
{
	size_t room = width && (size_t)width > prefix ? width - prefix : 0;

	if (!room || strlen(text) <= room)
		fprintf(out, "%s\n", text);
	else if (room > 3)
		fprintf(out, "%.*s...\n", (int)room - 3, text);
	else
		fprintf(out, "%.*s\n", (int)room, text);
}

static void print_node(const struct node *node, const char *indent, size_t columns, int width,
		       bool utf8, FILE *out)
{
	for (size_t i = 0; i < node->count; i++) {
		const struct node *child = node->children[i];
		bool last = i + 1 == node->count;
		const char *branch, *below;
		char *text, *deeper;

		if (utf8) {
			branch = last ? "\u2514\u2500 " : "\u251c\u2500 ";
			below = last ? "   " : "\u2502  ";
		} else {
			branch = last ? "`- " : "|- ";
			below = last ? "   " : "|  ";
		}
		text = record_text(child->record);
		fprintf(out, "%s%s", indent, branch);
		print_cut(text, columns + 3, width, out);
		free(text);
		deeper = format("%s%s", indent, below);
		print_node(child, deeper, columns + 3, width, utf8, out);
		free(deeper);
	}
}

static void print_text(const struct node *root, FILE *out)
{
	int width = terminal_width();
	bool utf8 = is_utf8();

	for (size_t i = 0; i < root->count; i++) {
		char *text = record_text(root->children[i]->record);

		print_cut(text, 0, width, out);
		free(text);
		print_node(root->children[i], "", 0, width, utf8, out);
	}
}

/* ---- as JSON ---- */

/* Children are in arrays of their own, by the names of their records. */
static void json_children(json_object *map, const struct uobjscope *scope,
			  const struct node *node)
{
	json_object *children = json_map();

	for (size_t i = 0; i < node->count; i++) {
		const struct node *child = node->children[i];
		const char *name = uobjscope_record_name(child->record);
		json_object *below = json_record(scope, child->record);
		json_object *array;

		if (!json_object_object_get_ex(children, name, &array)) {
			array = json_array();
			json_put(children, name, array);
		}
		json_append(array, below);
		json_children(below, scope, child);
	}
	if (node->count || !node->record)
		json_put(map, "children", children);
	else
		json_object_put(children);
}

int cmd_tree(const struct options *options)
{
	struct uobjscope *scope = load(options);
	struct node *root;
	FILE *out;
	int status;

	if (!scope)
		return EXIT_UNREADABLE;
	out = begin_output();
	root = build(scope);
	if (options->json) {
		json_object *map = json_map();

		json_put(map, "snapshot", json_header(scope));
		json_children(map, scope, root);
		json_print(map, out, false);
	} else {
		print_text(root, out);
	}
	free_node(root);
	status = end_output(out, EXIT_FINE);
	uobjscope_free(scope);
	return status;
}
