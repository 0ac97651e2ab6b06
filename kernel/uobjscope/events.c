// SPDX-License-Identifier: GPL-2.0
/*
 * Probes on the functions where ufiles and dma_bufs are born and die, which feed
 * the registry, and on those that change what a snapshot of a ufile shows, which
 * are counted.
 *
 * Handlers run in the context of the probed function, before it or after it, with
 * preemption off.  They follow only pointers of structures that are public: those
 * of the private ones are checked later, in guard.c.
 *
 * What a call changes happens between its begin and its end; both are counted,
 * so that one that overlaps a walk is noticed.
 *
 * The registry must not miss the end of anything.  So those three probes are at the
 * begin of a function, which needs no memory, and as long as the module is loaded
 * nobody can switch function tracing off.
 */
#include <linux/dma-buf.h>
#include <linux/ftrace.h>
#include <linux/fprobe.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#include "uverbs.h"

#include "compat.h"
#include "dmabuf.h"
#include "events.h"
#include "lifetime.h"
#include "registry.h"

/**
 * typedef scope_probe_function - find out whom a call concerns
 * @regs: registers at the function's begin
 *
 * Return: id of the ufile, 0 for none
 */
typedef u64 scope_probe_function(struct scope_regs *regs);

/**
 * struct scope_probe - a probed function
 * @symbol: its name
 * @begin: called at its begin
 * @needed: the registry is not complete without it
 * @vital: the registry is not safe if it misses a call
 * @counted: its end is an event as well
 * @on: it is probed
 * @error: why it is not, where that was tried
 * @fprobe: the probe
 */
struct scope_probe {
	const char		*symbol;
	scope_probe_function	*begin;
	bool			needed;
	bool			vital;
	bool			counted;
	bool			on;
	int			error;
	struct fprobe		fprobe;
};

static void *argument(struct scope_regs *regs, unsigned int n)
{
	return (void *)scope_regs_argument(regs, n);
}

/*
 * void setup_ufile_idr_uobject(struct ib_uverbs_file *ufile)
 *
 * The last thing that ib_uverbs_open() does before it succeeds.
 */
static u64 ufile_setup(struct scope_regs *regs)
{
	u64 id = scope_registry_add_ufile(argument(regs, 0), true);

	scope_registry_event(id);
	return id;
}

/* void ib_uverbs_release_file(struct kref *ref) */
static u64 ufile_release(struct scope_regs *regs)
{
	struct ib_uverbs_file *ufile = container_of((struct kref *)argument(regs, 0),
						    struct ib_uverbs_file, ref);
	u64 id = scope_registry_event_at(ufile);

	scope_lifetime_ufile_release(ufile);
	scope_registry_remove_ufile(ufile);
	return id;
}

/*
 * void alloc_commit_fd_uobject(struct ib_uobject *uobj), alloc_commit_idr_uobject() alike
 *
 * The core of rdma_alloc_commit_uobject(), which clang inlines where the ioctl calls it.
 * These two are called by pointer.  The uobject is on its ufile's list by then.  A walk
 * that meets it there just before shows it, and of a DMABUF nothing of the dma_buf, which
 * the registry does not know yet.  That is noticed as a change only if the commit comes
 * before the end of the walk.
 */
static u64 uobject_commit(struct scope_regs *regs)
{
	struct ib_uobject *uobj = argument(regs, 0);
	struct dma_buf *dmabuf = scope_dmabuf_of(uobj);

	if (dmabuf)
		scope_registry_add_dmabuf(dmabuf, uobj->ufile);
	return scope_registry_event_at(uobj->ufile);
}

/*
 * void uverbs_dmabuf_release(struct dma_buf *dmabuf)
 *
 * dmabuf->priv is not followed: after an export that failed it may be gone.
 */
static u64 dmabuf_release(struct scope_regs *regs)
{
	u64 id = scope_registry_dmabuf_ufile(argument(regs, 0));

	scope_lifetime_dmabuf_release(argument(regs, 0));
	scope_registry_remove_dmabuf(argument(regs, 0));
	scope_registry_event(id);
	return id;
}

/*
 * int dma_buf_file_release(struct inode *inode, struct file *file)
 *
 * Of any exporter.  The file is freed after this, while the dma_buf is kept by whoever has
 * its dentry, which needs no more than an open() with O_PATH.
 */
static u64 dmabuf_close(struct scope_regs *regs)
{
	const struct file *file = argument(regs, 1);
	u64 id = scope_registry_close_dmabuf(file->private_data);

	if (id)
		scope_registry_event(id);
	return id;
}

/* int uverbs_destroy_uobject(struct ib_uobject *uobj, ...) */
static u64 uobject_destroy(struct scope_regs *regs)
{
	struct ib_uobject *uobj = argument(regs, 0);

	return scope_registry_event_at(uobj->ufile);
}

/* void uverbs_destroy_ufile_hw(struct ib_uverbs_file *ufile, enum rdma_remove_reason reason) */
static u64 ufile_destroy(struct scope_regs *regs)
{
	struct ib_uverbs_file *ufile = argument(regs, 0);

	/* The upper half of the register is anything. */
	scope_registry_note_end(ufile, (u32)scope_regs_argument(regs, 1) == RDMA_REMOVE_CLOSE);
	return scope_registry_event_at(ufile);
}

/* int rdma_user_mmap_entry_insert_range(struct ib_ucontext *ucontext, ...) */
static u64 entry_insert(struct scope_regs *regs)
{
	struct ib_ucontext *ucontext = argument(regs, 0);

	return scope_registry_event_at(ucontext->ufile);
}

/* void rdma_user_mmap_entry_remove(struct rdma_user_mmap_entry *entry) */
static u64 entry_remove(struct scope_regs *regs)
{
	struct rdma_user_mmap_entry *entry = argument(regs, 0);

	return entry ? scope_registry_event_at(entry->ucontext->ufile) : 0;
}

/* void rdma_user_mmap_entry_free(struct kref *kref) */
static u64 entry_free(struct scope_regs *regs)
{
	struct rdma_user_mmap_entry *entry = container_of((struct kref *)argument(regs, 0),
							  struct rdma_user_mmap_entry, ref);

	return scope_registry_event_at(entry->ucontext->ufile);
}

/* void rdma_umap_priv_init(struct rdma_umap_priv *priv, struct vm_area_struct *vma, ...) */
static u64 umap_init(struct scope_regs *regs)
{
	struct vm_area_struct *vma = argument(regs, 1);

	return scope_registry_event_at(vma->vm_file->private_data);
}

/* void rdma_umap_close(struct vm_area_struct *vma) */
static u64 umap_close(struct scope_regs *regs)
{
	struct vm_area_struct *vma = argument(regs, 0);

	return scope_registry_event_at(vma->vm_file->private_data);
}

/* Of any exporter: an event only if the registry knows the dma_buf. */
static u64 dmabuf_event(struct dma_buf *dmabuf)
{
	u64 id = scope_registry_dmabuf_ufile(dmabuf);

	if (id)
		scope_registry_event(id);
	return id;
}

/* dma_buf_dynamic_attach(struct dma_buf *dmabuf, ...), dma_buf_detach() alike */
static u64 dmabuf_attach(struct scope_regs *regs)
{
	return dmabuf_event(argument(regs, 0));
}

/* uverbs_dmabuf_map(struct dma_buf_attachment *attachment, ...), uverbs_dmabuf_unmap() alike */
static u64 dmabuf_map(struct scope_regs *regs)
{
	struct dma_buf_attachment *attachment = argument(regs, 0);

	return dmabuf_event(attachment->dmabuf);
}

/*
 * In the order in which they are registered.  Deaths come before births: what is born is
 * not missed when it dies, however soon, or the registry would lead to it for good.
 */
static struct scope_probe probes[] = {
	{ "ib_uverbs_release_file", ufile_release, .needed = true, .vital = true },
	{ "uverbs_dmabuf_release", dmabuf_release, .needed = SCOPE_DMABUF_OBJECTS,
	  .vital = SCOPE_DMABUF_OBJECTS },
	{ "dma_buf_file_release", dmabuf_close, .needed = SCOPE_DMABUF_OBJECTS,
	  .vital = SCOPE_DMABUF_OBJECTS },
	{ "setup_ufile_idr_uobject", ufile_setup, .needed = true },
	{ "alloc_commit_fd_uobject", uobject_commit, .needed = true, .counted = true },
	{ "alloc_commit_idr_uobject", uobject_commit, .needed = true, .counted = true },
	{ "ib_uverbs_open", NULL },
	{ "uverbs_destroy_uobject", uobject_destroy, .counted = true },
	{ "uverbs_destroy_ufile_hw", ufile_destroy, .counted = true },
	{ "rdma_user_mmap_entry_insert_range", entry_insert, .counted = true },
	{ "rdma_user_mmap_entry_remove", entry_remove, .counted = true },
	{ "rdma_user_mmap_entry_free", entry_free, .counted = true },
	{ "rdma_umap_priv_init", umap_init, .counted = true },
	{ "rdma_umap_close", umap_close, .counted = true },
	{ "uverbs_dmabuf_map", dmabuf_map, .counted = true },
	{ "uverbs_dmabuf_unmap", dmabuf_map, .counted = true },
	{ "dma_buf_dynamic_attach", dmabuf_attach, .counted = true },
	{ "dma_buf_detach", dmabuf_attach, .counted = true },
};

static int at_begin(struct fprobe *fprobe, unsigned long ip, unsigned long return_ip,
		    struct scope_regs *regs, void *data)
{
	struct scope_probe *probe = container_of(fprobe, struct scope_probe, fprobe);
	u64 id = probe->begin(regs);

	if (!probe->counted || !id)
		return 1;
	*(u64 *)data = id;
	return 0;
}

static void at_end(struct fprobe *fprobe, unsigned long ip, unsigned long return_ip,
		   struct scope_regs *regs, void *data)
{
	scope_registry_event(*(u64 *)data);
}

/* int ib_uverbs_open(struct inode *inode, struct file *filp) */
static int open_begin(struct fprobe *fprobe, unsigned long ip, unsigned long return_ip,
		      struct scope_regs *regs, void *data)
{
	*(struct file **)data = argument(regs, 1);
	return 0;
}

static void open_end(struct fprobe *fprobe, unsigned long ip, unsigned long return_ip,
		     struct scope_regs *regs, void *data)
{
	struct file *file = *(struct file **)data;

	if ((int)scope_regs_result(regs))
		return;
	scope_registry_event(scope_registry_add_ufile(file->private_data, true));
}

static int start(struct scope_probe *probe)
{
	struct fprobe *fprobe = &probe->fprobe;

	memset(fprobe, 0, sizeof(*fprobe));
	fprobe->entry_data_size = sizeof(u64);
	if (!probe->begin) {
		fprobe->entry_handler = open_begin;
		fprobe->exit_handler = open_end;
	} else {
		fprobe->entry_handler = at_begin;
		if (probe->counted)
			fprobe->exit_handler = at_end;
		else
			fprobe->entry_data_size = 0;
	}
	scope_fprobe_make_room(fprobe);
	return register_fprobe_syms(fprobe, &probe->symbol, 1);
}

static void nothing(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
		    struct ftrace_regs *regs)
{
}

/* While a permanent one of these is registered, kernel.ftrace_enabled stays 1. */
static struct ftrace_ops keep_tracing = {
	.func	= nothing,
	.flags	= FTRACE_OPS_FL_PERMANENT,
};

static bool tracing_is_kept;

static int start_keeping(void)
{
	/* Any function does; this one is exported by all kernels, and not called often. */
	int err = ftrace_set_filter_ip(&keep_tracing, (unsigned long)uverbs_uobject_fd_release,
				       0, 0);

	if (!err)
		err = register_ftrace_function(&keep_tracing);
	if (err)
		ftrace_free_filter(&keep_tracing);
	tracing_is_kept = !err;
	return err;
}

static void stop_keeping(void)
{
	if (!tracing_is_kept)
		return;
	unregister_ftrace_function(&keep_tracing);
	ftrace_free_filter(&keep_tracing);
	tracing_is_kept = false;
}

/**
 * scope_events_start - register the probes
 *
 * The registry allocates in the handlers, which a kernel with real time
 * preemption does not allow there.
 *
 * Context: may sleep; nobody uses the registry yet.
 * Return: 0, or why the registry cannot be fed; then no probe is registered, and the
 * registry is empty.  That a function which is only counted cannot be probed is no error:
 * the compiler may have inlined it.
 */
int scope_events_start(void)
{
	unsigned int n;
	int err;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return -EOPNOTSUPP;
	err = start_keeping();
	if (err)
		return err;
	for (n = 0; n < ARRAY_SIZE(probes); n++) {
		probes[n].error = start(&probes[n]);
		probes[n].on = !probes[n].error;
		if (probes[n].error && probes[n].needed && !err)
			err = probes[n].error;
	}
	if (err) {
		scope_events_stop();
		/* What dies from now on is not seen to. */
		scope_registry_clear();
	}
	return err;
}

/**
 * scope_events_stop - unregister the probes
 *
 * Context: may sleep; no handler runs any more when it returns.
 */
void scope_events_stop(void)
{
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(probes); n++) {
		if (!probes[n].on)
			continue;
		unregister_fprobe(&probes[n].fprobe);
		probes[n].on = false;
	}
	stop_keeping();
}

/**
 * scope_events_lost - has the registry missed the end of something?
 *
 * Return: whether its entries must not be followed any more
 */
bool scope_events_lost(void)
{
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(probes); n++)
		if (probes[n].vital && (!probes[n].on || READ_ONCE(probes[n].fprobe.nmissed)))
			return true;
	return false;
}

/**
 * scope_events_missed - how much has happened that was not counted?
 *
 * Return: calls of all probed functions that have gone by unseen, of whichever ufile
 */
u64 scope_events_missed(void)
{
	unsigned int n;
	u64 missed = 0;

	for (n = 0; n < ARRAY_SIZE(probes); n++)
		if (probes[n].on)
			missed += READ_ONCE(probes[n].fprobe.nmissed);
	return missed;
}

/**
 * scope_events_see_close - does the registry learn when a file is closed?
 *
 * Return: whether scope_registry_note_end() is called, and always has been
 */
bool scope_events_see_close(void)
{
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(probes); n++)
		if (probes[n].begin == ufile_destroy)
			return probes[n].on && !READ_ONCE(probes[n].fprobe.nmissed);
	return false;
}

/**
 * scope_events_state - for the file info
 * @n: of the probe
 * @state: where to put its state
 *
 * Return: whether there is such a probe
 */
bool scope_events_state(unsigned int n, struct scope_probe_state *state)
{
	if (n >= ARRAY_SIZE(probes))
		return false;
	state->symbol = probes[n].symbol;
	state->on = probes[n].on;
	state->error = probes[n].error;
	state->missed = probes[n].fprobe.nmissed;
	return true;
}
