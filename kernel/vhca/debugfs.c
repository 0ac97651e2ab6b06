// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/mlx5_vhca/<PCI address>/, described in
 * Documentation/vhca.rst.
 *
 * Opening a text file takes a snapshot under vhca.lock, reading it prints the
 * snapshot.  An open file pins the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kstrtox.h>
#include <linux/mlx5/driver.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "caps.h"
#include "vhca.h"

#define VHCA_FORMAT_VERSION	1

static struct dentry *vhca_debugfs_root;

/**
 * struct vhca_snapshot - what the reader of a text file sees
 * @v: the device, only for what never changes: its parameters and name
 * @seq: number of the last command when it was taken
 * @total: how many there were, where more than @nr were not kept
 * @nr: entries in @entries
 * @hca_enabled: see struct vhca
 * @pages: firmware pages held
 * @stats: see struct vhca
 * @sleeps: see struct vhca_watch
 * @looks: see there
 * @look_ns: see there
 * @watched: how many words were watched last
 * @condition: see struct vhca
 * @failures: see struct vhca
 * @syndrome: in the health buffer
 * @stalled: see struct vhca
 * @held: commands that wait for being released
 * @unanswered: commands that were not answered
 * @hold: see struct vhca_page_faults
 * @fault_stats: see there
 * @size: bytes of an entry
 * @entries: the records
 */
struct vhca_snapshot {
	struct vhca		*v;
	u64			seq;
	unsigned int		total;
	unsigned int		nr;
	bool			hca_enabled;
	unsigned int		pages;
	struct vhca_stats	stats;
	u64			sleeps;
	u64			looks;
	u64			look_ns;
	unsigned int		watched;
	enum vhca_condition	condition;
	u64			failures;
	u8			syndrome;
	bool			stalled;
	unsigned int		held;
	unsigned int		unanswered;
	bool			hold;
	struct vhca_page_fault_stats fault_stats;
	size_t			size;
	void			*entries;
};

/**
 * struct vhca_text - a text file
 * @name: of the file
 * @size: bytes of an entry of its snapshot
 * @count: how many entries there are now; vhca.lock held
 * @fill: copy them; vhca.lock held
 * @show: print them
 * @write: take what is written, one whole write at a time; NULL if the file
 *	can only be read
 */
struct vhca_text {
	const char	*name;
	size_t		size;
	unsigned int	(*count)(struct vhca *v);
	void		(*fill)(struct vhca *v, struct vhca_snapshot *s);
	int		(*show)(struct seq_file *m, void *unused);
	int		(*write)(struct vhca *v, char *text);
};

/* What is written at once must fit into this. */
#define VHCA_MAX_WRITE	SZ_64K

/*
 * Memory is allocated without the lock: the firmware thread waits for it, and
 * reclaim may wait for the firmware thread.  So guess, and try again if there
 * are more entries by then.
 */
static struct vhca_snapshot *vhca_snapshot_take(struct vhca *v,
						const struct vhca_text *text)
{
	struct vhca_snapshot *s;
	unsigned int room = 64;
	unsigned int nr;

	s = kzalloc_obj(*s);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->v = v;
	s->size = text->size;
	for (;;) {
		s->entries = kvcalloc(room, text->size, GFP_KERNEL);
		if (!s->entries) {
			kfree(s);
			return ERR_PTR(-ENOMEM);
		}
		mutex_lock(&v->lock);
		nr = text->count(v);
		if (nr <= room)
			break;
		mutex_unlock(&v->lock);
		kvfree(s->entries);
		room = nr + nr / 4;
	}
	s->seq = v->recorder.seq;
	s->total = nr;
	s->nr = nr;
	s->hca_enabled = v->hca_enabled;
	s->pages = v->nr_fw_pages;
	s->stats = v->stats;
	s->sleeps = v->watch.sleeps;
	s->looks = READ_ONCE(v->watch.looks);
	s->look_ns = READ_ONCE(v->watch.look_ns);
	s->watched = v->watch.nr;
	s->condition = v->condition;
	s->failures = v->failures;
	s->syndrome = vhca_health_syndrome(v);
	s->stalled = v->stalled;
	s->held = vhca_cmdq_held(v);
	s->unanswered = hweight_long(v->cmdq_unanswered);
	s->hold = v->page_faults.hold;
	s->fault_stats = v->page_faults.stats;
	text->fill(v, s);
	mutex_unlock(&v->lock);
	return s;
}

static void vhca_snapshot_free(struct vhca_snapshot *s)
{
	kvfree(s->entries);
	kfree(s);
}

static void vhca_show_header(struct seq_file *m, const char *what)
{
	struct vhca_snapshot *s = m->private;

	seq_printf(m, "%s v=%d device=%s", what, VHCA_FORMAT_VERSION,
		   s->v->name);
}

/* info */

static unsigned int vhca_info_count(struct vhca *v)
{
	return 0;
}

static void vhca_info_fill(struct vhca *v, struct vhca_snapshot *s)
{
}

static int vhca_info_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	struct vhca_config *p = &s->v->params;

	vhca_show_header(m, "info");
	seq_printf(m, "\nbar start=0x%llx size=%llu\n", (u64)p->bar_phys,
		   p->bar_size);
	seq_printf(m, "var offset=0x%x count=%lu stride=%lu\n", VHCA_VAR_BASE,
		   BIT(p->log_var_count), BIT(p->log_var_stride));
	seq_printf(m, "tlp_var offset=0x%x count=%u stride=%lu\n",
		   VHCA_TLP_VAR_BASE, vhca_has_tlp_var() ? p->tlp_var_count : 0,
		   BIT(p->log_tlp_var_stride));
	seq_printf(m, "memic offset=0x%x size=%u page_size=%lu max_alloc=%u operations=0x%lx\n",
		   VHCA_MEMIC_BASE, p->memic_size, VHCA_PAGE_SIZE,
		   vhca_memic_max_alloc(s->v), VHCA_MEMIC_OPERATIONS);
	seq_printf(m, "state hca=%s\n", s->hca_enabled ? "enabled" :
							"disabled");
	seq_printf(m, "stats commands=%llu events=%llu completions=%llu interrupts=%llu work_requests=%llu packets=%llu packets_lost=%llu\n",
		   s->seq, s->stats.events, s->stats.completions,
		   s->stats.interrupts, s->stats.work_requests,
		   s->stats.packets, s->stats.packets_lost);
	seq_printf(m, "polling period_ns=%lu sleeps=%llu looks=%llu look_ns=%llu watched=%u\n",
		   VHCA_WATCH_PERIOD, s->sleeps, s->looks, s->look_ns,
		   s->watched);
	seq_puts(m, "end sections=7\n");
	return 0;
}

/* ledger */

static unsigned int vhca_ledger_count(struct vhca *v)
{
	return v->ledger.count;
}

static void vhca_ledger_fill(struct vhca *v, struct vhca_snapshot *s)
{
	struct vhca_object_record *record = s->entries;
	struct vhca_object *object;

	list_for_each_entry(object, &v->ledger.births, node)
		vhca_object_describe(object, record++);
}

static void vhca_object_show(struct seq_file *m,
			     const struct vhca_object_record *r)
{
	unsigned int i;

	seq_printf(m, "object kind=%s id=0x%llx uid=0x%x", r->kind, r->id,
		   r->uid);
	for (i = 0; i < r->nr_details; i++) {
		const struct vhca_detail *d = &r->details[i];

		if (d->text)
			seq_printf(m, " %s=%s", d->key, d->text);
		else if (d->hex)
			seq_printf(m, " %s=0x%llx", d->key, d->value);
		else
			seq_printf(m, " %s=%llu", d->key, d->value);
	}
	seq_printf(m, " born_seq=%llu born_ns=%llu\n", r->born_seq,
		   r->born_ns);
}

static int vhca_ledger_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	struct vhca_object_record *records = s->entries;
	unsigned int i;

	vhca_show_header(m, "ledger");
	seq_printf(m, " seq=%llu\n", s->seq);
	for (i = 0; i < s->nr; i++)
		vhca_object_show(m, &records[i]);
	seq_printf(m, "pages held=%u\n", s->pages);
	seq_printf(m, "end objects=%u\n", s->nr);
	return 0;
}

/* commands */

static unsigned int vhca_commands_count(struct vhca *v)
{
	return v->recorder.nr_opcodes;
}

static void vhca_commands_fill(struct vhca *v, struct vhca_snapshot *s)
{
	struct vhca_opcode_stats *to = s->entries;
	struct vhca_opcode_stats *stats;
	unsigned long opcode;
	unsigned int i = 0;

	xa_for_each(&v->recorder.by_opcode, opcode, stats)
		to[i++] = *stats;
}

static const char *vhca_command_name(const struct vhca_command *row)
{
	return row ? row->name : "-";
}

static int vhca_commands_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	struct vhca_opcode_stats *stats = s->entries;
	unsigned int i;

	vhca_show_header(m, "commands");
	seq_printf(m, " seq=%llu\n", s->seq);
	for (i = 0; i < s->nr; i++) {
		const struct vhca_command *row =
			vhca_command_find(stats[i].opcode);

		seq_printf(m, "command opcode=0x%x name=%s known=%d count=%llu errors=%llu total_ns=%llu max_ns=%llu\n",
			   stats[i].opcode, vhca_command_name(row), !!row,
			   stats[i].count, stats[i].errors, stats[i].total_ns,
			   stats[i].max_ns);
	}
	seq_printf(m, "end opcodes=%u\n", s->nr);
	return 0;
}

/* modelled: the table itself, which does not change */

static unsigned int vhca_modelled_count(struct vhca *v)
{
	unsigned int n = 0;

	while (vhca_command_row(n))
		n++;
	return n;
}

static void vhca_modelled_fill(struct vhca *v, struct vhca_snapshot *s)
{
}

static int vhca_modelled_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	unsigned int i;

	vhca_show_header(m, "modelled");
	seq_putc(m, '\n');
	for (i = 0; i < s->nr; i++) {
		const struct vhca_command *row = vhca_command_row(i);

		seq_printf(m, "command opcode=0x%x name=%s in_size=%u out_size=%u kind=%s\n",
			   row->opcode, row->name, row->in_size, row->out_size,
			   row->kind ? vhca_kind_info(row->kind)->name : "-");
	}
	seq_printf(m, "end commands=%u\n", s->nr);
	return 0;
}

/* history */

static unsigned int vhca_history_count(struct vhca *v)
{
	return min_t(u64, v->recorder.seq, VHCA_HISTORY);
}

static void vhca_history_fill(struct vhca *v, struct vhca_snapshot *s)
{
	struct vhca_history_entry *to = s->entries;
	u64 first = s->seq - s->nr + 1;
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		to[i] = v->recorder.history[(first + i) % VHCA_HISTORY];
}

static int vhca_history_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	struct vhca_history_entry *e = s->entries;
	unsigned int i;

	vhca_show_header(m, "history");
	seq_printf(m, " first=%llu last=%llu\n", s->seq - s->nr + 1, s->seq);
	for (i = 0; i < s->nr; i++, e++)
		seq_printf(m, "entry seq=%llu ns=%llu took_ns=%llu opcode=0x%x name=%s op_mod=0x%x uid=0x%x object=0x%llx status=0x%x syndrome=0x%x\n",
			   e->seq, e->ns, e->took_ns, e->opcode,
			   vhca_command_name(vhca_command_find(e->opcode)),
			   e->op_mod, e->uid, e->object, e->status,
			   e->syndrome);
	seq_printf(m, "end entries=%u\n", s->nr);
	return 0;
}

/* violations */

static unsigned int vhca_violations_count(struct vhca *v)
{
	return min(v->recorder.nr_violations, VHCA_MAX_VIOLATIONS);
}

static void vhca_violations_fill(struct vhca *v, struct vhca_snapshot *s)
{
	memcpy(s->entries, v->recorder.violations, s->nr * s->size);
	s->total = v->recorder.nr_violations;
}

static int vhca_violations_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	struct vhca_violation *e = s->entries;
	unsigned int i;

	vhca_show_header(m, "violations");
	seq_printf(m, " total=%u\n", s->total);
	for (i = 0; i < s->nr; i++, e++) {
		seq_printf(m, "violation seq=%llu ns=%llu what=%s object=0x%llx detail=0x%llx",
			   e->seq, e->ns, e->what, e->object, e->detail);
		if (e->kind)
			seq_printf(m, " kind=%s", e->kind);
		if (e->born_seq)
			seq_printf(m, " born=%llu", e->born_seq);
		if (e->died_seq)
			seq_printf(m, " died=%llu", e->died_seq);
		seq_putc(m, '\n');
	}
	seq_printf(m, "end violations=%u\n", s->nr);
	return 0;
}

/* faults */

static unsigned int vhca_faults_count(struct vhca *v)
{
	return v->faults.nr;
}

static void vhca_faults_fill(struct vhca *v, struct vhca_snapshot *s)
{
	memcpy(s->entries, v->faults.rules, s->nr * s->size);
}

static int vhca_faults_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	struct vhca_fault *fault = s->entries;
	unsigned int i;

	vhca_show_header(m, "faults");
	seq_printf(m, " held=%u unanswered=%u\n", s->held, s->unanswered);
	for (i = 0; i < s->nr; i++, fault++) {
		seq_puts(m, "rule ");
		vhca_fault_show(m, fault);
		seq_printf(m, " seen=%llu hits=%llu\n", fault->seen,
			   fault->hits);
	}
	seq_printf(m, "end rules=%u\n", s->nr);
	return 0;
}

/* page_faults */

static unsigned int vhca_page_faults_count(struct vhca *v)
{
	return v->page_faults.nr;
}

static void vhca_page_faults_fill(struct vhca *v, struct vhca_snapshot *s)
{
	struct vhca_page_fault *to = s->entries;
	struct vhca_page_fault *fault;
	unsigned int i = 0;

	list_for_each_entry(fault, &v->page_faults.list, node)
		to[i++] = *fault;
}

static void vhca_page_fault_show(struct seq_file *m,
				 const struct vhca_page_fault *fault)
{
	bool wqe = fault->sub_type == MLX5_PFAULT_SUBTYPE_WQE;

	seq_printf(m, "fault token=0x%x state=%s side=%s qp=0x%x type=0x%x event=%s ",
		   fault->token,
		   fault->state == VHCA_FAULT_TOLD ? "told" : "held",
		   fault->type & MLX5_PFAULT_REQUESTOR ? "requester" :
							 "responder",
		   fault->qpn, fault->type, wqe ? "wqe" : "rdma");
	if (wqe)
		seq_printf(m, "index=%u committed=%u\n",
			   be16_to_cpu(fault->event.wqe.wqe_index),
			   be32_to_cpu(fault->event.wqe.bytes_committed));
	else
		seq_printf(m, "key=0x%x committed=%u\n",
			   be32_to_cpu(fault->event.rdma.r_key),
			   be32_to_cpu(fault->event.rdma.bytes_committed));
}

static int vhca_page_faults_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;
	struct vhca_page_fault_stats *stats = &s->fault_stats;
	struct vhca_page_fault *faults = s->entries;
	unsigned int i;

	vhca_show_header(m, "page_faults");
	seq_printf(m, " hold=%d raised=%llu told=%llu resumed=%llu failed=%llu dropped=%llu late=%llu\n",
		   s->hold, stats->raised, stats->told, stats->resumed,
		   stats->failed, stats->dropped, stats->late);
	for (i = 0; i < s->nr; i++)
		vhca_page_fault_show(m, &faults[i]);
	seq_printf(m, "end faults=%u\n", s->nr);
	return 0;
}

static int vhca_page_faults_write(struct vhca *v, char *text)
{
	const char *word = strim(text);
	bool hold = !strcmp(word, "hold");

	if (!hold && strcmp(word, "tell")) {
		vhca_warn_ratelimited(v, "page_faults: got '%.64s', expected hold or tell\n",
				      word);
		return -EINVAL;
	}
	vhca_page_faults_hold(v, hold);
	return 0;
}

/* health */

static const char *vhca_condition_name(enum vhca_condition condition)
{
	switch (condition) {
	case VHCA_HEALTHY:
		return "healthy";
	case VHCA_GONE:
		return "gone";
	case VHCA_FAILED:
		return "failed";
	case VHCA_RESET:
		return "reset";
	}
	return "unknown";
}

static int vhca_health_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;

	vhca_show_header(m, "health");
	seq_printf(m, "\nhealth condition=%s failures=%llu syndrome=0x%x counter=%s\n",
		   vhca_condition_name(s->condition), s->failures,
		   s->syndrome, s->stalled ? "stalled" : "running");
	seq_puts(m, "end sections=1\n");
	return 0;
}

static int vhca_function_show(struct seq_file *m, void *unused)
{
	struct vhca_snapshot *s = m->private;

	vhca_show_header(m, "function");
	seq_printf(m, "\nfunction present=%d\n", s->condition != VHCA_GONE);
	seq_puts(m, "end sections=1\n");
	return 0;
}

static const struct vhca_text vhca_texts[] = {
	{
		.name	= "info",
		.size	= 1,
		.count	= vhca_info_count,
		.fill	= vhca_info_fill,
		.show	= vhca_info_show,
	}, {
		.name	= "ledger",
		.size	= sizeof(struct vhca_object_record),
		.count	= vhca_ledger_count,
		.fill	= vhca_ledger_fill,
		.show	= vhca_ledger_show,
	}, {
		.name	= "commands",
		.size	= sizeof(struct vhca_opcode_stats),
		.count	= vhca_commands_count,
		.fill	= vhca_commands_fill,
		.show	= vhca_commands_show,
	}, {
		.name	= "modelled",
		.size	= 1,
		.count	= vhca_modelled_count,
		.fill	= vhca_modelled_fill,
		.show	= vhca_modelled_show,
	}, {
		.name	= "history",
		.size	= sizeof(struct vhca_history_entry),
		.count	= vhca_history_count,
		.fill	= vhca_history_fill,
		.show	= vhca_history_show,
	}, {
		.name	= "violations",
		.size	= sizeof(struct vhca_violation),
		.count	= vhca_violations_count,
		.fill	= vhca_violations_fill,
		.show	= vhca_violations_show,
	}, {
		.name	= "faults",
		.size	= sizeof(struct vhca_fault),
		.count	= vhca_faults_count,
		.fill	= vhca_faults_fill,
		.show	= vhca_faults_show,
		.write	= vhca_fault_write,
	}, {
		.name	= "page_faults",
		.size	= sizeof(struct vhca_page_fault),
		.count	= vhca_page_faults_count,
		.fill	= vhca_page_faults_fill,
		.show	= vhca_page_faults_show,
		.write	= vhca_page_faults_write,
	}, {
		.name	= "health",
		.size	= 1,
		.count	= vhca_info_count,
		.fill	= vhca_info_fill,
		.show	= vhca_health_show,
		.write	= vhca_health_write,
	}, {
		.name	= "function",
		.size	= 1,
		.count	= vhca_info_count,
		.fill	= vhca_info_fill,
		.show	= vhca_function_show,
		.write	= vhca_presence_write,
	},
};

/* What a file is for its name says: not every kernel keeps a second pointer for a file. */
static bool vhca_is_name_of(const struct file *file, const char *name)
{
	return !strcmp(file_dentry(file)->d_name.name, name);
}

static const struct vhca_text *vhca_text_of(const struct file *file)
{
	unsigned int i = 0;

	while (!vhca_is_name_of(file, vhca_texts[i].name))
		i++;
	return &vhca_texts[i];
}

static int vhca_text_open(struct inode *inode, struct file *file)
{
	const struct vhca_text *text = vhca_text_of(file);
	struct vhca_snapshot *s;
	int err;

	s = vhca_snapshot_take(inode->i_private, text);
	if (IS_ERR(s))
		return PTR_ERR(s);
	err = single_open(file, text->show, s);
	if (err)
		vhca_snapshot_free(s);
	return err;
}

/*
 * Each write is one request, wherever the file's position is.  A snapshot that
 * was taken by opening the file for it is of no use, and does no harm.
 */
static ssize_t vhca_text_write(struct file *file, const char __user *from,
			       size_t len, loff_t *pos)
{
	const struct vhca_text *text = vhca_text_of(file);
	struct vhca *v = file_inode(file)->i_private;
	char *copy;
	int err;

	if (!text->write)
		return -EINVAL;
	if (len >= VHCA_MAX_WRITE) {
		vhca_warn_ratelimited(v, "%s: got %zu bytes, expected less than %u\n",
				      text->name, len, VHCA_MAX_WRITE);
		return -E2BIG;
	}
	copy = memdup_user_nul(from, len);
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	if (strlen(copy) == len) {
		err = text->write(v, copy);
	} else {
		vhca_warn_ratelimited(v, "%s: got a byte of 0 in it, expected text\n",
				      text->name);
		err = -EINVAL;
	}
	kfree(copy);
	return err ?: len;
}

static int vhca_text_release(struct inode *inode, struct file *file)
{
	struct seq_file *m = file->private_data;

	vhca_snapshot_free(m->private);
	return single_release(inode, file);
}

static const struct file_operations vhca_text_fops = {
	.owner		= THIS_MODULE,
	.open		= vhca_text_open,
	.read		= seq_read,
	.write		= vhca_text_write,
	.llseek		= seq_lseek,
	.release	= vhca_text_release,
};

/**
 * struct vhca_memory - a file with a part of BAR0
 * @name: of the file
 * @map: where it is mapped and how many bytes it has
 */
struct vhca_memory {
	const char		*name;
	const void __iomem	*(*map)(struct vhca *v, u64 *size);
};

static const void __iomem *vhca_memic_map(struct vhca *v, u64 *size)
{
	*size = v->params.memic_size;
	return v->memic;
}

static const void __iomem *vhca_var_map(struct vhca *v, u64 *size)
{
	*size = vhca_var_size(v);
	return v->var;
}

static const void __iomem *vhca_tlp_var_map(struct vhca *v, u64 *size)
{
	*size = vhca_tlp_var_size(v);
	return v->tlp_var;
}

static const struct vhca_memory vhca_memories[] = {
	{ "memic",	vhca_memic_map },
	{ "var",	vhca_var_map },
	{ "tlp_var",	vhca_tlp_var_map },
};

static const struct vhca_memory *vhca_memory_of(const struct file *file)
{
	unsigned int i = 0;

	while (!vhca_is_name_of(file, vhca_memories[i].name))
		i++;
	return &vhca_memories[i];
}

/*
 * The memory itself, as the device sees it.  It is read without the lock, as
 * the driver's users write it without one.
 */
static ssize_t vhca_memory_read(struct file *file, char __user *to, size_t len,
				loff_t *pos)
{
	const struct vhca_memory *memory = vhca_memory_of(file);
	const void __iomem *from;
	void *copy;
	u64 size;
	ssize_t n;

	from = memory->map(file->private_data, &size);
	if (*pos < 0)
		return -EINVAL;
	if (*pos >= size || !len)
		return 0;
	n = min3((u64)len, size - *pos, (u64)PAGE_SIZE);
	copy = kmalloc(n, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	memcpy_fromio(copy, from + *pos, n);
	if (copy_to_user(to, copy, n))
		n = -EFAULT;
	else
		*pos += n;
	kfree(copy);
	return n;
}

static const struct file_operations vhca_memory_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= vhca_memory_read,
	.llseek	= default_llseek,
};

/**
 * vhca_debugfs_add - make the files of a device
 * @v: the device
 */
void vhca_debugfs_add(struct vhca *v)
{
	unsigned int i;

	v->debugfs = debugfs_create_dir(v->name, vhca_debugfs_root);
	for (i = 0; i < ARRAY_SIZE(vhca_texts); i++)
		debugfs_create_file(vhca_texts[i].name, vhca_texts[i].write ? 0600 : 0400,
				    v->debugfs, v, &vhca_text_fops);
	for (i = 0; i < ARRAY_SIZE(vhca_memories); i++)
		debugfs_create_file(vhca_memories[i].name, 0400, v->debugfs, v,
				    &vhca_memory_fops);
}

/**
 * vhca_debugfs_remove - remove the files of a device
 * @v: the device
 *
 * Context: waits for readers
 */
void vhca_debugfs_remove(struct vhca *v)
{
	debugfs_remove_recursive(v->debugfs);
}

/**
 * vhca_debugfs_init - make the directory of all devices
 */
void vhca_debugfs_init(void)
{
	vhca_debugfs_root = debugfs_create_dir(KBUILD_MODNAME, NULL);
}

/**
 * vhca_debugfs_exit - remove it
 */
void vhca_debugfs_exit(void)
{
	debugfs_remove(vhca_debugfs_root);
}
