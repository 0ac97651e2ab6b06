// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the driver that the device reads and writes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <kunit/static_stub.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "vhca.h"

/**
 * vhca_ram - turn a physical address into a pointer
 * @address: the address
 * @len: bytes that will be accessed
 *
 * The only place where an address that came from the driver becomes a
 * pointer.  It must lie in RAM that the kernel manages.  Memory that is
 * reserved, as the BAR window itself is, is refused.
 *
 * Context: firmware thread
 * Return: the pointer, or NULL
 */
void *vhca_ram(u64 address, u64 len)
{
	u64 pfn, last = address + len - 1;
	struct page *page;

	KUNIT_STATIC_STUB_REDIRECT(vhca_ram, address, len);
	if (!address || !len || last < address)
		return NULL;
	for (pfn = PHYS_PFN(address); pfn <= PHYS_PFN(last); pfn++) {
		page = pfn_to_online_page(pfn);
		if (!page || PageReserved(page))
			return NULL;
	}
	return phys_to_virt(address);
}

/**
 * vhca_page_is_free - has a page been given back?
 * @address: an address in it
 *
 * A page that a key of the driver's leads to has a reference from whoever
 * registered it, until the key no longer does.  The kernel's own memory can be
 * without one: a slab, or, where several pages were allocated at once and not as
 * one, those behind the first; the former is told apart by its type, and the
 * latter is nothing that is registered.
 *
 * Context: firmware thread
 * Return: true if it is one of the kernel's free pages
 */
bool vhca_page_is_free(u64 address)
{
	struct page *page = pfn_to_online_page(PHYS_PFN(address)), *head;

	if (!page || PageReserved(page))
		return false;
	head = compound_head(page);
	return !page_ref_count(head) &&
	       (PageBuddy(page) || !page_has_type(head));
}

/**
 * vhca_dma_pointer - turn a DMA address of the driver's into a pointer
 * @v: the device
 * @address: the address
 * @len: bytes that will be accessed
 *
 * There is no IOMMU before the function (vhca_pci_add() has made sure), so it
 * is a physical address.
 *
 * Context: firmware thread
 * Return: the pointer, or NULL after a line in the log
 */
void *vhca_dma_pointer(struct vhca *v, u64 address, u64 len)
{
	void *pointer = vhca_ram(address, len);

	if (!pointer)
		vhca_warn_ratelimited(v, "DMA to 0x%llx, %llu bytes: not RAM, refused\n",
				      address, len);
	return pointer;
}

/**
 * vhca_doorbell_init - make a doorbell record of the driver's accessible
 * @v: the device
 * @address: where it begins, a DMA address
 * @words: how many words of it are used
 * @doorbell: the record
 *
 * A record lies in one page.  Drivers did not always look whether the one that a user names
 * does (mlx5_ib_db_map_user()), and the next page is somebody else's.
 *
 * Context: firmware thread
 * Return: MLX5_CMD_STAT_OK, or BAD_PARAM_ERR if it is not aligned or not RAM
 */
u8 vhca_doorbell_init(struct vhca *v, u64 address, unsigned int words, __be32 **doorbell)
{
	u32 len = words * sizeof(__be32);

	if (!IS_ALIGNED(address, len))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	*doorbell = vhca_dma_pointer(v, address, len);
	return *doorbell ? MLX5_CMD_STAT_OK : MLX5_CMD_STAT_BAD_PARAM_ERR;
}

/**
 * vhca_doorbell_mark - write to a doorbell record, where that does no harm
 * @word: the word
 * @mark: what is to be there
 *
 * A device only reads such a record, so the driver lets users give memory for it that they
 * may read and not write: a page of a file, of the page cache.  Memory that belongs to
 * nobody else is anonymous, or the kernel's own.
 *
 * Context: firmware thread
 */
void vhca_doorbell_mark(__be32 *word, u32 mark)
{
	/* Memory of KUnit may be vmalloc()'s. */
	if (virt_addr_valid(word)) {
		struct folio *folio = virt_to_folio(word);

		if (!folio_test_slab(folio) && !folio_test_anon(folio) &&
		    READ_ONCE(folio->mapping))
			return;
	}
	WRITE_ONCE(*word, cpu_to_be32(mark));
}

/**
 * vhca_calloc - memory for a list of what a command makes
 * @v: the device
 * @n: entries
 * @size: bytes of each
 *
 * Context: firmware thread, within a command
 * Return: the list, of zeros, to be freed by kvfree(), or NULL
 */
void *vhca_calloc(struct vhca *v, size_t n, size_t size)
{
	/* vmalloc() cannot be kept from the reserves. */
	if (v->gfp != GFP_KERNEL)
		return kcalloc(n, size, v->gfp);
	return kvcalloc(n, size, GFP_KERNEL);
}

/**
 * vhca_buffer_init - make a queue of the driver accessible
 * @v: the device
 * @buffer: to be filled
 * @pas: physical addresses of its pages, as the command has them
 * @nr_pas: how many
 * @log_page_size: log2 of the page size in units of 4 KiB, as in the context
 * @page_offset: where in the first page it begins, in 64ths of a page
 * @size: bytes that it must have
 *
 * Models the address lists of create_eq_in, create_cq_in and create_qp_in.
 *
 * Context: firmware thread
 * Return: MLX5_CMD_STAT_OK, BAD_INP_LEN_ERR if the list does not cover @size,
 *	BAD_PARAM_ERR if a page is not RAM, NO_RES_ERR if there is no memory
 */
u8 vhca_buffer_init(struct vhca *v, struct vhca_buffer *buffer,
		    const __be64 *pas, u32 nr_pas, u8 log_page_size,
		    u8 page_offset, u64 size)
{
	u64 page_size, offset, end;
	u32 i;

	*buffer = (struct vhca_buffer) {};
	if (!size)
		return MLX5_CMD_STAT_OK;
	if (log_page_size > VHCA_MAX_LOG_PAGE_SIZE || page_offset > 63)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	buffer->page_shift = log_page_size + VHCA_PAGE_SHIFT;
	page_size = 1ULL << buffer->page_shift;
	offset = (u64)page_offset << (buffer->page_shift - 6);
	end = offset + size;
	if (DIV_ROUND_UP_ULL(end, page_size) > nr_pas)
		return MLX5_CMD_STAT_BAD_INP_LEN_ERR;

	buffer->offset = offset;
	buffer->nr_pages = DIV_ROUND_UP_ULL(end, page_size);
	buffer->pages = vhca_calloc(v, buffer->nr_pages, sizeof(*buffer->pages));
	if (!buffer->pages)
		return MLX5_CMD_STAT_NO_RES_ERR;
	for (i = 0; i < buffer->nr_pages; i++) {
		/* The low bits of an entry are flags, zero for queues. */
		u64 address = be64_to_cpu(pas[i]) & VHCA_PAGE_MASK;
		/*
		 * A page can be large, and what lies before and behind the
		 * queue in it belongs to somebody else: only what is used is
		 * checked.
		 */
		u64 first = i ? 0 : offset;
		u64 last = min(page_size, end - ((u64)i << buffer->page_shift));
		void *used = vhca_dma_pointer(v, address + first, last - first);

		if (!used) {
			vhca_buffer_exit(buffer);
			return MLX5_CMD_STAT_BAD_PARAM_ERR;
		}
		buffer->pages[i] = used - first;
	}
	return MLX5_CMD_STAT_OK;
}

/**
 * vhca_buffer_exit - forget a queue
 * @buffer: the queue; may be empty
 */
void vhca_buffer_exit(struct vhca_buffer *buffer)
{
	kvfree(buffer->pages);
	*buffer = (struct vhca_buffer) {};
}

/**
 * vhca_buffer_at - find an entry of a queue
 * @buffer: the queue
 * @offset: where the entry begins, in bytes from the start of the queue
 * @len: bytes of it
 *
 * Return: pointer to the entry, or NULL if it is beyond the end or crosses
 *	from one page to another
 */
void *vhca_buffer_at(struct vhca_buffer *buffer, u64 offset, u32 len)
{
	u64 page_size = 1ULL << buffer->page_shift;
	u64 at = offset + buffer->offset;
	u64 i = at >> buffer->page_shift;

	at &= page_size - 1;
	if (i >= buffer->nr_pages || at + len > page_size)
		return NULL;
	return buffer->pages[i] + at;
}
