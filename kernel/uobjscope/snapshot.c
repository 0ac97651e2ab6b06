// SPDX-License-Identifier: GPL-2.0
/*
 * The walk from the devices and the registry to all records, and from there to
 * text.  Locks: see walk.h.
 */
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/utsname.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_verbs.h>

#include "uverbs.h"

#include "dmabuf.h"
#include "events.h"
#include "registry.h"
#include "release.h"
#include "report.h"
#include "roots.h"
#include "snapshot.h"
#include "text.h"
#include "walk.h"

/* Waits for locks in one snapshot, for all of them together. */
#define SCOPE_WAITS	200

static bool deref;
module_param(deref, bool, 0644);
MODULE_PARM_DESC(deref, "Lock uobjects to read what is not to be had otherwise; commands on them may fail meanwhile");

/* Between two walks, at most: a long one is rare, and nobody is to wait long for it. */
#define SCOPE_MAX_PAUSE_NS	(10 * NSEC_PER_MSEC)

/* One walk at a time, so that none sees the references that another takes. */
static DEFINE_MUTEX(walk_lock);
/* Both under walk_lock, on the monotonic clock. */
static u64 walk_began;
static u64 next_walk;
static siphash_key_t token_key;
static bool fed_by_fprobe;

/**
 * scope_snapshot_start - make ready
 * @fprobe: the registry is fed by probes
 */
void scope_snapshot_start(bool fprobe)
{
	get_random_bytes(&token_key, sizeof(token_key));
	fed_by_fprobe = fprobe;
}

/**
 * scope_snapshot_has_fprobe - what feeds the registry?
 *
 * Return: probes do; else it knows the ufiles that devices list
 */
bool scope_snapshot_has_fprobe(void)
{
	return fed_by_fprobe && !scope_events_lost();
}

/**
 * scope_token - what stands for an address
 * @address: not 0
 *
 * Return: the same for the same address as long as the module is loaded
 */
u64 scope_token(unsigned long address)
{
	return siphash_1u64(address, &token_key);
}

/**
 * scope_walk_begin - be the only one that walks
 *
 * After each walk there is none for as long as it took: who reads in a tight loop
 * leaves at least half of the time to those that are looked at.
 *
 * Context: process, may sleep
 *
 * Return: 0 or -EINTR
 */
int scope_walk_begin(void)
{
	ktime_t until;

	if (mutex_lock_interruptible(&walk_lock))
		return -EINTR;
	until = ns_to_ktime(next_walk);
	while (ktime_get_ns() < next_walk) {
		if (signal_pending(current)) {
			mutex_unlock(&walk_lock);
			return -EINTR;
		}
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout(&until, HRTIMER_MODE_ABS);
	}
	walk_began = ktime_get_ns();
	return 0;
}

/**
 * scope_walk_end - let others walk
 */
void scope_walk_end(void)
{
	u64 now = ktime_get_ns();

	next_walk = now + min_t(u64, now - walk_began, SCOPE_MAX_PAUSE_NS);
	mutex_unlock(&walk_lock);
}

static void init_walk(struct scope_walk *walk)
{
	scope_vector_init(&walk->devices, sizeof(struct scope_walked_device));
	scope_vector_init(&walk->ufiles, sizeof(struct scope_walked));
	scope_vector_init(&walk->uobjs, sizeof(struct scope_uobj_record));
	scope_vector_init(&walk->mmaps, sizeof(struct scope_mmap_record));
	scope_vector_init(&walk->vmas, sizeof(struct scope_vma_record));
	scope_vector_init(&walk->attaches, sizeof(struct scope_attach_record));
	scope_vector_init(&walk->tracked, sizeof(struct scope_tracked));
	scope_vector_init(&walk->dmabufs, sizeof(struct scope_known_dmabuf));
	walk->patience = SCOPE_WAITS;
	walk->deref = READ_ONCE(deref);
	walk->fprobe = scope_snapshot_has_fprobe();
}

static void free_walk(struct scope_walk *walk)
{
	scope_vector_free(&walk->devices);
	scope_vector_free(&walk->ufiles);
	scope_vector_free(&walk->uobjs);
	scope_vector_free(&walk->mmaps);
	scope_vector_free(&walk->vmas);
	scope_vector_free(&walk->attaches);
	scope_vector_free(&walk->tracked);
	scope_vector_free(&walk->dmabufs);
	scope_map_free(&walk->tracked_by_object);
	scope_map_free(&walk->device_by_uverbs);
	scope_map_free(&walk->device_by_address);
	scope_map_free(&walk->mmap_by_object);
	scope_map_free(&walk->mmap_by_entry);
	scope_map_free(&walk->uobj_by_dmabuf);
	kfree(walk);
}

/* devices_lock is held: it keeps the device. */
static void fill_device(struct scope_walked_device *walked, const struct scope_device *device)
{
	struct ib_device *ibdev = device->ibdev;
	struct device *parent = ibdev->dev.parent;
	struct scope_device_record *r = &walked->record;

	walked->number = device->number;
	walked->address = (unsigned long)ibdev;
	walked->uverbs = (unsigned long)device->uverbs;
	walked->driver = device->driver;
	walked->refused = device->misfit.text[0];
	if (walked->refused)
		return;
	strscpy(r->name, ibdev->name);
	strscpy(r->uverbs, dev_name(&device->uverbs->dev));
	if (device->driver == SCOPE_DRIVER_MLX5)
		strscpy(r->driver, "mlx5");
	else
		strscpy(r->driver, ibdev->ops.owner ? module_name(ibdev->ops.owner) : "-");
	if (parent) {
		strscpy(r->bus, dev_name(parent));
		r->bus_is_pci = dev_is_pci(parent);
	}
	if (device->driver == SCOPE_DRIVER_MLX5) {
		scope_var_usage(ibdev, r);
		scope_dm_usage(ibdev, r);
	}
}

/* @number: the only one wanted, 0 for all */
static int walk_devices(struct scope_walk *walk, unsigned int number)
{
	struct scope_walked_device *walked;
	struct scope_device *device;
	unsigned int last = 0;
	u32 n;
	int err;

	for (;;) {
		err = scope_vector_reserve(&walk->devices, 1);
		if (err)
			return err;
		device = scope_device_lock_next(last);
		if (!device)
			return 0;
		n = walk->devices.nr;
		walked = scope_vector_push(&walk->devices);
		fill_device(walked, device);
		scope_device_unlock();
		last = walked->number;
		walked->wanted = !walked->refused && (!number || number == last);
		err = scope_map_put(&walk->device_by_uverbs, walked->uverbs, n);
		if (!err)
			err = scope_map_put(&walk->device_by_address, walked->address, n);
		if (!err && walked->wanted)
			err = scope_walk_restrack(walk, last);
		if (err)
			return err;
	}
}

static int add_ufile(struct scope_walk *walk, const struct scope_registered *known,
		     struct ib_uverbs_file *ufile)
{
	struct scope_walked *walked;
	int err = scope_vector_reserve(&walk->ufiles, 1);

	if (err)
		return err;
	walked = scope_vector_push(&walk->ufiles);
	walked->known = *known;
	walked->record.id = known->id;
	walked->ufile = ufile;
	return 0;
}

static int list_registered(struct scope_walk *walk)
{
	struct scope_registered known = {};
	int err = 0;

	while (!err && scope_registry_next_ufile(known.id, &known))
		err = add_ufile(walk, &known, NULL);
	return err;
}

/* Those from the one on. */
static void put_ufiles(const struct scope_vector *held, u32 from)
{
	struct ib_uverbs_file *ufile;

	for (; from < held->nr; from++) {
		ufile = *(struct ib_uverbs_file **)scope_vector_at(held, from);
		kref_put(&ufile->ref, scope_release_file);
	}
}

static bool is_walked(u64 id, void *map)
{
	u32 n;

	return scope_map_get(map, id, &n);
}

/*
 * Without probes: the ufiles that devices list, each with a reference until the
 * walk has been there.  All others are forgotten, before their addresses are used
 * for something else.
 */
static int list_held(struct scope_walk *walk, const struct scope_vector *held)
{
	struct scope_registered known;
	struct ib_uverbs_file *ufile;
	struct scope_map ids = {};
	u32 n, done = 0;
	int err = 0;

	for (n = 0; n < held->nr && !err; n++) {
		ufile = *(struct ib_uverbs_file **)scope_vector_at(held, n);
		if (scope_registry_read_ufile(scope_registry_ufile_id(ufile), &known))
			err = scope_map_put(&ids, known.id, n);
		else
			err = -ENOMEM;
		if (!err)
			err = add_ufile(walk, &known, ufile);
		if (!err)
			done++;
	}
	put_ufiles(held, done);
	if (!err)
		scope_registry_keep_ufiles(is_walked, &ids);
	scope_map_free(&ids);
	return err;
}

static int list_ufiles(struct scope_walk *walk)
{
	struct scope_registry_counts counts;
	struct scope_device *device;
	struct scope_vector held;
	unsigned int last = 0;
	int err = 0;

	scope_registry_count(&counts);
	if (walk->fprobe && !counts.dropped)
		return list_registered(walk);
	/* What the registry had no memory for may still be found this way. */
	scope_vector_init(&held, sizeof(struct ib_uverbs_file *));
	while (!err && (device = scope_device_lock_next(last))) {
		last = device->number;
		scope_device_unlock();
		err = scope_device_files(last, &held);
	}
	if (walk->fprobe) {
		put_ufiles(&held, 0);
		err = list_registered(walk);
	} else if (err) {
		put_ufiles(&held, 0);
	} else {
		err = list_held(walk, &held);
	}
	scope_vector_free(&held);
	return err;
}

/* The registry's dma_bufs, each in the chain of its ufile. */
static int list_dmabufs(struct scope_walk *walk)
{
	struct scope_known_dmabuf *known;
	struct scope_map by_ufile = {};
	struct scope_walked *walked;
	u64 last = 0, ufile;
	unsigned long address;
	u32 n;
	int err = 0;

	for (n = 0; n < walk->ufiles.nr && !err; n++) {
		walked = scope_vector_at(&walk->ufiles, n);
		err = scope_map_put(&by_ufile, walked->record.id, n);
	}
	while (!err && scope_registry_next_dmabuf(last, &last, &ufile, &address)) {
		if (!scope_map_get(&by_ufile, ufile, &n))
			continue;
		err = scope_vector_reserve(&walk->dmabufs, 1);
		if (err)
			break;
		walked = scope_vector_at(&walk->ufiles, n);
		known = scope_vector_push(&walk->dmabufs);
		known->address = address;
		known->next = walked->dmabuf;
		walked->dmabuf = walk->dmabufs.nr;
	}
	scope_map_free(&by_ufile);
	return err;
}

/* Is it of a device that is wanted?  Then, what is known of its device. */
static bool settle_device(struct scope_walk *walk, struct scope_walked *walked,
			  struct ib_uverbs_file *ufile, unsigned int number)
{
	const struct scope_walked_device *device = NULL;
	struct scope_ufile_record *r = &walked->record;
	struct ib_device *ibdev;
	int key;
	u32 n;

	if (scope_map_get(&walk->device_by_uverbs, (unsigned long)ufile->device, &n)) {
		device = scope_vector_at(&walk->devices, n);
		if (!device->wanted)
			return false;
		if (walked->known.driver != device->driver) {
			walked->known.driver = device->driver;
			scope_registry_set_driver(walked->record.id, device->driver);
		}
	} else if (number) {
		return false;
	}
	/* The uverbs device lives as long as the ufile, but is it known what it is? */
	if (walked->known.driver == SCOPE_DRIVER_UNKNOWN)
		return false;
	strscpy(r->uverbs, dev_name(&ufile->device->dev));
	key = srcu_read_lock(&ufile->device->disassociate_srcu);
	ibdev = srcu_dereference(ufile->device->ib_dev, &ufile->device->disassociate_srcu);
	if (ibdev)
		strscpy(r->device, ibdev->name);
	srcu_read_unlock(&ufile->device->disassociate_srcu, key);
	return true;
}

/* Of a ufile without ucontext: why has it none? */
static u8 end_state(const struct scope_walked *walked)
{
	const struct scope_ufile_record *r = &walked->record;

	if (walked->known.closed)
		return SCOPE_UFILE_CLOSED;
	if (walked->known.disassociated || !r->device[0])
		return SCOPE_UFILE_DISASSOCIATED;
	return r->listed ? SCOPE_UFILE_NOCONTEXT : SCOPE_UFILE_CLOSED;
}

/* What resource tracking, mmap entries and uobjects know of each other. */
static void link_uobj(struct scope_walk *walk, struct scope_uobj_record *r)
{
	const struct scope_mmap_record *mmap;
	const struct scope_tracked *t;
	u32 n;

	if (r->state == SCOPE_UOBJ_DEAD)
		return;
	if (scope_map_get(&walk->tracked_by_object, r->object, &n)) {
		t = scope_vector_at(&walk->tracked, n);
		if (t->type == r->type) {
			r->has |= t->has;
			r->id = t->id;
			r->pdn = t->pdn;
			r->users = t->users;
			r->cqe = t->cqe;
			r->lkey = t->lkey;
			r->length = t->length;
			r->dm = t->dm;
		}
	}
	if (!scope_map_get(&walk->mmap_by_object, r->object, &n))
		return;
	mmap = scope_vector_at(&walk->mmaps, n);
	if (mmap->ufile != r->ufile)
		return;
	if (r->type == UVERBS_OBJECT_DM) {
		scope_dm_from_mmap(r, mmap);
	} else if (r->type & UVERBS_ID_DRIVER_NS) {
		r->has |= SCOPE_HAS_ENTRY | SCOPE_HAS_VAR;
		r->entry = mmap->address;
		r->page_id = mmap->page_id;
		if (mmap->var_bit_known) {
			r->has |= SCOPE_HAS_VAR_BIT;
			r->var_bit = mmap->var_bit;
		}
	}
}

static int link_ufile(struct scope_walk *walk, struct scope_walked *walked)
{
	const struct scope_vma_record *vma;
	struct scope_mmap_record *mmap;
	u32 n, found;
	int err = 0;

	for (n = walked->mmaps; n < walk->mmaps.nr && !err; n++) {
		mmap = scope_vector_at(&walk->mmaps, n);
		mmap->vmas_known = walked->record.umaps_known;
		err = scope_map_put(&walk->mmap_by_entry, mmap->address, n);
		/* An operation page leads to the device memory, not the reverse. */
		if (!err && mmap->object && mmap->kind != SCOPE_MMAP_MEMIC_OP)
			err = scope_map_put(&walk->mmap_by_object, mmap->object, n);
	}
	for (n = walked->vmas; n < walk->vmas.nr && !err; n++) {
		vma = scope_vector_at(&walk->vmas, n);
		if (!scope_map_get(&walk->mmap_by_entry, vma->entry, &found))
			continue;
		mmap = scope_vector_at(&walk->mmaps, found);
		if (mmap->ufile == vma->ufile)
			mmap->vmas++;
	}
	for (n = walked->uobjs; n < walk->uobjs.nr && !err; n++) {
		link_uobj(walk, scope_vector_at(&walk->uobjs, n));
		if (!(n % SCOPE_BATCH))
			cond_resched();
	}
	return err;
}

static int walk_ufile(struct scope_walk *walk, struct scope_walked *walked,
		      struct ib_uverbs_file *ufile)
{
	struct scope_ufile_record *r = &walked->record;
	int err;

	r->pid = walked->known.pid;
	memcpy(r->comm, walked->known.comm, sizeof(r->comm));
	err = scope_walk_uobjects(walk, walked, ufile);
	if (!err)
		err = scope_walk_mmaps(walk, walked, ufile);
	if (!err)
		err = scope_walk_vmas(walk, walked, ufile);
	if (!err)
		err = link_ufile(walk, walked);
	if (!err && walk->fprobe)
		err = scope_walk_dmabufs(walk, walked, ufile);
	if (!err && walk->deref)
		err = scope_walk_deref(walk, walked, ufile);
	r->uobjects = walk->uobjs.nr - walked->uobjs;
	r->listed = !list_empty(&ufile->list);
	/* Without ours. */
	r->ref = kref_read(&ufile->ref) - 1;
	if (r->state == SCOPE_UFILE_NOCONTEXT)
		r->state = end_state(walked);
	return err;
}

static int walk_one(struct scope_walk *walk, struct scope_walked *walked, unsigned int number)
{
	struct ib_uverbs_file *ufile = walked->ufile;
	struct scope_walked_device *device;
	int err = 0;
	u32 n;

	walked->ufile = NULL;
	if (!ufile)
		ufile = scope_registry_get_ufile(walked->record.id);
	if (!ufile)
		return 0;
	walked->uobjs = walk->uobjs.nr;
	walked->mmaps = walk->mmaps.nr;
	walked->vmas = walk->vmas.nr;
	walked->attaches = walk->attaches.nr;
	if (settle_device(walk, walked, ufile, number)) {
		err = walk_ufile(walk, walked, ufile);
		walked->walked = true;
		if (scope_map_get(&walk->device_by_uverbs, (unsigned long)ufile->device, &n)) {
			device = scope_vector_at(&walk->devices, n);
			device->record.ufiles++;
		}
	}
	walked->uobjs_end = walk->uobjs.nr;
	walked->mmaps_end = walk->mmaps.nr;
	walked->vmas_end = walk->vmas.nr;
	walked->attaches_end = walk->attaches.nr;
	kref_put(&ufile->ref, scope_release_file);
	return err;
}

/* Also after an error, for what must be given back. */
static int walk_ufiles(struct scope_walk *walk, unsigned int number, int err)
{
	struct scope_walked *walked;
	u32 n;

	for (n = 0; n < walk->ufiles.nr; n++) {
		walked = scope_vector_at(&walk->ufiles, n);
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		if (!err)
			err = walk_one(walk, walked, number);
		else if (walked->ufile)
			kref_put(&walked->ufile->ref, scope_release_file);
		cond_resched();
	}
	return err;
}

/* Which MR imports which dma-buf: known from the attachments alone. */
static int link_importers(struct scope_walk *walk)
{
	struct scope_map by_object = {};
	struct scope_attach_record *attach;
	struct scope_uobj_record *r;
	int err = 0;
	u32 n, found;

	if (!walk->attaches.nr)
		return 0;
	for (n = 0; n < walk->uobjs.nr && !err; n++) {
		r = scope_vector_at(&walk->uobjs, n);
		if (r->type == UVERBS_OBJECT_MR && r->object)
			err = scope_map_put(&by_object, r->object, n);
	}
	for (n = 0; n < walk->attaches.nr && !err; n++) {
		attach = scope_vector_at(&walk->attaches, n);
		if (!scope_map_get(&by_object, attach->mr, &found))
			continue;
		r = scope_vector_at(&walk->uobjs, found);
		r->has |= SCOPE_HAS_IMPORT;
		r->ino = attach->ino;
	}
	scope_map_free(&by_object);
	return err;
}

/*
 * The counts are read before the first and after the last look at anything that
 * goes into a ufile's records.  What was missed meanwhile may be of any of them.
 */
static void find_changed(struct scope_walk *walk)
{
	struct scope_registered now;
	struct scope_walked *walked;
	bool missed;
	u32 n;

	/* Pairs with the full barriers of those who count. */
	smp_mb();
	missed = scope_events_missed() != walk->missed;
	for (n = 0; n < walk->ufiles.nr; n++) {
		walked = scope_vector_at(&walk->ufiles, n);
		walked->record.changed_known = walk->fprobe || walked->record.changed;
		if (walk->fprobe && (missed ||
				     !scope_registry_read_ufile(walked->record.id, &now) ||
				     now.events != walked->known.events))
			walked->record.changed = true;
		walked->record.file_known = scope_events_see_close() &&
			(walked->known.pid || walked->known.released || walked->record.listed);
		walked->record.file_open = !walked->known.released;
	}
}

static int walk_all(struct scope_walk *walk, unsigned int number)
{
	int err;

	/* Events count from here, before anything that can change is read. */
	walk->missed = scope_events_missed();
	err = list_ufiles(walk);
	if (!err)
		err = walk_devices(walk, number);
	if (!err && walk->fprobe)
		err = list_dmabufs(walk);
	err = walk_ufiles(walk, number, err);
	if (!err)
		err = link_importers(walk);
	if (!err)
		find_changed(walk);
	return err;
}

/* The rest of a snapshot is long enough for others to want the processor. */
static int add_line(struct scope_text *text, struct scope_line *line)
{
	if (!(text->lines % SCOPE_BATCH))
		cond_resched();
	return scope_text_add(text, line);
}

static int print_ufile(struct scope_text *text, struct scope_line *line,
		       const struct scope_walk *walk, const struct scope_walked *walked)
{
	int err;
	u32 n;

	scope_report_ufile(line, &walked->record);
	err = add_line(text, line);
	for (n = walked->uobjs; n < walked->uobjs_end && !err; n++) {
		scope_report_uobj(line, scope_vector_at(&walk->uobjs, n), scope_token);
		err = add_line(text, line);
	}
	for (n = walked->mmaps; n < walked->mmaps_end && !err; n++) {
		scope_report_mmap(line, scope_vector_at(&walk->mmaps, n), scope_token);
		err = add_line(text, line);
	}
	for (n = walked->vmas; n < walked->vmas_end && !err; n++) {
		scope_report_vma(line, scope_vector_at(&walk->vmas, n), scope_token);
		err = add_line(text, line);
	}
	for (n = walked->attaches; n < walked->attaches_end && !err; n++) {
		scope_report_attach(line, scope_vector_at(&walk->attaches, n), scope_token);
		err = add_line(text, line);
	}
	return err;
}

static int print(struct scope_text *text, const struct scope_header *header,
		 const struct scope_walk *walk)
{
	const struct scope_walked_device *device;
	const struct scope_walked *walked;
	struct scope_line *line;
	int err;
	u32 n;

	line = kmalloc_obj(*line, SCOPE_GFP);
	if (!line)
		return -ENOMEM;
	scope_report_header(line, header);
	err = add_line(text, line);
	for (n = 0; n < walk->devices.nr && !err; n++) {
		device = scope_vector_at(&walk->devices, n);
		if (!device->wanted)
			continue;
		scope_report_device(line, &device->record);
		err = add_line(text, line);
	}
	for (n = 0; n < walk->ufiles.nr && !err; n++) {
		walked = scope_vector_at(&walk->ufiles, n);
		if (walked->walked)
			err = print_ufile(text, line, walk, walked);
	}
	if (!err) {
		scope_report_end(line, text->lines - 1);
		err = add_line(text, line);
	}
	kfree(line);
	return err;
}

static u32 count_refused(const struct scope_walk *walk)
{
	const struct scope_walked_device *device;
	u32 n, refused = 0;

	for (n = 0; n < walk->devices.nr; n++) {
		device = scope_vector_at(&walk->devices, n);
		refused += device->refused;
	}
	return refused;
}

/**
 * scope_snapshot - take a snapshot
 * @text: empty; the whole snapshot, if there is no error
 * @number: of the only device that is wanted, 0 for all
 *
 * Context: may sleep; takes walk_lock, see walk.h.
 * Return: 0, -ENOMEM, -EINTR, or -EBUSY where devices must be asked for their
 * ufiles and cannot be
 */
int scope_snapshot(struct scope_text *text, unsigned int number)
{
	struct scope_registry_counts counts;
	struct scope_header header;
	struct scope_walk *walk;
	int err;

	walk = kzalloc_obj(*walk, SCOPE_GFP);
	if (!walk)
		return -ENOMEM;
	init_walk(walk);
	err = scope_walk_begin();
	if (err) {
		free_walk(walk);
		return err;
	}
	header = (struct scope_header){
		.kernel		= init_utsname()->release,
		.time_ns	= ktime_get_ns(),
		.seq		= scope_registry_seq(),
		.deref		= walk->deref,
		.fprobe		= walk->fprobe,
	};
	err = walk_all(walk, number);
	scope_walk_end();
	scope_registry_count(&counts);
	header.dropped = counts.dropped;
	header.refused = count_refused(walk);
	if (!err)
		err = print(text, &header, walk);
	free_walk(walk);
	return err;
}
