// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the driver's memory: which addresses are taken, and where the
 * entries of a queue are.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "device_kunit.h"

/* No machine has memory there. */
#define NOWHERE		BIT_ULL(51)

/* Pages of 4 KiB that lie one after the other. */
static void *pages(struct kunit *test, unsigned int nr)
{
	void *memory = kunit_kzalloc(test, nr * VHCA_PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_TRUE(test, IS_ALIGNED((unsigned long)memory, VHCA_PAGE_SIZE));
	return memory;
}

static void buffer_ram_is_pointer(struct kunit *test)
{
	u8 *memory = pages(test, 1);
	u64 address = virt_to_phys(memory);

	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_ram(address, VHCA_PAGE_SIZE), memory);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_ram(address + 100, 1), memory + 100);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_ram(address + VHCA_PAGE_SIZE - 1, 1),
			    memory + VHCA_PAGE_SIZE - 1);
}

static void buffer_ram_refuses(struct kunit *test)
{
	u64 address = virt_to_phys(pages(test, 1));

	KUNIT_EXPECT_NULL(test, vhca_ram(0, 1));
	KUNIT_EXPECT_NULL(test, vhca_ram(address, 0));
	KUNIT_EXPECT_NULL(test, vhca_ram(NOWHERE, 1));
	KUNIT_EXPECT_NULL(test, vhca_ram(U64_MAX, 1));
	/* Beyond the last address there is, from a good one on. */
	KUNIT_EXPECT_NULL(test, vhca_ram(address, U64_MAX));
	KUNIT_EXPECT_NULL(test, vhca_ram(address, 0 - address));
	KUNIT_EXPECT_NULL(test, vhca_ram(U64_MAX - 7, 16));
}

/* Pages that the kernel has not for its use, as those of its own text. */
static void buffer_ram_refuses_reserved(struct kunit *test)
{
	u64 address = virt_to_phys(ZERO_PAGE(0) ? page_address(ZERO_PAGE(0)) : NULL);

	if (!PageReserved(ZERO_PAGE(0)))
		kunit_skip(test, "the page of zeros is not reserved here");
	KUNIT_EXPECT_NULL(test, vhca_ram(address, 1));
	/* A range that ends in one, begun before it. */
	KUNIT_EXPECT_NULL(test, vhca_ram(address - VHCA_PAGE_SIZE, VHCA_PAGE_SIZE + 1));
}

static u8 init_buffer(struct kunit *test, struct vhca_buffer *buffer,
		      const __be64 *pas, u32 nr_pas, u8 log_page_size,
		      u8 page_offset, u64 size)
{
	return vhca_buffer_init(test->priv, buffer, pas, nr_pas, log_page_size,
				page_offset, size);
}

/* A queue over three pages that are not one after the other. */
static void buffer_init_maps_pages(struct kunit *test)
{
	u8 *memory = pages(test, 4);
	const u64 address = virt_to_phys(memory);
	const __be64 pas[] = {
		cpu_to_be64(address + 2 * VHCA_PAGE_SIZE),
		cpu_to_be64(address),
		/* The low bits of an entry are flags. */
		cpu_to_be64(address + 3 * VHCA_PAGE_SIZE + 3),
	};
	struct vhca_buffer buffer;

	KUNIT_ASSERT_EQ(test, init_buffer(test, &buffer, pas, 3, 0, 0,
					  3 * VHCA_PAGE_SIZE), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, buffer.nr_pages, 3);
	KUNIT_EXPECT_EQ(test, buffer.page_shift, 12);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, 0, 64),
			    memory + 2 * VHCA_PAGE_SIZE);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, VHCA_PAGE_SIZE - 64, 64),
			    memory + 3 * VHCA_PAGE_SIZE - 64);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, VHCA_PAGE_SIZE, 64),
			    memory);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, 2 * VHCA_PAGE_SIZE + 64,
						       64),
			    memory + 3 * VHCA_PAGE_SIZE + 64);
	/* Across two pages, and beyond the last. */
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, VHCA_PAGE_SIZE - 63, 64));
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, 3 * VHCA_PAGE_SIZE, 1));
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, 3 * VHCA_PAGE_SIZE - 63, 64));
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, BIT_ULL(40), 1));
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, 0, U32_MAX));
	vhca_buffer_exit(&buffer);
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, 0, 1));
}

/* The offset counts in 64ths of a page, and needs room of its own. */
static void buffer_init_offset(struct kunit *test)
{
	u8 *memory = pages(test, 4);
	const __be64 pas[] = {
		cpu_to_be64(virt_to_phys(memory)),
		cpu_to_be64(virt_to_phys(memory) + 2 * VHCA_PAGE_SIZE),
	};
	struct vhca_buffer buffer;

	KUNIT_ASSERT_EQ(test, init_buffer(test, &buffer, pas, 1, 0, 63, 64),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, 0, 64),
			    memory + 63 * 64);
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, 1, 64));
	vhca_buffer_exit(&buffer);

	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 1, 0, 63, 65),
			MLX5_CMD_STAT_BAD_INP_LEN_ERR);
	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 2, 0, 64, 64),
			MLX5_CMD_STAT_BAD_PARAM_ERR);

	/* Pages of 8 KiB: an offset of one 64th is 128 bytes. */
	KUNIT_ASSERT_EQ(test, init_buffer(test, &buffer, pas, 2, 1, 1,
					  2 * VHCA_PAGE_SIZE), MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_EQ(test, buffer.nr_pages, 2);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, 0, 1), memory + 128);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, 2 * VHCA_PAGE_SIZE - 128,
						       64),
			    memory + 2 * VHCA_PAGE_SIZE);
	vhca_buffer_exit(&buffer);
}

static void buffer_init_refuses(struct kunit *test)
{
	const u64 address = virt_to_phys(pages(test, 1));
	const __be64 pas[] = { cpu_to_be64(address), cpu_to_be64(NOWHERE) };
	struct vhca_buffer buffer;

	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 1, 0, 0,
					  VHCA_PAGE_SIZE + 1),
			MLX5_CMD_STAT_BAD_INP_LEN_ERR);
	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 0, 0, 0, 1),
			MLX5_CMD_STAT_BAD_INP_LEN_ERR);
	/* One page of 1 GiB would do; of 2 GiB there is none. */
	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 1, 19, 0, 64),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 1, 0xff, 0, 64),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	/* The second page is needed, and no RAM; if it is not needed, good. */
	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 2, 0, 0,
					  VHCA_PAGE_SIZE + 1),
			MLX5_CMD_STAT_BAD_PARAM_ERR);
	KUNIT_EXPECT_NULL(test, buffer.pages);
	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, pas, 2, 0, 0,
					  VHCA_PAGE_SIZE), MLX5_CMD_STAT_OK);
	vhca_buffer_exit(&buffer);
	/* Nothing needs no page. */
	KUNIT_EXPECT_EQ(test, init_buffer(test, &buffer, NULL, 0, 0xff, 0xff, 0),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_NULL(test, vhca_buffer_at(&buffer, 0, 1));
	vhca_buffer_exit(&buffer);
}

/* Of a large page only what the queue has is looked at. */
static void buffer_init_large_page(struct kunit *test)
{
	u8 *memory = pages(test, 1);
	const u64 size = BIT_ULL(30), at = virt_to_phys(memory) & (size - 1);
	const __be64 pas[] = { cpu_to_be64(virt_to_phys(memory) & ~(size - 1)) };
	u8 offset = at >> (30 - 6);
	struct vhca_buffer buffer;
	u64 begin = (u64)offset << (30 - 6);

	/* From the last 64th of a GiB that begins before the memory. */
	if (!vhca_ram((virt_to_phys(memory) & ~(size - 1)) + begin,
		      at - begin + VHCA_PAGE_SIZE))
		kunit_skip(test, "not all of the memory before it is free to use");
	KUNIT_ASSERT_EQ(test, init_buffer(test, &buffer, pas, 1, 18, offset,
					  at - begin + VHCA_PAGE_SIZE),
			MLX5_CMD_STAT_OK);
	KUNIT_EXPECT_PTR_EQ(test, (u8 *)vhca_buffer_at(&buffer, at - begin,
						       VHCA_PAGE_SIZE), memory);
	vhca_buffer_exit(&buffer);
}

/*
 * A page is free when nobody has it.  Somebody may take it at once, so one try may not do;
 * memory of a slab has no reference and is not free.
 */
static void buffer_page_is_free(struct kunit *test)
{
	u64 address;
	unsigned int tries;
	struct page *page;
	void *slab;

	KUNIT_EXPECT_FALSE(test, vhca_page_is_free(NOWHERE));
	slab = kunit_kzalloc(test, 64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slab);
	KUNIT_EXPECT_FALSE(test, vhca_page_is_free(virt_to_phys(slab)));
	for (tries = 0; tries < 100; tries++) {
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, page);
		address = page_to_phys(page);
		KUNIT_EXPECT_FALSE(test, vhca_page_is_free(address));
		__free_page(page);
		if (vhca_page_is_free(address + 100))
			return;
	}
	KUNIT_FAIL(test, "no page is free after it was freed");
}

static struct kunit_case vhca_buffer_cases[] = {
	KUNIT_CASE(buffer_ram_is_pointer),
	KUNIT_CASE(buffer_ram_refuses),
	KUNIT_CASE(buffer_ram_refuses_reserved),
	KUNIT_CASE(buffer_init_maps_pages),
	KUNIT_CASE(buffer_init_offset),
	KUNIT_CASE(buffer_init_refuses),
	KUNIT_CASE(buffer_init_large_page),
	KUNIT_CASE(buffer_page_is_free),
	{}
};

static struct kunit_suite vhca_buffer_suite = {
	.name		= "mlx5_vhca_buffer",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_buffer_cases,
};

kunit_test_suite(vhca_buffer_suite);
