// SPDX-License-Identifier: GPL-2.0
/*
 * uobjscope: shows what the kernel holds for RDMA's user objects.
 *
 * It reads, and changes nothing.  See Documentation/uobjscope.rst for what it
 * shows, and walk.h for the locks.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "debugfs.h"
#include "events.h"
#include "fds.h"
#include "lifetime.h"
#include "registry.h"
#include "release.h"
#include "roots.h"
#include "snapshot.h"

static bool fprobe = true;
module_param(fprobe, bool, 0444);
MODULE_PARM_DESC(fprobe, "Feed the registry by probes (default); without, ufiles that no device lists are not seen");

/*
 * Nothing else here refers to ib_uverbs.ko, whose functions are probed and whose
 * objects are looked at: it has to be loaded first and cannot be unloaded before.
 */
static void (*needs_ib_uverbs)(struct ib_device *device) __used = rdma_user_mmap_disassociate;

static bool start_events(void)
{
	int err = fprobe ? scope_events_start() : -ECANCELED;

	if (err)
		pr_notice("no probes (%pe): ufiles that no device lists, and dma-bufs, are not seen\n",
			  ERR_PTR(err));
	return !err;
}

static int __init uobjscope_init(void)
{
	int err = scope_release_find();

	if (err)
		return err;
	/* Probes first, so that what is missed by looking around is seen by them. */
	scope_snapshot_start(start_events());
	err = scope_roots_start();
	if (err)
		goto stop_events;
	if (scope_roots_refused()) {
		err = -ENOEXEC;
		goto stop_roots;
	}
	if (scope_snapshot_has_fprobe()) {
		err = scope_fds_seed();
		if (err)
			goto stop_roots;
	}
	err = scope_lifetime_start();
	if (err)
		goto stop_roots;
	/* Nothing can fail any more: who opens one of the files now finds the module there. */
	scope_debugfs_start();
	scope_roots_show();
	return 0;

stop_roots:
	scope_roots_stop();
stop_events:
	scope_events_stop();
	scope_registry_clear();
	return err;
}

static void __exit uobjscope_exit(void)
{
	/* Device directories go with their devices, before the directory above. */
	scope_roots_stop();
	scope_debugfs_stop();
	scope_lifetime_stop();
	scope_events_stop();
	scope_registry_clear();
}

module_init(uobjscope_init);
module_exit(uobjscope_exit);
MODULE_DESCRIPTION("Introspection of RDMA user objects");
MODULE_VERSION("1");
MODULE_LICENSE("GPL");
SCOPE_IMPORT_NS(DMA_BUF);
SCOPE_IMPORT_NS(rdma_core);
