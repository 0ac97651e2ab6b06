// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/uobjscope/: the text of a file is made when it is opened.
 *
 * An open file keeps its text and the module, and nothing else: it can be read
 * after its device is gone.  That is why the files are created with
 * debugfs_create_file_unsafe(), which protects opening only.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "debugfs.h"
#include "fds.h"
#include "info.h"
#include "layout.h"
#include "lifetime.h"
#include "snapshot.h"
#include "text.h"

static struct dentry *root;

static struct scope_text *new_text(void)
{
	struct scope_text *text = kmalloc_obj(*text, GFP_KERNEL_ACCOUNT);

	if (text)
		scope_text_init(text);
	return text;
}

static void free_text(struct scope_text *text)
{
	scope_text_free(text);
	kfree(text);
}

/* The whole text, or no open file. */
static int open_text(struct file *file, struct scope_text *text, int err)
{
	if (err)
		free_text(text);
	else
		file->private_data = text;
	return err;
}

static int open_made(struct file *file, int (*make)(struct scope_text *text))
{
	struct scope_text *text = new_text();

	return text ? open_text(file, text, make(text)) : -ENOMEM;
}

static int snapshot_open(struct inode *inode, struct file *file)
{
	struct scope_text *text = new_text();
	/* Of the device, 0 for all. */
	unsigned int number = (unsigned long)inode->i_private;

	return text ? open_text(file, text, scope_snapshot(text, number)) : -ENOMEM;
}

static int fds_open(struct inode *inode, struct file *file)
{
	return open_made(file, scope_fds);
}

static int layout_open(struct inode *inode, struct file *file)
{
	return open_made(file, scope_layout);
}

static int info_open(struct inode *inode, struct file *file)
{
	return open_made(file, scope_info);
}

static int events_open(struct inode *inode, struct file *file)
{
	return open_made(file, scope_lifetime_list);
}

static ssize_t text_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return scope_text_read(file->private_data, to, count, pos);
}

static loff_t text_llseek(struct file *file, loff_t offset, int whence)
{
	const struct scope_text *text = file->private_data;

	return generic_file_llseek_size(file, offset, whence, MAX_LFS_FILESIZE, text->size);
}

static int text_release(struct inode *inode, struct file *file)
{
	free_text(file->private_data);
	return 0;
}

#define TEXT_FOPS(_open) {			\
	.owner		= THIS_MODULE,		\
	.open		= _open,		\
	.read		= text_read,		\
	.llseek		= text_llseek,		\
	.release	= text_release,		\
}

static const struct file_operations snapshot_fops = TEXT_FOPS(snapshot_open);
static const struct file_operations fds_fops = TEXT_FOPS(fds_open);
static const struct file_operations layout_fops = TEXT_FOPS(layout_open);
static const struct file_operations info_fops = TEXT_FOPS(info_open);
static const struct file_operations events_fops = TEXT_FOPS(events_open);

static ssize_t trace_read(struct file *file, char __user *to, size_t count, loff_t *pos)
{
	return simple_read_from_buffer(to, count, pos, scope_lifetime_is_on() ? "1\n" : "0\n", 2);
}

static ssize_t trace_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char said[16] = "";
	char *word;
	int err;

	if (copy_from_user(said, from, min(count, sizeof(said) - 1)))
		return -EFAULT;
	word = strim(said);
	if (count >= sizeof(said) || (strcmp(word, "0") && strcmp(word, "1"))) {
		pr_notice("trace: expected 0 or 1, got '%*pE'\n", (int)strlen(word), word);
		return -EINVAL;
	}
	err = scope_lifetime_switch(*word == '1');
	if (err)
		pr_notice("trace: no events without probes that feed the registry (fprobe=1)\n");
	return err ?: count;
}

/* Created so that who reads or writes it is waited for when it is removed. */
static const struct file_operations trace_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= trace_read,
	.write	= trace_write,
	.llseek	= default_llseek,
};

/* Not everybody keeps all of debugfs closed to all but root. */
static void close_to_others(struct inode *directory)
{
	inode_lock(directory);
	directory->i_mode = S_IFDIR | 0700;
	inode_unlock(directory);
}

/**
 * scope_debugfs_start - make the directory and the module's own files
 *
 * An open file keeps no module whose init function fails.  So this comes when that cannot
 * be any more, and before the first scope_debugfs_add_device().
 *
 * Context: may sleep.
 */
void scope_debugfs_start(void)
{
	root = debugfs_create_dir("uobjscope", NULL);
	if (IS_ERR(root))
		return;
	close_to_others(d_inode(root));
	debugfs_create_file_unsafe("snapshot", 0400, root, NULL, &snapshot_fops);
	debugfs_create_file_unsafe("fds", 0400, root, NULL, &fds_fops);
	debugfs_create_file_unsafe("layout", 0400, root, NULL, &layout_fops);
	debugfs_create_file_unsafe("info", 0400, root, NULL, &info_fops);
	debugfs_create_file_unsafe("events", 0400, root, NULL, &events_fops);
	debugfs_create_file("trace", 0600, root, NULL, &trace_fops);
}

/**
 * scope_debugfs_stop - remove everything
 *
 * Context: may sleep; nobody opens a file any more when it returns.
 */
void scope_debugfs_stop(void)
{
	debugfs_remove(root);
	root = NULL;
}

/**
 * scope_debugfs_add_device - make the directory of a device
 * @name: of the device
 * @number: see struct scope_device
 *
 * Context: may sleep; after scope_debugfs_start().
 * Return: the directory; what debugfs gives, which may be an error pointer: the device may
 * have the name of one of the module's own files
 */
struct dentry *scope_debugfs_add_device(const char *name, unsigned int number)
{
	struct dentry *directory = debugfs_create_dir(name, root);

	if (!IS_ERR(directory))
		debugfs_create_file_unsafe("snapshot", 0400, directory,
					   (void *)(unsigned long)number, &snapshot_fops);
	else if (!IS_ERR(root))
		pr_warn("%s: its directory cannot be made: %pe\n", name, directory);
	return directory;
}

/**
 * scope_debugfs_rename_device - follow the name of a device
 * @directory: from scope_debugfs_add_device(), or NULL
 * @name: new name
 *
 * Context: may sleep; one rename at a time.
 */
void scope_debugfs_rename_device(struct dentry *directory, const char *name)
{
	int err;

	/* It may have been made with the new name already; nobody but us renames it. */
	if (IS_ERR_OR_NULL(directory) || !strcmp(directory->d_name.name, name))
		return;
	err = scope_debugfs_rename(directory, name);
	if (err)
		pr_warn("%s: its directory keeps its old name: %pe\n", name, ERR_PTR(err));
}

/**
 * scope_debugfs_remove_device - remove the directory of a device
 * @directory: from scope_debugfs_add_device(), an error pointer, or NULL
 *
 * Context: may sleep: waits for those who are opening its file.
 */
void scope_debugfs_remove_device(struct dentry *directory)
{
	debugfs_remove(directory);
}
