// SPDX-License-Identifier: GPL-2.0
/*
 * A loan: memory that the running kernel hands out for the window, and gets
 * back, by memory hotplug.  For that the memory is
 *
 *  - emptied: alloc_contig_frozen_range() moves what is in it elsewhere.  To
 *    set it offline without having done so would try again for ever at the
 *    first page that somebody holds (offline_pages() of mm/memory_hotplug.c);
 *  - marked PageOffline, with no reference, which is what offline_pages() takes
 *    for memory that its owner wants to go;
 *  - set offline and removed, page structures and direct map as well.
 *
 * From then on it is what a BAR is to the kernel: an address range that is not
 * RAM.  Memory is handled in blocks, of 128 MiB on small machines; what the
 * window leaves of them is not used.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>

#include "compat.h"
#include "loan.h"

#ifdef VHCA_HAS_LOANS

#include <linux/cacheflush.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-flags.h>
#include <linux/sched/signal.h>
#include <asm/memtype.h>
#include <asm/set_memory.h>

/*
 * How long to look for memory.  It is asked between two attempts, each of which
 * has an end of its own: one on a block that is in use takes about as long as
 * it takes to copy it.
 */
#define VHCA_LOAN_DEADLINE	(5 * HZ)

/* Who has the window mapped has some time to end, see vhca_loan_is_free(). */
#define VHCA_LOAN_LOOKS		5
#define VHCA_LOAN_LOOK_MS	400

static int vhca_loan_is_managed(struct resource *ram, void *data)
{
	return !!(ram->flags & IORESOURCE_SYSRAM_DRIVER_MANAGED);
}

/*
 * Might the range be emptied?  Only by its looks, for nothing is locked: that
 * all of it is memory of one zone, not what the kernel was booted into, and not
 * what a driver has added and will want to remove.
 */
static bool vhca_loan_may_take(unsigned long pfn, unsigned long nr_pages)
{
	struct zone *zone = NULL;
	struct page *page;
	unsigned long i;

	for (i = 0; i < nr_pages; i++) {
		page = pfn_to_online_page(pfn + i);
		if (!page || PageReserved(page))
			return false;
		if (!zone)
			zone = page_zone(page);
		else if (zone != page_zone(page))
			return false;
	}
	return walk_iomem_res_desc(IORES_DESC_NONE,
				   IORESOURCE_SYSTEM_RAM | IORESOURCE_BUSY,
				   PFN_PHYS(pfn), PFN_PHYS(pfn + nr_pages) - 1,
				   NULL, vhca_loan_is_managed) == 0;
}

/*
 * Where the direct map has one entry for a whole GiB, remove_pud_table() of
 * arch/x86/mm/init_64.c takes the entry for a table if a part of it goes, and
 * phys_pud_init() loses the rest when that part comes back.  To change the
 * memory type of a page there splits the entry, and it stays split.
 */
static int vhca_loan_split_direct_map(unsigned long pfn, unsigned long nr_pages)
{
	unsigned long address = (unsigned long)pfn_to_kaddr(pfn);
	unsigned int level;
	int err;

	/* Aligned as it is, it covers the entry, or all the entries. */
	if (nr_pages >= PUD_SIZE >> PAGE_SHIFT)
		return 0;
	if (!lookup_address(address, &level))
		return -ENXIO;
	if (level < PG_LEVEL_1G)
		return 0;
	err = set_memory_uc(address, 1);
	if (err)
		return err;
	err = set_memory_wb(address, 1);
	if (err)
		return err;
	if (!lookup_address(address, &level) || level >= PG_LEVEL_1G)
		return -EBUSY;
	return 0;
}

static void vhca_loan_mark_offline(unsigned long pfn, unsigned long nr_pages)
{
	unsigned long i;

	/* Against those who look at pages by their number. */
	page_offline_begin();
	for (i = 0; i < nr_pages; i++)
		__SetPageOffline(pfn_to_page(pfn + i));
	page_offline_end();
	/* offline_pages() does not count such pages. */
	adjust_managed_page_count(pfn_to_page(pfn), -(long)nr_pages);
}

static void vhca_loan_mark_online(unsigned long pfn, unsigned long nr_pages)
{
	unsigned long i;

	for (i = 0; i < nr_pages; i++)
		__ClearPageOffline(pfn_to_page(pfn + i));
	adjust_managed_page_count(pfn_to_page(pfn), nr_pages);
}

/* Make it the kernel's again. */
static int vhca_loan_add(int node, u64 start, u64 size)
{
	int err = add_memory(node, start, size, MHP_MERGE_RESOURCE);

	if (!err && !pfn_to_online_page(PHYS_PFN(start)))
		pr_warn("%llu MiB at 0x%llx were given back, and are offline, as memhp_default_state= wants it: write online to /sys/devices/system/memory/memory%llu/state\n",
			size >> 20, start, start / memory_block_size_bytes());
	return err;
}

/*
 * Block by block: each lies in one entry of the resource tree, while all may lie
 * in several, of which release_mem_region_adjustable() would remove none.  If one
 * cannot go, those before it come back as new memory.
 */
static int vhca_loan_remove_blocks(unsigned long pfn, unsigned long nr_pages)
{
	unsigned long nr_block = PHYS_PFN(memory_block_size_bytes());
	int node = page_to_nid(pfn_to_page(pfn));
	unsigned long done;
	int err = 0;

	for (done = 0; !err && done < nr_pages; done += nr_block)
		err = offline_and_remove_memory(PFN_PHYS(pfn + done),
						PFN_PHYS(nr_block));
	if (!err)
		return 0;
	done -= nr_block;
	vhca_loan_mark_online(pfn + done, nr_pages - done);
	free_contig_frozen_range(pfn + done, nr_pages - done);
	if (done && vhca_loan_add(node, PFN_PHYS(pfn), PFN_PHYS(done)))
		pr_err("cannot give back %llu MiB of memory at 0x%llx\n",
		       PFN_PHYS(done) >> 20, PFN_PHYS(pfn));
	return err;
}

/* Take this memory out of the kernel.  It is zeroed, as users will see it. */
static int vhca_loan_remove(unsigned long pfn, unsigned long nr_pages)
{
	unsigned long nr_block = PHYS_PFN(memory_block_size_bytes());
	unsigned long i;
	int err;

	err = alloc_contig_frozen_range(pfn, pfn + nr_pages, ACR_FLAGS_NONE,
					GFP_KERNEL | __GFP_NOWARN | __GFP_ZERO);
	if (err)
		return err;
	err = vhca_loan_split_direct_map(pfn, nr_pages);
	if (err) {
		free_contig_frozen_range(pfn, nr_pages);
		return err;
	}
	/* No zero is to be written back later over what is written uncached. */
	for (i = 0; i < nr_pages; i += nr_block)
		clflush_cache_range(pfn_to_kaddr(pfn + i),
				    memory_block_size_bytes());
	vhca_loan_mark_offline(pfn, nr_pages);
	return vhca_loan_remove_blocks(pfn, nr_pages);
}

/**
 * struct vhca_loan_search - looking for memory
 * @nr_pages: how much
 * @node: the NUMA node of @pfn
 * @pfn: the first page of what was tried last
 * @tried: attempts that failed
 * @err: of the last one
 * @end: when to give up, in jiffies
 */
struct vhca_loan_search {
	unsigned long	nr_pages;
	int		node;
	unsigned long	pfn;
	unsigned int	tried;
	int		err;
	unsigned long	end;
};

static bool vhca_loan_search_node(struct vhca_loan_search *search, int node)
{
	unsigned long nr_pages = search->nr_pages;
	unsigned long pfn = ALIGN_DOWN(node_end_pfn(node), nr_pages);

	/* From the end: what has been there since boot is at the beginning. */
	while (pfn >= node_start_pfn(node) + nr_pages) {
		pfn -= nr_pages;
		cond_resched();
		if (!vhca_loan_may_take(pfn, nr_pages))
			continue;
		if (fatal_signal_pending(current)) {
			search->err = -EINTR;
			return false;
		}
		if (time_after(jiffies, search->end)) {
			search->err = -ETIMEDOUT;
			return false;
		}
		search->node = page_to_nid(pfn_to_page(pfn));
		search->pfn = pfn;
		search->err = vhca_loan_remove(pfn, nr_pages);
		if (!search->err)
			return true;
		search->tried++;
	}
	return false;
}

static bool vhca_loan_search(struct vhca_loan_search *search)
{
	int node;

	for_each_online_node(node) {
		if (vhca_loan_search_node(search, node))
			return true;
		if (search->err == -EINTR || search->err == -ETIMEDOUT)
			return false;
	}
	return false;
}

/* The loan that the tree has at @address. */
static struct vhca_loan *vhca_loan_at(u64 address)
{
	struct resource byte = { .start = address, .end = address };
	struct resource *at;

	if (insert_resource(&iomem_resource, &byte))
		return NULL;
	at = byte.parent;
	remove_resource(&byte);
	return at && at->desc == VHCA_LOAN_DESC ?
		container_of(at, struct vhca_loan, resource) : NULL;
}

static int vhca_loan_is_enough(struct resource *kept, void *data)
{
	u64 *want = data;

	if (resource_size(kept) < want[0])
		return 0;
	want[1] = kept->start;
	return 1;
}

/* One that could not be given back when the module went. */
static struct vhca_loan *vhca_loan_kept(u64 size)
{
	u64 want[2] = { size, 0 };

	if (walk_iomem_res_desc(VHCA_LOAN_DESC, IORESOURCE_MEM, 0, -1, want,
				vhca_loan_is_enough) != 1)
		return NULL;
	return vhca_loan_at(want[1]);
}

/**
 * vhca_loan_take - have the kernel hand out memory
 * @size: bytes, a power of two
 *
 * Context: may sleep, for some seconds at most; takes the memory hotplug locks
 * Return: the memory, aligned to @size and all zero, or an error pointer, after
 *	a line in the log
 */
struct vhca_loan *vhca_loan_take(u64 size)
{
	u64 whole = max_t(u64, size, memory_block_size_bytes());
	struct vhca_loan_search search = {
		.nr_pages	= PHYS_PFN(whole),
		.err		= -ENOMEM,
		.end		= jiffies + VHCA_LOAN_DEADLINE,
	};
	struct vhca_loan *loan;
	u64 start;
	int err;

	/* Without it nobody can tell whether the window is still mapped. */
	if (!pat_enabled()) {
		pr_err("cannot take memory for the window without PAT: boot with memmap=%lluM$ADDRESS and give ADDRESS as bar_phys\n",
		       size >> 20);
		return ERR_PTR(-EOPNOTSUPP);
	}
	loan = vhca_loan_kept(whole);
	if (loan)
		return loan;
	loan = kzalloc_obj(*loan);
	if (!loan)
		return ERR_PTR(-ENOMEM);
	if (!vhca_loan_search(&search)) {
		pr_err("cannot take %llu MiB of memory for the window (%pe, %u attempts): free some, or boot with memmap=%lluM$ADDRESS and give ADDRESS as bar_phys\n",
		       whole >> 20, ERR_PTR(search.err), search.tried,
		       size >> 20);
		kfree(loan);
		return ERR_PTR(search.err);
	}
	start = PFN_PHYS(search.pfn);
	strscpy(loan->name, "mlx5_vhca memory");
	loan->node = search.node;
	loan->resource = (struct resource) {
		.name	= loan->name,
		.start	= start,
		.end	= start + whole - 1,
		.flags	= IORESOURCE_MEM,
		.desc	= VHCA_LOAN_DESC,
	};
	err = insert_resource(&iomem_resource, &loan->resource);
	if (err) {
		pr_err("%pR is no longer RAM, and is in use (%d): boot with memmap=%lluM$ADDRESS and give ADDRESS as bar_phys\n",
		       &loan->resource, err, size >> 20);
		vhca_loan_add(loan->node, start, whole);
		kfree(loan);
		return ERR_PTR(err);
	}
	return loan;
}

/*
 * Does nobody have a part of it mapped?  A process that still has a VAR, or
 * device memory, keeps the memory type of these pages until it unmaps them,
 * though the pages are no longer there.  Where all have the same type, a mapping
 * of another gets theirs instead.
 */
static bool vhca_loan_is_free(const struct vhca_loan *loan)
{
	void __iomem *all = ioremap_cache(loan->resource.start,
					  resource_size(&loan->resource));
	unsigned int level;
	bool is_free;
	pte_t *pte;

	if (!all)
		return false;
	pte = lookup_address((unsigned long)all, &level);
	/* Both are clear in what is cached, by the kernel's choice of types. */
	is_free = pte && !(pte_flags(*pte) & (_PAGE_PCD | _PAGE_PWT));
	iounmap(all);
	return is_free;
}

static bool vhca_loan_gets_free(const struct vhca_loan *loan)
{
	unsigned int looks = 0;

	while (!vhca_loan_is_free(loan)) {
		if (++looks == VHCA_LOAN_LOOKS || fatal_signal_pending(current))
			return false;
		msleep(VHCA_LOAN_LOOK_MS);
	}
	return true;
}

/**
 * vhca_loan_give_back - let the kernel have it again
 * @loan: the memory, of which nothing is mapped here any more
 *
 * Who else may have it mapped is waited for.  If that is in vain the memory
 * remains what it is, and vhca_loan_take() finds it.
 *
 * Context: may sleep, for two seconds at most; takes the memory hotplug locks
 */
void vhca_loan_give_back(struct vhca_loan *loan)
{
	struct resource *where = &loan->resource;
	int err;

	if (!vhca_loan_gets_free(loan)) {
		pr_warn("%pR is still mapped, by a process that had a VAR or device memory: it is kept for the next time that this module is loaded\n",
			where);
		return;
	}
	remove_resource(where);
	err = vhca_loan_add(loan->node, where->start, resource_size(where));
	if (err) {
		/* remove_resource() leaves it. */
		where->sibling = NULL;
		insert_resource(&iomem_resource, where);
		pr_err("cannot give back %pR (%d): it is kept for the next time that this module is loaded\n",
		       where, err);
		return;
	}
	kfree(loan);
}

#else /* VHCA_HAS_LOANS */

struct vhca_loan *vhca_loan_take(u64 size)
{
	pr_err("this kernel has no memory hotplug to take the window with: boot with memmap=%lluM$ADDRESS and give ADDRESS as bar_phys\n",
	       size >> 20);
	return ERR_PTR(-EOPNOTSUPP);
}

void vhca_loan_give_back(struct vhca_loan *loan)
{
}

#endif /* VHCA_HAS_LOANS */
