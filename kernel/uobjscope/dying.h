/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What lifetime events have to remember of objects that are about to go.
 */
#ifndef UOBJSCOPE_DYING_H
#define UOBJSCOPE_DYING_H

#include "lifetime.h"

void scope_dying_uobject(const void *address, const struct scope_event_uobject *uobject);
bool scope_dying_take_uobject(const void *address, struct scope_event_uobject *uobject);
void scope_dying_dmabuf(const struct scope_event_dmabuf *dmabuf);
bool scope_dying_take_dmabuf(struct scope_event_dmabuf *dmabuf);
u64 scope_dying_dropped(void);
void scope_dying_clear(void);

#endif /* UOBJSCOPE_DYING_H */
