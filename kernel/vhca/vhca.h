/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A virtual mlx5 HCA: the device itself and the files that it is made of.
 *
 * Locking: vhca.lock is the lock of all state.  That of one device is never
 * taken inside that of another: what passes between them goes through inboxes,
 * see fabric.h.  The firmware thread holds it while it executes a command or
 * follows work queues; readers in debugfs hold it while they copy.  No memory
 * is allocated with it held except by the firmware thread, which never waits
 * for reclaim (see firmware.c).  The thread takes no lock of the PCI core or of
 * a driver, and nobody may wait for a command with vhca.lock held.  Only the
 * firmware thread adds or removes objects, as it may drop the lock within a
 * command; who wants them gone asks the thread, one at a time under
 * @ask_lock.  Config space accessors run under a raw spinlock of the PCI core
 * and touch only @config, @bus_master, @condition and @resetting.
 */
#ifndef VHCA_H
#define VHCA_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/types.h>

#include "command.h"
#include "death.h"
#include "fabric.h"
#include "fault.h"
#include "object.h"
#include "page_fault.h"
#include "queues.h"
#include "record.h"
#include "root.h"
#include "signature.h"

/*
 * BAR0.  The device is told apart by offset alone; what lies between is not
 * used.  All sizes in bytes.
 */
#define VHCA_BAR_MIN_SIZE	SZ_64M
#define VHCA_INIT_SEGMENT	0x0000000
#define VHCA_INIT_SEGMENT_SIZE	0x0010000
#define VHCA_MSIX_TABLE		0x0010000
#define VHCA_MSIX_PBA		0x0018000
#define VHCA_UAR_BASE		0x0100000
#define VHCA_VAR_BASE		0x1000000
#define VHCA_VAR_MAX_SIZE	0x0800000
#define VHCA_TLP_VAR_BASE	0x1800000
#define VHCA_MEMIC_BASE		0x2000000
#define VHCA_MEMIC_OPS_BASE	0x2800000	/* + operation * memic_size */

/* The device counts BAR pages in units of 4 KiB, whatever the CPU's are. */
#define VHCA_PAGE_SHIFT		12
#define VHCA_PAGE_SIZE		BIT(VHCA_PAGE_SHIFT)
#define VHCA_PAGE_MASK		(~((u64)VHCA_PAGE_SIZE - 1))

/* mlx5_core keeps free MEMIC pages in a bitmap of MLX5_MAX_MEMIC_PAGES. */
#define VHCA_MEMIC_MAX_PAGES	256
#define VHCA_MEMIC_MAX_SIZE	(VHCA_MEMIC_MAX_PAGES << VHCA_PAGE_SHIFT)
/* memic_operations of device_mem_cap: bit 0 increment, bit 1 test and set. */
#define VHCA_MEMIC_NR_OPERATIONS	2
#define VHCA_MEMIC_OPERATIONS	(BIT(VHCA_MEMIC_NR_OPERATIONS) - 1)

#define VHCA_TLP_VAR_MAX_COUNT	15	/* tlp_rsp_gw_num_pages has 4 bits */
#define VHCA_TLP_VAR_MAX_SIZE	0x0800000
#define VHCA_MAX_VECTORS	64

/* Numbers of objects have 24 bits. */
#define VHCA_MAX_NUMBER		0xffffff

/*
 * Bounds of cmd_timeout_ms.  A slow machine needs some time for a command; the
 * field has 20 bits.
 */
#define VHCA_MIN_CMD_TIMEOUT	100
#define VHCA_MAX_CMD_TIMEOUT	600000

/* Firmware pages asked for; mlx5_core gives them in two steps. */
#define VHCA_BOOT_PAGES		4
#define VHCA_INIT_PAGES		32
#define VHCA_MAX_PAGES		1024

/*
 * Limits that are advertised as capabilities and enforced by the handlers
 * (log2, entries).  They bound the memory that one command can take.
 */
#define VHCA_LOG_MAX_EQ_SIZE	16
#define VHCA_LOG_MAX_CQ_SIZE	18
#define VHCA_LOG_MAX_QP_SIZE	15
#define VHCA_MAX_OCTOWORDS	BIT(20)	/* translations of one mkey */
#define VHCA_LOG_MAX_MESSAGE	30	/* bytes of one message */
#define VHCA_LOG_BF_REGISTER	9	/* bytes of a BlueFlame register */
#define VHCA_OBJ_RESERVED_QPN	0x2c	/* obj_type of general objects */
#define VHCA_OBJ_AV_QP_MAPPING	0x3a
#define VHCA_LOG_RESERVED_QPNS	4	/* numbers of queue pairs in one object */
#define VHCA_RESERVED_QPN_BLOCKS	256
#define VHCA_FIRST_RESERVED_QPN	0x8000
#define VHCA_MIN_RATE		1	/* kbps, of packet pacing */
#define VHCA_MAX_RATE		100000000
#define VHCA_LOG_MAX_STREAMS	4	/* of a DCI */
#define VHCA_LOG_MAX_COPY	20	/* bytes that one request copies */
#define VHCA_LOG_MAX_KLMS	16	/* entries of one indirect mkey */
#define VHCA_MAX_INDIRECTION	4	/* mkeys behind one another */

/* Node and port GUIDs of all devices follow from this one. */
#define VHCA_FIRST_GUID		0x0002c90300beef00ULL

/* Physical links of a port, all of which are up. */
#define VHCA_LINKS		2

/* Upper half of the only GID of a port: the link-local subnet. */
#define VHCA_GID_PREFIX		0xfe80000000000000ULL

/* The one partition key, with full membership. */
#define VHCA_FULL_PKEY		0xffff

/* How often queue pairs can be in multicast groups, all together, log2. */
#define VHCA_LOG_MAX_MEMBERS	10

/* device_frequency_khz: the clock in the initialization segment. */
#define VHCA_FREQUENCY_KHZ	156250

/**
 * struct vhca_config - what the administrator chose, checked in params.c
 * @bar_phys: physical address of the memory that plays this device's BAR0
 * @bar_size: its size in bytes, a power of two
 * @device_id: PCI device id
 * @log_var_count: log2 of the number of VAR doorbell pages
 * @log_var_stride: log2 of the distance from one to the next, in bytes
 * @tlp_var_count: number of TLP VAR pages
 * @log_tlp_var_stride: log2 of the distance from one to the next, in bytes
 * @memic_size: bytes of device memory
 * @vectors: MSI-X vectors
 * @cmd_timeout_ms: how long the driver is told to wait for an answer, in ms; 0
 *	if it is not told
 * @blueflame: there are BlueFlame registers
 */
struct vhca_config {
	phys_addr_t	bar_phys;
	u64		bar_size;
	u16		device_id;
	u8		log_var_count;
	u8		log_var_stride;
	u8		tlp_var_count;
	u8		log_tlp_var_stride;
	u32		memic_size;
	u16		vectors;
	u32		cmd_timeout_ms;
	bool		blueflame;
};

/**
 * struct vhca_vector - an MSI-X vector
 * @work: delivers it in hard interrupt context
 * @virq: Linux interrupt number, 0 while the driver has none
 */
struct vhca_vector {
	struct irq_work	work;
	unsigned int	virq;
};

/**
 * struct vhca_stats - totals over the life of the module
 * @events: event queue entries written
 * @completions: completion queue entries written
 * @interrupts: interrupts raised
 * @work_requests: work requests taken from send queues
 * @packets: packets that were addressed to this device and executed
 * @packets_lost: those that no queue pair here wanted, or was able to take
 */
struct vhca_stats {
	u64	events;
	u64	completions;
	u64	interrupts;
	u64	work_requests;
	u64	packets;
	u64	packets_lost;
};

/* Doorbells that the timer looks at; beyond that it would take too long. */
#define VHCA_MAX_WATCHED	256

/*
 * How often it does.  The first command after idleness waits for this long at
 * most, and then for the thread to run.
 */
#define VHCA_WATCH_PERIOD	(2 * NSEC_PER_MSEC)

/**
 * struct vhca_watch - the doorbells that a timer watches, see watch.c
 * @timer: the timer
 * @bus_master: vhca.bus_master when the words were collected
 * @too_many: there are more words than fit
 * @nr: entries in @words
 * @words: the words, and what was seen in them
 * @sleeps: how often the thread has slept
 * @looks: how often the timer has looked
 * @look_ns: time that it took for it, interrupt entry and exit not counted
 */
struct vhca_watch {
	struct hrtimer		timer;
	bool			bus_master;
	bool			too_many;
	unsigned int		nr;
	struct {
		const __be32	*word;
		__be32		seen;
	} words[VHCA_MAX_WATCHED];
	u64			sleeps;
	u64			looks;
	u64			look_ns;
};

/**
 * enum vhca_condition - how the device is, see health.c
 * @VHCA_HEALTHY: it works
 * @VHCA_FAILED: it has had a fatal error and does nothing
 * @VHCA_RESET: it was reset, after that or by the PCI core, and no driver has come yet
 * @VHCA_GONE: it is no longer on the bus, see presence.c
 */
enum vhca_condition {
	VHCA_HEALTHY,
	VHCA_FAILED,
	VHCA_RESET,
	VHCA_GONE,
};

/**
 * enum vhca_ask - what the firmware thread is asked for, see vhca_health_ask()
 * @VHCA_ASK_NOTHING: nothing
 * @VHCA_ASK_FAIL: a fatal error
 * @VHCA_ASK_VANISH: leave the bus
 * @VHCA_ASK_RETURN: be as after power-on
 */
enum vhca_ask {
	VHCA_ASK_NOTHING,
	VHCA_ASK_FAIL,
	VHCA_ASK_VANISH,
	VHCA_ASK_RETURN,
};

/**
 * enum vhca_request - what the driver wants by writing cmdq_addr_l_sz
 * @VHCA_REQUEST_NONE: nothing, it was not written
 * @VHCA_REQUEST_ENABLE: there is a command queue now
 * @VHCA_REQUEST_RESET: the device shall reset itself
 */
enum vhca_request {
	VHCA_REQUEST_NONE,
	VHCA_REQUEST_ENABLE,
	VHCA_REQUEST_RESET,
};

/*
 * The firmware thread gets memory from the reserves, as it must not wait (see firmware.c).
 * What can wait, or do without, is not to have that.
 */
#define VHCA_GFP_SPARING	\
	(GFP_KERNEL | __GFP_NOMEMALLOC | __GFP_NORETRY | __GFP_NOWARN)

/* What a driver or user may run into because it is not modelled. */
enum vhca_gap {
	VHCA_GAP_WORK_REQUEST,
	VHCA_GAP_UMEM,
	VHCA_GAP_REGISTER,
};

/**
 * struct vhca - one virtual HCA
 * @node: place in the list of devices in main.c
 * @params: what it was made with
 * @index: which of the module's devices it is, from 0
 * @name: PCI address of the function
 * @lock: see the top of this file
 * @root: the host bridge that the function is below
 * @config: config space of the function
 * @bus_master: the driver allows DMA
 * @vectors: MSI-X vectors
 * @init_segment: mapping of BAR0's first part
 * @var: mapping of the VAR pages
 * @tlp_var: mapping of the TLP VAR pages
 * @memic: mapping of the device memory
 * @memic_operations: mapping of the operations on it, each as large as the memory
 * @thread: the firmware thread
 * @woken: there is work that no doorbell tells of
 * @watch: what is watched while the thread sleeps
 * @health: health counter
 * @last_tick: when @health was written, in jiffies
 * @condition: healthy, failed, or reset after that
 * @failures: how often it has failed
 * @stalled: the health counter stands still
 * @failed_at: when it did so last, in jiffies
 * @resetting: a function level reset has begun
 * @ask_lock: one request to the firmware thread at a time
 * @ask: the request
 * @ask_syndrome: of a fatal error
 * @ask_error: its result
 * @ask_done: it was answered
 * @faults: what is to go wrong
 * @dropped: MSI-X vectors that were not raised, as a fault wants it
 * @cmdq_dma: address of the command queue, 0 while there is none
 * @cmdq_hidden: entries that are owned but were not rung
 * @cmdq_delayed: entries that are executed later, as a fault wants it
 * @cmdq_unanswered: entries that were executed and not answered, likewise
 * @cmdq_entries: what is known of the entries that were taken
 * @cmdq_hidden_since: when the first of them was seen, in jiffies
 * @in: command input, VHCA_MAX_MESSAGE bytes
 * @out: command output, VHCA_MAX_MESSAGE bytes
 * @gfp: how memory is allocated for what the present command makes
 * @hca_enabled: between ENABLE_HCA and DISABLE_HCA
 * @caps: current capability pages
 * @caps_max: maximal capability pages
 * @fw_pages: firmware pages that the driver gave, by DMA address
 * @nr_fw_pages: how many
 * @memic_pages: pages of device memory that are allocated
 * @ledger: all objects
 * @deaths: the last objects that are gone
 * @recorder: all that happened
 * @signed_block: a block of data and its signature, while that is made or checked
 * @stats: totals
 * @port: where packets arrive
 * @page_faults: page faults that queue pairs wait for
 * @port_caps: capability mask of the port
 * @gsi: number of the queue pair for management datagrams, 0 if there is none
 * @members: queue pairs in multicast groups
 * @nr_members: how many
 * @turn: the QP number that work queues are looked at from next
 * @poll_bytes: what the queues have sent, copied and taken in the present poll, and looked
 *	at of indirect keys
 * @resume_ns: when the work queues must be looked at again though nothing
 *	arrives, in ns of CLOCK_MONOTONIC; 0 if there is no such time
 * @said: what was said in the log already, by enum vhca_gap
 * @debugfs: directory of this device
 */
struct vhca {
	struct list_head	node;
	struct vhca_config	params;
	unsigned int		index;
	char			name[32];
	struct mutex		lock;	/* the device's state */

	struct vhca_root	*root;
	struct vhca_config_space config;
	bool			bus_master;
	struct vhca_vector	vectors[VHCA_MAX_VECTORS];

	void __iomem		*init_segment;
	void __iomem		*var;
	void __iomem		*tlp_var;
	void __iomem		*memic;
	void __iomem		*memic_operations;

	struct task_struct	*thread;
	bool			woken;
	struct vhca_watch	watch;
	u32			health;
	unsigned long		last_tick;

	enum vhca_condition	condition;
	u64			failures;
	bool			stalled;
	unsigned long		failed_at;
	bool			resetting;
	struct mutex		ask_lock;	/* a request to the thread */
	enum vhca_ask		ask;
	u8			ask_syndrome;
	int			ask_error;
	struct completion	ask_done;
	struct vhca_faults	faults;
	DECLARE_BITMAP(dropped, VHCA_MAX_VECTORS);

	u64			cmdq_dma;
	unsigned long		cmdq_hidden;
	unsigned long		cmdq_delayed;
	unsigned long		cmdq_unanswered;
	struct vhca_cmdq_entry	cmdq_entries[VHCA_CMDQ_ENTRIES];
	unsigned long		cmdq_hidden_since;
	void			*in;
	void			*out;

	gfp_t			gfp;
	bool			hca_enabled;
	void			*caps;
	void			*caps_max;
	u64			fw_pages[VHCA_MAX_PAGES];
	unsigned int		nr_fw_pages;
	DECLARE_BITMAP(memic_pages, VHCA_MEMIC_MAX_PAGES);
	struct vhca_ledger	ledger;
	struct vhca_deaths	deaths;
	struct vhca_recorder	recorder;
	struct vhca_stats	stats;
	u8			signed_block[VHCA_SIGNED_BLOCK + VHCA_MAX_SIGNATURE];
	struct vhca_port	port;
	struct vhca_page_faults	page_faults;
	u32			port_caps;
	u32			gsi;
	struct list_head	members;
	unsigned int		nr_members;
	u32			turn;
	u64			poll_bytes;
	u64			resume_ns;
	unsigned long		said;

	struct dentry		*debugfs;
};

#define vhca_err(v, fmt, ...)	\
	pr_err("%s: " fmt, (v)->name, ##__VA_ARGS__)
#define vhca_warn(v, fmt, ...)	\
	pr_warn("%s: " fmt, (v)->name, ##__VA_ARGS__)
#define vhca_warn_ratelimited(v, fmt, ...)	\
	pr_warn_ratelimited("%s: " fmt, (v)->name, ##__VA_ARGS__)
#define vhca_info(v, fmt, ...)	\
	pr_info("%s: " fmt, (v)->name, ##__VA_ARGS__)

/* A log line on a gap is said once, as users can run into it in a loop. */
static inline bool vhca_gap_is_new(struct vhca *v, enum vhca_gap gap)
{
	return !__test_and_set_bit(gap, &v->said);
}

/* The device's clock, which runs at device_frequency_khz. */
static inline u64 vhca_cycles(void)
{
	return mul_u64_u32_div(ktime_get_ns(), VHCA_FREQUENCY_KHZ,
			       USEC_PER_SEC);
}

static inline u64 vhca_var_size(const struct vhca *v)
{
	return 1ULL << (v->params.log_var_count + v->params.log_var_stride);
}

static inline u64 vhca_memic_operations_size(const struct vhca *v)
{
	return (u64)VHCA_MEMIC_NR_OPERATIONS * v->params.memic_size;
}

static inline u64 vhca_tlp_var_size(const struct vhca *v)
{
	return (u64)v->params.tlp_var_count << v->params.log_tlp_var_stride;
}

/* The port's addresses, by vhca.index; those of two devices differ. */
static inline u16 vhca_lid_of(unsigned int index)
{
	return 1 + index;
}

static inline u64 vhca_node_guid_of(unsigned int index)
{
	return VHCA_FIRST_GUID + 2 * index;
}

static inline u64 vhca_port_guid_of(unsigned int index)
{
	return vhca_node_guid_of(index) + 1;
}

static inline u16 vhca_lid(const struct vhca *v)
{
	return vhca_lid_of(v->index);
}

static inline u64 vhca_node_guid(const struct vhca *v)
{
	return vhca_node_guid_of(v->index);
}

static inline u64 vhca_port_guid(const struct vhca *v)
{
	return vhca_port_guid_of(v->index);
}

/* A quarter of the memory, as the driver shares it between processes. */
static inline u32 vhca_memic_max_alloc(const struct vhca *v)
{
	return max_t(u32, v->params.memic_size / 4, VHCA_PAGE_SIZE);
}

static inline unsigned int vhca_memic_pages(const struct vhca *v)
{
	return v->params.memic_size >> VHCA_PAGE_SHIFT;
}

/* main.c */
struct vhca *vhca_next(struct vhca *v);

/* msi.c */
void vhca_msi_init_vectors(struct vhca *v);
void vhca_msi_raise(struct vhca *v, unsigned int vector);
void vhca_msi_drop(struct vhca *v, unsigned int vector);
void vhca_msi_raise_dropped(struct vhca *v);

/* bar.c */
int vhca_bar_init(struct vhca *v);
void vhca_bar_fill(struct vhca *v, int byte);
void vhca_bar_exit(struct vhca *v);

/* firmware.c */
int vhca_firmware_start(struct vhca *v);
void vhca_firmware_stop(struct vhca *v);
void vhca_firmware_wake(struct vhca *v);
void vhca_firmware_tick(struct vhca *v);
void vhca_firmware_power_on(struct vhca *v);

/* watch.c */
void vhca_watch_init(struct vhca *v);
void vhca_watch_word(struct vhca *v, const __be32 *word);
void vhca_watch_collect(struct vhca *v);
bool vhca_watch_sleep(struct vhca *v);

/* cmdq.c */
void vhca_cmdq_reset(struct vhca *v);
bool vhca_cmdq_poll(struct vhca *v);
bool vhca_cmdq_rung(struct vhca *v);
bool vhca_cmdq_waits(struct vhca *v);
void vhca_cmdq_hurry(struct vhca *v);
void vhca_cmdq_release(struct vhca *v);
unsigned int vhca_cmdq_held(struct vhca *v);
void vhca_cmdq_disable(struct vhca *v);
enum vhca_request vhca_cmdq_request(struct vhca *v);

/* health.c */
void vhca_health_init(struct vhca *v);
bool vhca_health_poll(struct vhca *v);
int vhca_health_ask(struct vhca *v, enum vhca_ask ask, u8 syndrome);
void vhca_health_reset_function(struct vhca *v);
bool vhca_health_is_resetting(struct vhca *v);
void vhca_health_power_on(struct vhca *v);
u8 vhca_health_syndrome(struct vhca *v);
int vhca_health_write(struct vhca *v, char *text);

/* presence.c */
void vhca_presence_vanish(struct vhca *v);
void vhca_presence_power_on(struct vhca *v);
int vhca_presence_write(struct vhca *v, char *text);

/* debugfs.c */
void vhca_debugfs_init(void);
void vhca_debugfs_exit(void);
void vhca_debugfs_add(struct vhca *v);
void vhca_debugfs_remove(struct vhca *v);

#endif /* VHCA_H */
