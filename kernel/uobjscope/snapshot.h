/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A snapshot.
 */
#ifndef UOBJSCOPE_SNAPSHOT_H
#define UOBJSCOPE_SNAPSHOT_H

#include <linux/types.h>

struct scope_text;

void scope_snapshot_start(bool fprobe);
bool scope_snapshot_has_fprobe(void);
u64 scope_token(unsigned long address);
int scope_walk_begin(void);
void scope_walk_end(void);
int scope_snapshot(struct scope_text *text, unsigned int number);

#endif /* UOBJSCOPE_SNAPSHOT_H */
