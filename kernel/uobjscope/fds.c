// SPDX-License-Identifier: GPL-2.0
/*
 * Which task holds which uverbs file, dma-buf, or uobject of class fd.
 *
 * Tasks are got hold of under RCU, a batch at a time, and then asked for their
 * files one by one.  A file that is only in flight in a socket, or registered with
 * io_uring, is in no task's table and not found here; nor is one in a table that a
 * thread has of its own, since a process is asked for one table.
 */
#include <linux/dma-buf.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#include "uverbs.h"

#include "compat.h"
#include "dmabuf.h"
#include "fds.h"
#include "registry.h"
#include "report.h"
#include "snapshot.h"
#include "text.h"
#include "walk.h"

/**
 * typedef fd_function - what to do with a file
 * @fd: pid, comm and fd are known
 * @file: with a reference
 * @arg: given with the function
 *
 * Return: 0, or an error that ends the walk
 */
typedef int fd_function(struct scope_fd_record *fd, struct file *file, void *arg);

static bool is_ib_uverbs(struct module *module)
{
	return module && !strcmp(module_name(module), "ib_uverbs");
}

static bool is_uverbs_file(struct file *file)
{
	return S_ISCHR(file_inode(file)->i_mode) && is_ib_uverbs(file->f_op->owner) &&
	       file->f_op->unlocked_ioctl;
}

static bool is_dmabuf_file(struct file *file)
{
	return file_inode(file)->i_sb->s_magic == DMA_BUF_MAGIC;
}

/* That of async events ends in a function of its own, in some kernels. */
static bool is_uobject_file(struct file *file)
{
	return file->f_op->release == uverbs_uobject_fd_release ||
	       (is_ib_uverbs(file->f_op->owner) && !S_ISCHR(file_inode(file)->i_mode));
}

/* The uobject of a dma-buf of uverbs; NULL for others. */
static struct ib_uobject *dmabuf_uobject(const struct dma_buf *dmabuf)
{
	return is_ib_uverbs(dmabuf->owner) && dmabuf->priv ? scope_dmabuf_uobject(dmabuf) : NULL;
}

/* All files of one task from number @from on. */
static int walk_files(struct task_struct *task, fd_function *function, void *arg)
{
	struct scope_fd_record fd;
	unsigned int n = 0;
	struct file *file;
	int err = 0;

	while (!err && (file = scope_next_file(task, &n))) {
		if (is_uverbs_file(file) || is_dmabuf_file(file) || is_uobject_file(file)) {
			fd = (struct scope_fd_record){
				.pid	= task->tgid,
				.fd	= n,
			};
			strscpy(fd.comm, task->comm);
			err = function(&fd, file, arg);
		}
		fput(file);
		n++;
		cond_resched();
	}
	return err;
}

/*
 * Its files may be looked at through any thread that still has them, if none has gone its
 * own way: which threads share which table is not to be had without comparing all.
 */
static struct task_struct *thread_with_files(struct task_struct *process)
{
	struct task_struct *thread;

	for_each_thread(process, thread)
		if (READ_ONCE(thread->files))
			return get_task_struct(thread);
	return NULL;
}

/*
 * One batch of processes, in the order of their numbers, from *number on; whether
 * there may be more.
 */
static bool get_tasks(struct task_struct **tasks, unsigned int *nr, int *number)
{
	struct pid *pid = NULL;
	unsigned int visited;

	*nr = 0;
	rcu_read_lock();
	for (visited = 0; visited < SCOPE_BATCH; visited++) {
		struct task_struct *process;

		pid = find_ge_pid(*number, &init_pid_ns);
		if (!pid)
			break;
		*number = pid_nr(pid) + 1;
		process = pid_task(pid, PIDTYPE_TGID);
		tasks[*nr] = process ? thread_with_files(process) : NULL;
		*nr += !!tasks[*nr];
	}
	rcu_read_unlock();
	return pid;
}

static int walk_tasks(fd_function *function, void *arg)
{
	struct task_struct **tasks;
	unsigned int nr, n;
	bool more = true;
	int number = 1;
	int err = 0;

	tasks = kcalloc(SCOPE_BATCH, sizeof(*tasks), SCOPE_GFP);
	if (!tasks)
		return -ENOMEM;
	while (more && !err) {
		more = get_tasks(tasks, &nr, &number);
		for (n = 0; n < nr; n++) {
			if (!err && fatal_signal_pending(current))
				err = -EINTR;
			if (!err)
				err = walk_files(tasks[n], function, arg);
			put_task_struct(tasks[n]);
		}
	}
	kfree(tasks);
	return err;
}

static void read_dmabuf(struct scope_fd_record *fd, const struct dma_buf *dmabuf,
			struct file *file)
{
	const struct ib_uobject *uobj = dmabuf_uobject(dmabuf);

	fd->kind = SCOPE_FD_DMABUF;
	fd->ino = file_inode(file)->i_ino;
	fd->size = dmabuf->size;
	strscpy(fd->exporter, dmabuf->exp_name ? dmabuf->exp_name : "-");
	if (uobj)
		fd->ufile = scope_registry_ufile_id(uobj->ufile);
}

static void read_uobject(struct scope_fd_record *fd, const struct ib_uobject *uobj)
{
	struct scope_registered known;

	fd->kind = SCOPE_FD_UOBJ;
	fd->type = uobj->uapi_object->id;
	fd->live = READ_ONCE(uobj->context);
	fd->ufile = scope_registry_ufile_id(uobj->ufile);
	if (scope_registry_read_ufile(fd->ufile, &known))
		fd->driver = known.driver;
}

/* The file's reference keeps what it leads to. */
static int record_file(struct scope_fd_record *fd, struct file *file, void *fds)
{
	int err;

	/* A file whose uobject was never committed has none. */
	if (!file->private_data)
		return 0;
	err = scope_vector_reserve(fds, 1);
	if (err)
		return err;
	/* Without ours. */
	fd->file_ref = file_count(file) - 1;
	if (is_dmabuf_file(file)) {
		read_dmabuf(fd, file->private_data, file);
	} else if (is_uobject_file(file)) {
		read_uobject(fd, file->private_data);
		fd->file = (unsigned long)file;
	} else {
		fd->kind = SCOPE_FD_UVERBS;
		fd->ufile = scope_registry_ufile_id(file->private_data);
	}
	*(struct scope_fd_record *)scope_vector_push(fds) = *fd;
	return 0;
}

/* A ufile is kept by its own file and by those of its uobjects. */
static int seed_file(struct scope_fd_record *fd, struct file *file, void *arg)
{
	const struct ib_uobject *uobj;

	if (!file->private_data)
		return 0;
	if (is_dmabuf_file(file)) {
		uobj = dmabuf_uobject(file->private_data);
		if (uobj) {
			scope_registry_add_ufile(uobj->ufile, false);
			scope_registry_add_dmabuf(file->private_data, uobj->ufile);
		}
	} else if (is_uobject_file(file)) {
		uobj = file->private_data;
		scope_registry_add_ufile(uobj->ufile, false);
	}
	return 0;
}

static int print(struct scope_text *text, const struct scope_vector *fds)
{
	struct scope_line *line = kmalloc_obj(*line, SCOPE_GFP);
	int err;
	u32 n;

	if (!line)
		return -ENOMEM;
	scope_line_begin(line, "fds");
	scope_line_number(line, "v", SCOPE_FORMAT);
	scope_line_number(line, "time_ns", ktime_get_ns());
	scope_line_end(line);
	err = scope_text_add(text, line);
	for (n = 0; n < fds->nr && !err; n++) {
		scope_report_fd(line, scope_vector_at(fds, n), scope_token);
		err = scope_text_add(text, line);
	}
	if (!err) {
		scope_report_end(line, text->lines - 1);
		err = scope_text_add(text, line);
	}
	kfree(line);
	return err;
}

/**
 * scope_fds - walk the tasks' files
 * @text: empty; all of the file fds, if there is no error
 *
 * Context: may sleep; takes walk_lock, since it takes references to files.
 * Return: 0, -ENOMEM or -EINTR
 */
int scope_fds(struct scope_text *text)
{
	struct scope_vector fds;
	int err;

	scope_vector_init(&fds, sizeof(struct scope_fd_record));
	err = scope_walk_begin();
	if (!err) {
		err = walk_tasks(record_file, &fds);
		scope_walk_end();
	}
	if (!err)
		err = print(text, &fds);
	scope_vector_free(&fds);
	return err;
}

/**
 * scope_fds_seed - tell the registry of what is older than its probes
 *
 * Dma-bufs, and ufiles that no device lists any more.  What no task has a file
 * of stays unknown; and of a ufile whose device is gone nothing but the id is shown,
 * in the file fds, see settle_device().
 *
 * Context: may sleep; the probes are registered.
 * Return: 0, -ENOMEM or -EINTR
 */
int scope_fds_seed(void)
{
	return walk_tasks(seed_file, NULL);
}
