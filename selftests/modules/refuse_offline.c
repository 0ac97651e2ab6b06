// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that cannot go: one of those who are asked refuses, as a driver may that has
 * put something there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/module.h>

static uint granted;
module_param(granted, uint, 0444);
MODULE_PARM_DESC(granted, "how often it agrees before");

static uint refusals = UINT_MAX;
module_param(refusals, uint, 0444);
MODULE_PARM_DESC(refusals, "how often it refuses (default: always)");

static uint ms;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "how long it takes for that, in ms");

static uint asked;
module_param(asked, uint, 0444);
MODULE_PARM_DESC(asked, "how often it was asked (read only)");

static ulong refused;
module_param(refused, ulong, 0444);
MODULE_PARM_DESC(refused, "address of the memory that it refused first (read only)");

static int refuse_memory(struct notifier_block *block, unsigned long action, void *data)
{
	struct memory_notify *memory = data;

	if (action != MEM_GOING_OFFLINE)
		return NOTIFY_OK;
	asked++;
	if (asked <= granted || asked - granted > refusals)
		return NOTIFY_OK;
	if (asked == granted + 1)
		refused = PFN_PHYS(memory->start_pfn);
	msleep(ms);
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block refuse_block = {
	.notifier_call = refuse_memory,
};

static int __init refuse_init(void)
{
	return register_memory_notifier(&refuse_block);
}

static void __exit refuse_exit(void)
{
	unregister_memory_notifier(&refuse_block);
}

module_init(refuse_init);
module_exit(refuse_exit);
MODULE_DESCRIPTION("Memory that does not go offline, for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
