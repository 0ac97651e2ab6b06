// SPDX-License-Identifier: GPL-2.0
/*
 * The module, its device file, and the table of commands.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "importer.h"

/* The longest of all, so that nothing that is held back outlives a watchdog by much. */
#define MAX_HOLD_MS	600000

unsigned int importer_max_hold_ms = 60000;
module_param_named(max_hold_ms, importer_max_hold_ms, uint, 0444);
MODULE_PARM_DESC(max_hold_ms,
		 "Longest time that anything is held back, 1 to 600000 ms (default: 60000)");

/* Not to be set: the kernel is as it is. */
static int moves_get(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%c\n", IMPORTER_MOVES ? 'Y' : 'N');
}

static int moves_set(const char *text, const struct kernel_param *param)
{
	pr_err("parameter moves: to be read only, the kernel is as it is\n");
	return -EPERM;
}

static const struct kernel_param_ops moves_ops = {
	.set	= moves_set,
	.get	= moves_get,
};

module_param_cb(moves, &moves_ops, NULL, 0444);
MODULE_PARM_DESC(moves, "Whether this kernel lets a buffer move that is mapped (to be read only)");

/* For what happens when a time is over. */
struct workqueue_struct *importer_wq;

/**
 * importer_limit - check the time that something is to be held back
 * @limit_ms: the time, 0 for the longest, by which it is replaced
 *
 * Context: any
 * Return: whether it is allowed
 */
bool importer_limit(u32 *limit_ms)
{
	if (!*limit_ms)
		*limit_ms = importer_max_hold_ms;
	return *limit_ms <= importer_max_hold_ms;
}

static void importer_free(struct kref *kref)
{
	struct importer *importer = container_of(kref, struct importer, kref);

	xa_destroy(&importer->attachments);
	xa_destroy(&importer->fences);
	xa_destroy(&importer->exports);
	kfree(importer);
}

/**
 * importer_put - give back a reference to a context
 * @importer: the context
 *
 * Context: process context
 */
void importer_put(struct importer *importer)
{
	kref_put(&importer->kref, importer_free);
}

/**
 * importer_new - make a context
 *
 * Context: process context, may sleep
 * Return: the context, to be given back with importer_put(), or NULL
 */
struct importer *importer_new(void)
{
	struct importer *importer = kzalloc_obj(*importer);

	if (!importer)
		return NULL;
	kref_init(&importer->kref);
	xa_init_flags(&importer->attachments, XA_FLAGS_ALLOC1);
	xa_init_flags(&importer->fences, XA_FLAGS_ALLOC1);
	xa_init_flags(&importer->exports, XA_FLAGS_ALLOC1);
	spin_lock_init(&importer->lock);
	init_waitqueue_head(&importer->wait);
	return importer;
}

static int importer_open(struct inode *inode, struct file *file)
{
	struct importer *importer = importer_new();

	if (!importer)
		return -ENOMEM;
	file->private_data = importer;
	return stream_open(inode, file);
}

/*
 * The last descriptor is gone, thus no command is running.  Others may be waiting
 * for us with a reservation object locked that is needed for detaching, so first
 * all that they can be waiting for comes to its end.
 */
static int importer_close(struct inode *inode, struct file *file)
{
	struct importer *importer = file->private_data;

	importer_resume_all(importer);
	importer_signal_all(importer);
	importer_forget_exports(importer);
	importer_detach_all(importer);
	importer_put(importer);
	return 0;
}

static int importer_get_version(struct importer *importer, void *arg)
{
	struct dmabuf_importer_version *version = arg;

	*version = (struct dmabuf_importer_version) {
		.version	= DMABUF_IMPORTER_VERSION,
		.max_hold_ms	= importer_max_hold_ms,
		.max_export	= IMPORTER_MAX_EXPORT,
	};
	return 0;
}

/**
 * struct importer_command - a command
 * @cmd: as ioctl() has it; direction and size of the argument are part of it
 * @run: what does it; gets the argument in kernel memory
 */
struct importer_command {
	unsigned int	cmd;
	int		(*run)(struct importer *importer, void *arg);
};

static const struct importer_command importer_commands[] = {
	{ DMABUF_IMPORTER_GET_VERSION,	importer_get_version },
	{ DMABUF_IMPORTER_ATTACH,	importer_attach },
	{ DMABUF_IMPORTER_DETACH,	importer_detach },
	{ DMABUF_IMPORTER_MAP,		importer_map },
	{ DMABUF_IMPORTER_UNMAP,	importer_unmap },
	{ DMABUF_IMPORTER_ENTRIES,	importer_entries },
	{ DMABUF_IMPORTER_READ,		importer_read },
	{ DMABUF_IMPORTER_PIN,		importer_pin },
	{ DMABUF_IMPORTER_UNPIN,	importer_unpin },
	{ DMABUF_IMPORTER_QUERY,	importer_query },
	{ DMABUF_IMPORTER_SET_POLICY,	importer_set_policy },
	{ DMABUF_IMPORTER_RELEASE,	importer_release },
	{ DMABUF_IMPORTER_STALL,	importer_stall },
	{ DMABUF_IMPORTER_RESUME,	importer_resume },
	{ DMABUF_IMPORTER_HOLD_FENCE,	importer_hold_fence },
	{ DMABUF_IMPORTER_SIGNAL,	importer_signal },
	{ DMABUF_IMPORTER_EXPORT,	importer_export },
	{ DMABUF_IMPORTER_INVALIDATE,	importer_invalidate },
	{ DMABUF_IMPORTER_EXPORT_QUERY,	importer_export_query },
	{ DMABUF_IMPORTER_EXPORT_RESUME, importer_export_resume },
};

static const struct importer_command *find_command(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(importer_commands); i++)
		if (importer_commands[i].cmd == cmd)
			return &importer_commands[i];
	return NULL;
}

/* The largest argument. */
union importer_argument {
	struct dmabuf_importer_query query;
	struct dmabuf_importer_export export;
	struct dmabuf_importer_export_query export_query;
};

static long importer_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct importer_command *command = find_command(cmd);
	void __user *user = (void __user *)arg;
	union importer_argument argument = {};
	int err;

	if (!command)
		return -ENOTTY;
	if (WARN_ON_ONCE(_IOC_SIZE(cmd) > sizeof(argument)))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&argument, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	/*
	 * Where the answer cannot be written nothing must be done either: without its
	 * id, what was made could not be named.
	 */
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &argument, _IOC_SIZE(cmd)))
		return -EFAULT;
	err = command->run(file->private_data, &argument);
	if (!err && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &argument, _IOC_SIZE(cmd)))
		err = -EFAULT;
	return err;
}

static const struct file_operations importer_fops = {
	.owner		= THIS_MODULE,
	.open		= importer_open,
	.release	= importer_close,
	.read		= importer_read_events,
	.poll		= importer_poll,
	.unlocked_ioctl	= importer_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice importer_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= KBUILD_MODNAME,
	.fops	= &importer_fops,
	.mode	= 0600,
};

static int __init importer_init(void)
{
	int err;

	if (!importer_max_hold_ms || importer_max_hold_ms > MAX_HOLD_MS) {
		pr_err("parameter max_hold_ms: got %u, expected 1 to %u\n", importer_max_hold_ms,
		       MAX_HOLD_MS);
		return -EINVAL;
	}
	importer_wq = alloc_workqueue(KBUILD_MODNAME, WQ_UNBOUND, 0);
	if (!importer_wq)
		return -ENOMEM;
	err = misc_register(&importer_device);
	if (err)
		destroy_workqueue(importer_wq);
	return err;
}

/*
 * No file is open and no dma-buf of ours is left, since each of them keeps the module; nor a
 * fence that does.
 */
static void __exit importer_exit(void)
{
	misc_deregister(&importer_device);
	destroy_workqueue(importer_wq);
	/* Who is just asking a fence for its name is in a function of ours. */
	synchronize_rcu();
	importer_fences_leave();
}

module_init(importer_init);
module_exit(importer_exit);
IMPORTER_IMPORT_NS();
MODULE_DESCRIPTION("dma-buf importer and exporter under test control");
MODULE_LICENSE("GPL");
