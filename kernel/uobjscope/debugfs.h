/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's files.
 */
#ifndef UOBJSCOPE_DEBUGFS_H
#define UOBJSCOPE_DEBUGFS_H

struct dentry;

void scope_debugfs_start(void);
void scope_debugfs_stop(void);
struct dentry *scope_debugfs_add_device(const char *name, unsigned int number);
void scope_debugfs_rename_device(struct dentry *directory, const char *name);
void scope_debugfs_remove_device(struct dentry *directory);

#endif /* UOBJSCOPE_DEBUGFS_H */
