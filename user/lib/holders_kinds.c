// SPDX-License-Identifier: GPL-2.0
/*
 * Who holds it: what each kind of object is held by, as the kernel does it.
 *
 * Every rule here is a reference that a function of the kernel takes; the
 * function is named with it.  What no record proves is not counted.
 */
#include <stdlib.h>
#include <string.h>

#include "holders.h"

static const char no_fds[] =
	"no file descriptors are known, the fds of processes are among the unexplained";

static bool text_is(const struct uobjscope_record *record, enum uobjscope_key key,
		    const char *value)
{
	const char *text = uobjscope_text(record, key);

	return text && !strcmp(text, value);
}

static bool flag(const struct uobjscope_record *record, enum uobjscope_key key)
{
	uint64_t value = 0;

	uobjscope_get(record, key, &value);
	return value;
}

/* A note that is there already is replaced: nothing was read is the gravest. */
static void note_missing_fds(struct uobjscope_holders *holders)
{
	if (!(holders->scope->sections & UOBJSCOPE_FDS))
		holders_note(holders, no_fds);
}

/*
 * Attachments.  An importer takes a reference with dma_buf_get() and keeps it
 * until after dma_buf_detach(): that is the contract of dma_buf_attach(), and
 * ib_umem_dmabuf_get() does so.
 */
static void add_attachments(struct uobjscope_holders *holders, struct uobjscope_group attaches)
{
	for (size_t i = 0; i < attaches.count; i++) {
		if (text_is(attaches.records[i], UOBJSCOPE_KEY_STATE, "busy"))
			holders_note(holders,
				     "the attachments could not be read (reservation lock busy) and are among the unexplained");
		else
			holders_add(holders, UOBJSCOPE_HOLDER_ATTACH, 1, attaches.records[i]);
	}
}

static void dmabuf_file_ref(struct uobjscope_holders *holders,
			    const struct uobjscope_record *uobj,
			    struct uobjscope_group fds, struct uobjscope_group attaches)
{
	int64_t in_snapshot, in_fds;

	holders_tally(holders, "file_ref");
	/* The snapshot's own count fits its attachments best. */
	if (uobjscope_has(uobj, UOBJSCOPE_KEY_FILE_REF))
		holders_total(holders, uobj, UOBJSCOPE_KEY_FILE_REF);
	else if (fds.count)
		holders_total(holders, fds.records[0], UOBJSCOPE_KEY_FILE_REF);
	holders_add_all(holders, UOBJSCOPE_HOLDER_FD, fds);
	if (fds.count &&
	    uobjscope_get_signed(uobj, UOBJSCOPE_KEY_FILE_REF, &in_snapshot) &&
	    uobjscope_get_signed(fds.records[0], UOBJSCOPE_KEY_FILE_REF, &in_fds) &&
	    in_snapshot != in_fds)
		holders_note(holders,
			     "the fds were read when the count was another one: it changed in between");
	note_missing_fds(holders);
	add_attachments(holders, attaches);
}

/*
 * ib_uverbs_dmabuf_file.kref: one from DMABUF_ALLOC until it is revoked, and one
 * for every mapping, from uverbs_dmabuf_map() to uverbs_dmabuf_unmap().
 */
static void dmabuf_kref(struct uobjscope_holders *holders, const struct uobjscope_record *uobj,
			struct uobjscope_group attaches)
{
	holders_tally(holders, "kref");
	holders_total(holders, uobj, UOBJSCOPE_KEY_KREF);
	if (uobjscope_has(uobj, UOBJSCOPE_KEY_REVOKED) && !flag(uobj, UOBJSCOPE_KEY_REVOKED))
		holders_add(holders, UOBJSCOPE_HOLDER_EXPORTER, 1, uobj);
	for (size_t i = 0; i < attaches.count; i++)
		if (flag(attaches.records[i], UOBJSCOPE_KEY_MAPPED))
			holders_add(holders, UOBJSCOPE_HOLDER_ATTACH, 1, attaches.records[i]);
}

/*
 * A destroyed DMABUF whose dma-buf is alive, which is when its inode is known.  The
 * dma-buf still has the uobject and the ufile, until uverbs_dmabuf_release().
 */
static bool is_dead_dmabuf(const struct uobjscope_record *uobj)
{
	return uobjscope_has(uobj, UOBJSCOPE_KEY_INO) &&
	       text_is(uobj, UOBJSCOPE_KEY_STATE, "dead");
}

/*
 * ib_uobject.ref: rdma_alloc_commit_uobject() takes one for the list; the handle
 * has another until DESTROY, a file of class fd until its release.
 */
static void uobj_ref(struct uobjscope_holders *holders, const struct uobjscope_record *uobj)
{
	bool is_fd = text_is(uobj, UOBJSCOPE_KEY_CLASS, "fd");
	const char *state = uobjscope_text(uobj, UOBJSCOPE_KEY_STATE);
	int64_t usecnt;

	holders_tally(holders, "ref");
	holders_total(holders, uobj, UOBJSCOPE_KEY_REF);
	if (state && (!strcmp(state, "live") || !strcmp(state, "locked"))) {
		holders_add(holders, UOBJSCOPE_HOLDER_LIST, 1, NULL);
		holders_add(holders, is_fd ? UOBJSCOPE_HOLDER_FILE : UOBJSCOPE_HOLDER_HANDLE,
			    1, NULL);
	} else if (state && !strcmp(state, "dead") && !is_fd) {
		/* Found by its handle, though its hardware object is gone. */
		holders_add(holders, UOBJSCOPE_HOLDER_HANDLE, 1, NULL);
	} else if (is_dead_dmabuf(uobj)) {
		holders_add(holders, UOBJSCOPE_HOLDER_FILE, 1, NULL);
	}
	if (!uobjscope_get_signed(uobj, UOBJSCOPE_KEY_USECNT, &usecnt) || !usecnt)
		return;
	holders_tally(holders, "usecnt");
	holders_total(holders, uobj, UOBJSCOPE_KEY_USECNT);
	holders_note(holders, usecnt > 0 ? "so many calls use it at this moment" :
					   "one call has it locked for writing");
}

/*
 * rdma_user_mmap_entry.ref: one from the insert until the driver removes it, one
 * for each VMA (rdma_umap_priv_init()), one for each DMABUF uobject until its
 * destruction (uverbs_dmabuf_fd_destroy_uobj()).
 */
static void entry_ref(struct uobjscope_holders *holders, const struct uobjscope_record *mmap,
		      const char *name)
{
	const struct uobjscope *scope = holders->scope;
	struct uobjscope_group uobjs;
	uint64_t token;

	holders_tally(holders, name);
	holders_total(holders, mmap, UOBJSCOPE_KEY_REF);
	if (uobjscope_has(mmap, UOBJSCOPE_KEY_DRIVER_REMOVED) &&
	    !flag(mmap, UOBJSCOPE_KEY_DRIVER_REMOVED))
		holders_add(holders, UOBJSCOPE_HOLDER_DRIVER, 1, mmap);
	if (!uobjscope_get(mmap, UOBJSCOPE_KEY_ENTRY, &token))
		return;
	holders_add_all(holders, UOBJSCOPE_HOLDER_VMA,
			uobjscope_find(scope, UOBJSCOPE_VMAS_BY_ENTRY, token));
	uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_ENTRY, token);
	for (size_t i = 0; i < uobjs.count; i++)
		if (uobjscope_type_is(uobjs.records[i], "DMABUF"))
			holders_add(holders, UOBJSCOPE_HOLDER_UOBJ, 1, uobjs.records[i]);
}

/*
 * mlx5_ib_dm_memic.ref: the memory's own mmap entry has the first one, every
 * operation's entry another (MLX5_IB_METHOD_DM_MAP_OP_ADDR).
 */
static void dm_ref(struct uobjscope_holders *holders, const struct uobjscope_record *record)
{
	struct uobjscope_group entries;
	uint64_t object;

	holders_tally(holders, "dm_ref");
	holders_total(holders, record, UOBJSCOPE_KEY_DM_REF);
	if (!uobjscope_get(record, UOBJSCOPE_KEY_OBJECT, &object))
		return;
	entries = uobjscope_find(holders->scope, UOBJSCOPE_MMAPS_BY_OBJECT, object);
	for (size_t i = 0; i < entries.count; i++)
		if (text_is(entries.records[i], UOBJSCOPE_KEY_KIND, "MEMIC") ||
		    text_is(entries.records[i], UOBJSCOPE_KEY_KIND, "MEMIC_OP"))
			holders_add(holders, UOBJSCOPE_HOLDER_ENTRY, 1, entries.records[i]);
}

/* ib_dm.usecnt: one for each MR on it (UVERBS_METHOD_DM_MR_REG). */
static void dm_users(struct uobjscope_holders *holders, const struct uobjscope_record *record)
{
	uint64_t object;

	holders_tally(holders, "dm_users");
	holders_total(holders, record, UOBJSCOPE_KEY_DM_USERS);
	if (uobjscope_get(record, UOBJSCOPE_KEY_OBJECT, &object))
		holders_add_all(holders, UOBJSCOPE_HOLDER_UOBJ,
				uobjscope_find(holders->scope, UOBJSCOPE_UOBJS_BY_DM, object));
}

/*
 * ib_pd.usecnt and ib_cq.usecnt.  Objects that name their PD have a reference
 * to it each; pdn is unique on a device only, so the ufile must be the same.
 */
static void users(struct uobjscope_holders *holders, const struct uobjscope_record *uobj)
{
	struct uobjscope_group group;
	uint64_t pdn, ufile, other;

	holders_tally(holders, "users");
	holders_total(holders, uobj, UOBJSCOPE_KEY_USERS);
	if (!uobjscope_type_is(uobj, "PD") || !uobjscope_get(uobj, UOBJSCOPE_KEY_PDN, &pdn) ||
	    !uobjscope_get(uobj, UOBJSCOPE_KEY_UFILE, &ufile))
		return;
	group = uobjscope_find(holders->scope, UOBJSCOPE_UOBJS_BY_PDN, pdn);
	for (size_t i = 0; i < group.count; i++)
		if (group.records[i] != uobj &&
		    uobjscope_get(group.records[i], UOBJSCOPE_KEY_UFILE, &other) &&
		    other == ufile)
			holders_add(holders, UOBJSCOPE_HOLDER_UOBJ, 1, group.records[i]);
}

void holders_of_dmabuf(struct uobjscope_holders *holders, uint64_t ino)
{
	const struct uobjscope *scope = holders->scope;
	const struct uobjscope_record *uobj = uobjscope_dmabuf(scope, ino);
	struct uobjscope_group fds = uobjscope_find(scope, UOBJSCOPE_FDS_BY_INO, ino);
	struct uobjscope_group attaches =
		uobjscope_find(scope, UOBJSCOPE_ATTACHES_BY_INO, ino);
	const struct uobjscope_record *record = uobj;

	if (!record && fds.count)
		record = fds.records[0];
	if (!record && attaches.count)
		record = attaches.records[0];
	if (!record)
		return;
	holders_begin(holders, UOBJSCOPE_OBJECT_DMABUF, ino, record);
	dmabuf_file_ref(holders, uobj, fds, attaches);
	if (!uobj)
		return;
	dmabuf_kref(holders, uobj, attaches);
	uobj_ref(holders, uobj);
}

void holders_of_mmap(struct uobjscope_holders *holders, const struct uobjscope_record *mmap)
{
	uint64_t ufile = 0;

	uobjscope_get(mmap, UOBJSCOPE_KEY_UFILE, &ufile);
	holders_begin(holders, UOBJSCOPE_OBJECT_MMAP, ufile, mmap);
	entry_ref(holders, mmap, "ref");
	if (uobjscope_has(mmap, UOBJSCOPE_KEY_DM_REF))
		dm_ref(holders, mmap);
	if (uobjscope_has(mmap, UOBJSCOPE_KEY_DM_USERS))
		dm_users(holders, mmap);
}

void holders_of_uobj(struct uobjscope_holders *holders, const struct uobjscope_record *uobj)
{
	const struct uobjscope_record *entry;
	uint64_t ufile = 0, ino;

	if (uobjscope_type_is(uobj, "DMABUF") && uobjscope_get(uobj, UOBJSCOPE_KEY_INO, &ino)) {
		holders_of_dmabuf(holders, ino);
		return;
	}
	uobjscope_get(uobj, UOBJSCOPE_KEY_UFILE, &ufile);
	holders_begin(holders, UOBJSCOPE_OBJECT_UOBJ, ufile, uobj);
	uobj_ref(holders, uobj);
	if (uobjscope_has(uobj, UOBJSCOPE_KEY_USERS))
		users(holders, uobj);
	if (uobjscope_has(uobj, UOBJSCOPE_KEY_DM_USERS))
		dm_users(holders, uobj);
	if (uobjscope_has(uobj, UOBJSCOPE_KEY_DM_REF))
		dm_ref(holders, uobj);
	if (uobjscope_has(uobj, UOBJSCOPE_KEY_KREF))
		dmabuf_kref(holders, uobj, (struct uobjscope_group) { 0 });
	entry = uobjscope_type_is(uobj, "DMABUF") ? NULL : uobjscope_entry_of(holders->scope, uobj);
	if (entry)
		entry_ref(holders, entry, "entry.ref");
}

/* ---- ufiles ---- */

/* The same of a dma-buf whose uobject is not in the snapshot. */
static bool is_orphan(const struct uobjscope *scope, uint64_t ino)
{
	return !uobjscope_dmabuf(scope, ino);
}

static int compare_inodes(const void *a, const void *b)
{
	const struct uobjscope_record *const *x = a, *const *y = b;
	uint64_t i = 0, j = 0;

	uobjscope_get(*x, UOBJSCOPE_KEY_INO, &i);
	uobjscope_get(*y, UOBJSCOPE_KEY_INO, &j);
	return i < j ? -1 : i > j;
}

static size_t collect_orphans(const struct uobjscope *scope, struct uobjscope_group group,
			      const struct uobjscope_record **orphans)
{
	uint64_t ino;
	size_t count = 0;

	for (size_t i = 0; i < group.count; i++)
		if (uobjscope_get(group.records[i], UOBJSCOPE_KEY_INO, &ino) &&
		    is_orphan(scope, ino))
			orphans[count++] = group.records[i];
	return count;
}

static void add_orphan_dmabufs(struct uobjscope_holders *holders, struct uobjscope_group fds,
			       struct uobjscope_group attaches)
{
	const struct uobjscope_record **orphans;
	size_t count;

	orphans = malloc((fds.count + attaches.count + 1) * sizeof(*orphans));
	if (!orphans) {
		holders->nomem = true;
		return;
	}
	count = collect_orphans(holders->scope, fds, orphans);
	count += collect_orphans(holders->scope, attaches, orphans + count);
	qsort(orphans, count, sizeof(*orphans), compare_inodes);
	for (size_t i = 0; i < count; i++)
		if (!i || compare_inodes(&orphans[i - 1], &orphans[i]))
			holders_add(holders, UOBJSCOPE_HOLDER_DMABUF, 1, orphans[i]);
	free(orphans);
}

static int compare_files(const void *a, const void *b)
{
	const struct uobjscope_record *const *x = a, *const *y = b;
	uint64_t i = 0, j = 0, m = 0, n = 0;
	int c = strcmp(uobjscope_text(*x, UOBJSCOPE_KEY_TYPE) ?: "",
		       uobjscope_text(*y, UOBJSCOPE_KEY_TYPE) ?: "");

	uobjscope_get(*x, UOBJSCOPE_KEY_FILE, &i);
	uobjscope_get(*y, UOBJSCOPE_KEY_FILE, &j);
	uobjscope_get(*x, UOBJSCOPE_KEY_FILE_REF, &m);
	uobjscope_get(*y, UOBJSCOPE_KEY_FILE_REF, &n);
	if (!c)
		c = i < j ? -1 : i > j;
	return c ? c : m < n ? -1 : m > n;
}

/*
 * Files of fd uobjects that are destroyed: they are in no list any more, but
 * each still holds the ufile (alloc_commit_fd_uobject()).  Several fds may be
 * of one file.  Where no `file` token says which, k fds with r references each
 * are k / r files at least, and no more than that is counted.
 */
static void add_dead_files(struct uobjscope_holders *holders, struct uobjscope_group fds)
{
	const struct uobjscope_record **dead = malloc((fds.count + 1) * sizeof(*dead));
	size_t count = 0;

	if (!dead) {
		holders->nomem = true;
		return;
	}
	for (size_t i = 0; i < fds.count; i++)
		if (text_is(fds.records[i], UOBJSCOPE_KEY_KIND, "uobj") &&
		    text_is(fds.records[i], UOBJSCOPE_KEY_STATE, "dead"))
			dead[count++] = fds.records[i];
	qsort(dead, count, sizeof(*dead), compare_files);
	for (size_t i = 0; i < count; ) {
		uint64_t refs = 1;
		size_t n = 1;

		while (i + n < count && !compare_files(&dead[i], &dead[i + n]))
			n++;
		if (uobjscope_has(dead[i], UOBJSCOPE_KEY_FILE))
			refs = n;
		else
			uobjscope_get(dead[i], UOBJSCOPE_KEY_FILE_REF, &refs);
		if (!refs)
			refs = 1;
		for (size_t file = 0; file < (n + refs - 1) / refs; file++)
			holders_add(holders, UOBJSCOPE_HOLDER_FD, 1, dead[i + file * refs]);
		i += n;
	}
	free(dead);
}

/* The fds of the uverbs file itself; what else is of the ufile is left out. */
static size_t uverbs_fds(struct uobjscope_group fds, const struct uobjscope_record **first)
{
	size_t count = 0;

	for (size_t i = 0; i < fds.count; i++)
		if (text_is(fds.records[i], UOBJSCOPE_KEY_KIND, "uverbs") && !count++)
			*first = fds.records[i];
	return count;
}

/*
 * The uverbs file is open if the module or the uverbs device's list says so, or
 * if an fd or a mapping has it.  A ufile's state alone does not tell: it is
 * disassociated whether or not it was closed as well.
 */
static bool file_is_open(const struct uobjscope_record *ufile, size_t fds, size_t vmas)
{
	if (uobjscope_has(ufile, UOBJSCOPE_KEY_FILE_OPEN))
		return flag(ufile, UOBJSCOPE_KEY_FILE_OPEN);
	return flag(ufile, UOBJSCOPE_KEY_LISTED) || fds || vmas;
}

/* ib_uverbs_file.ref: one for the open file, one for each file of an fd uobject. */
static void ufile_ref(struct uobjscope_holders *holders, const struct uobjscope_record *ufile,
		      uint64_t id, bool open)
{
	const struct uobjscope *scope = holders->scope;
	struct uobjscope_group uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_UFILE, id);
	struct uobjscope_group fds = uobjscope_find(scope, UOBJSCOPE_FDS_BY_UFILE, id);

	holders_tally(holders, "ref");
	holders_total(holders, ufile, UOBJSCOPE_KEY_REF);
	if (open)
		holders_add(holders, UOBJSCOPE_HOLDER_FILE, 1, NULL);
	for (size_t i = 0; i < uobjs.count; i++) {
		const struct uobjscope_record *uobj = uobjs.records[i];

		if (text_is(uobj, UOBJSCOPE_KEY_CLASS, "fd") &&
		    (text_is(uobj, UOBJSCOPE_KEY_STATE, "live") ||
		     text_is(uobj, UOBJSCOPE_KEY_STATE, "locked")))
			holders_add(holders, UOBJSCOPE_HOLDER_UOBJ, 1, uobj);
		else if (is_dead_dmabuf(uobj))
			holders_add(holders, UOBJSCOPE_HOLDER_DMABUF, 1, uobj);
	}
	add_orphan_dmabufs(holders, fds, uobjscope_find(scope, UOBJSCOPE_ATTACHES_BY_UFILE, id));
	add_dead_files(holders, fds);
	note_missing_fds(holders);
}

/* The uverbs file's own count: fds, and mappings (vm_area_struct.vm_file). */
static void ufile_file_ref(struct uobjscope_holders *holders,
			   const struct uobjscope_record *ufile, uint64_t id,
			   const struct uobjscope_record *first_fd)
{
	const struct uobjscope *scope = holders->scope;
	struct uobjscope_group fds = uobjscope_find(scope, UOBJSCOPE_FDS_BY_UFILE, id);

	holders_tally(holders, "file_ref");
	holders_total(holders, ufile, UOBJSCOPE_KEY_FILE_REF);
	holders_total(holders, first_fd, UOBJSCOPE_KEY_FILE_REF);
	for (size_t i = 0; i < fds.count; i++)
		if (text_is(fds.records[i], UOBJSCOPE_KEY_KIND, "uverbs"))
			holders_add(holders, UOBJSCOPE_HOLDER_FD, 1, fds.records[i]);
	holders_add_all(holders, UOBJSCOPE_HOLDER_VMA,
			uobjscope_find(scope, UOBJSCOPE_VMAS_BY_UFILE, id));
	/* It is open, so something has it, if only a message in a socket. */
	holders_at_least(holders, 1);
	if (!first_fd && !uobjscope_has(ufile, UOBJSCOPE_KEY_FILE_REF))
		holders_note(holders,
			     "the count is not known: no process was seen to have the file as an fd");
	note_missing_fds(holders);
}

void holders_of_ufile(struct uobjscope_holders *holders, uint64_t id)
{
	const struct uobjscope *scope = holders->scope;
	const struct uobjscope_record *ufile = uobjscope_ufile(scope, id);
	struct uobjscope_group fds = uobjscope_find(scope, UOBJSCOPE_FDS_BY_UFILE, id);
	struct uobjscope_group vmas = uobjscope_find(scope, UOBJSCOPE_VMAS_BY_UFILE, id);
	const struct uobjscope_record *first_fd = NULL;
	size_t nfds = uverbs_fds(fds, &first_fd);
	bool open;

	if (!ufile && !fds.count)
		return;
	open = file_is_open(ufile, nfds, vmas.count);
	holders_begin(holders, UOBJSCOPE_OBJECT_UFILE, id, ufile);
	ufile_ref(holders, ufile, id, open);
	if (open)
		ufile_file_ref(holders, ufile, id, first_fd);
}

/* ---- files of fd uobjects ---- */

/* Whether all live files of this type in the ufile are one and the same. */
static bool is_only_one(const struct uobjscope *scope, const struct uobjscope_record *fd)
{
	const char *type = uobjscope_text(fd, UOBJSCOPE_KEY_TYPE);
	struct uobjscope_group uobjs;
	uint64_t ufile;
	size_t count = 0;

	if (!type || !text_is(fd, UOBJSCOPE_KEY_STATE, "live") ||
	    !uobjscope_get(fd, UOBJSCOPE_KEY_UFILE, &ufile))
		return false;
	uobjs = uobjscope_find(scope, UOBJSCOPE_UOBJS_BY_UFILE, ufile);
	for (size_t i = 0; i < uobjs.count; i++)
		count += text_is(uobjs.records[i], UOBJSCOPE_KEY_TYPE, type);
	return count == 1;
}

/* Whether two fds are certainly of one file. */
static bool is_same_file(const struct uobjscope_record *a, const struct uobjscope_record *b,
			 bool only_one)
{
	uint64_t x, y;

	if (a == b)
		return true;
	if (uobjscope_get(a, UOBJSCOPE_KEY_FILE, &x) && uobjscope_get(b, UOBJSCOPE_KEY_FILE, &y))
		return x == y;
	return only_one && text_is(b, UOBJSCOPE_KEY_KIND, "uobj") &&
	       text_is(b, UOBJSCOPE_KEY_STATE, "live") &&
	       text_is(b, UOBJSCOPE_KEY_TYPE, uobjscope_text(a, UOBJSCOPE_KEY_TYPE));
}

void holders_of_file(struct uobjscope_holders *holders, const struct uobjscope_record *fd)
{
	bool only_one = is_only_one(holders->scope, fd);
	struct uobjscope_group fds;
	uint64_t ufile = 0;

	uobjscope_get(fd, UOBJSCOPE_KEY_UFILE, &ufile);
	holders_begin(holders, UOBJSCOPE_OBJECT_FILE, ufile, fd);
	holders_tally(holders, "file_ref");
	holders_total(holders, fd, UOBJSCOPE_KEY_FILE_REF);
	fds = uobjscope_find(holders->scope, UOBJSCOPE_FDS_BY_UFILE, ufile);
	if (!uobjscope_has(fd, UOBJSCOPE_KEY_UFILE))
		holders_add(holders, UOBJSCOPE_HOLDER_FD, 1, fd);
	else
		for (size_t i = 0; i < fds.count; i++)
			if (is_same_file(fd, fds.records[i], only_one))
				holders_add(holders, UOBJSCOPE_HOLDER_FD, 1, fds.records[i]);
	if (!only_one && !uobjscope_has(fd, UOBJSCOPE_KEY_FILE))
		holders_note(holders,
			     "other fds of this file, if there are any, cannot be told and are among the unexplained");
}
