// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the module's parameters: the bounds of each, what is said of
 * one that is beyond them, and where the parameters put things in BAR0.
 */
#include <kunit/test.h>
#include <linux/log2.h>
#include <linux/sizes.h>

#include "params.h"

#define WINDOW	0x60000000UL

/**
 * struct bounds - what a parameter that is a range of numbers can be
 * @name: its name
 * @at: where it is in struct vhca_params
 * @min: the smallest
 * @max: the largest, with the defaults of the others
 */
struct bounds {
	const char	*name;
	size_t		at;
	unsigned int	min;
	unsigned int	max;
};

#define BOUNDS(_name, _min, _max) \
	{ #_name, offsetof(struct vhca_params, _name), _min, _max }

static const struct bounds bounds[] = {
	BOUNDS(hcas, 1, 2),
	BOUNDS(domain, 1, 65535),
	BOUNDS(device_id, 0, 65535),
	BOUNDS(msix_vectors, 2, 64),
	BOUNDS(log_var_stride, 12, 15),	/* with 256 VARs in 8 MiB */
	BOUNDS(log_var_count, 0, 11),
	BOUNDS(tlp_var_count, 1, 15),
	BOUNDS(log_tlp_var_stride, 12, 19),
	BOUNDS(cmd_timeout_ms, 100, 600000),	/* or 0, as it is by default */
};

static struct vhca_params defaults(void)
{
	struct vhca_params params = VHCA_PARAMS_DEFAULT;

	params.bar_phys = WINDOW;
	return params;
}

static struct vhca_params with(size_t at, unsigned int value)
{
	struct vhca_params params = defaults();

	*(unsigned int *)((void *)&params + at) = value;
	return params;
}

static void expect_good(struct kunit *test, struct vhca_params params,
			struct vhca_setup *setup)
{
	struct vhca_refusal refusal = {};

	*setup = (struct vhca_setup) {};
	KUNIT_EXPECT_TRUE_MSG(test, vhca_params_check(&params, setup, &refusal),
			      "refused: %s", refusal.text);
}

/* The text begins with the parameter and what it is. */
static void expect_refused(struct kunit *test, struct vhca_params params,
			   const char *text)
{
	struct vhca_refusal refusal = {};
	struct vhca_setup setup = { .hcas = 77 };

	KUNIT_EXPECT_FALSE_MSG(test, vhca_params_check(&params, &setup, &refusal),
			       "taken, and not refused with '%s'", text);
	KUNIT_EXPECT_EQ_MSG(test, strncmp(refusal.text, text, strlen(text)), 0,
			    "refused with '%s', and not with '%s'",
			    refusal.text, text);
	KUNIT_EXPECT_EQ(test, setup.hcas, 77);
}

static void params_defaults_are_good(struct kunit *test)
{
	struct vhca_setup setup;

	expect_good(test, defaults(), &setup);
	KUNIT_EXPECT_EQ(test, setup.hcas, 1);
	KUNIT_EXPECT_EQ(test, setup.nr_roots, 1);
	KUNIT_EXPECT_FALSE(test, setup.port);
	KUNIT_EXPECT_EQ(test, setup.domain, 1);
	KUNIT_EXPECT_EQ(test, setup.config.bar_phys, WINDOW);
	KUNIT_EXPECT_EQ(test, setup.config.bar_size, SZ_64M);
	KUNIT_EXPECT_EQ(test, setup.config.device_id, 0x101e);
	KUNIT_EXPECT_EQ(test, setup.config.log_var_count, 8);
	KUNIT_EXPECT_EQ(test, setup.config.log_var_stride, 12);
	KUNIT_EXPECT_EQ(test, setup.config.tlp_var_count, 8);
	KUNIT_EXPECT_EQ(test, setup.config.log_tlp_var_stride, 12);
	KUNIT_EXPECT_EQ(test, setup.config.memic_size, SZ_1M);
	KUNIT_EXPECT_EQ(test, setup.config.vectors, 16);
	KUNIT_EXPECT_EQ(test, setup.config.cmd_timeout_ms, 0);
}

static void params_bounds(struct kunit *test)
{
	struct vhca_setup setup;
	char text[96];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		const struct bounds *b = &bounds[i];

		expect_good(test, with(b->at, b->min), &setup);
		expect_good(test, with(b->at, b->max), &setup);
		if (b->min) {
			snprintf(text, sizeof(text), "parameter %s: got %u, expected %u to ",
				 b->name, b->min - 1, b->min);
			expect_refused(test, with(b->at, b->min - 1), text);
		}
		/* A stride that is good alone is too large for so many VARs. */
		if (b->at == offsetof(struct vhca_params, log_var_stride))
			strscpy(text, "parameter log_var_count: got 8, expected 0 to 7");
		else
			snprintf(text, sizeof(text), "parameter %s: got %u, expected %u to %u",
				 b->name, b->max + 1, b->min, b->max);
		expect_refused(test, with(b->at, b->max + 1), text);
		expect_refused(test, with(b->at, UINT_MAX), "parameter ");
	}
}

/* VARs and their stride share a region. */
static void params_var_region(struct kunit *test)
{
	struct vhca_params params = defaults();
	struct vhca_setup setup;

	params.log_var_count = 0;
	params.log_var_stride = 23;
	expect_good(test, params, &setup);
	params.log_var_stride = 24;
	expect_refused(test, params, "parameter log_var_stride: got 24, expected 12 to 23");
	params.log_var_count = 1;
	params.log_var_stride = 23;
	expect_refused(test, params, "parameter log_var_count: got 1, expected 0 to 0");
}

static void params_topology(struct kunit *test)
{
	static char * const words[] = { "", "Port", "ports", "separate ", "x" };
	struct vhca_params params = defaults();
	struct vhca_setup setup;
	unsigned int i;
	char text[64];

	params.hcas = 2;
	expect_good(test, params, &setup);
	KUNIT_EXPECT_FALSE(test, setup.port);
	KUNIT_EXPECT_EQ(test, setup.nr_roots, 2);
	params.topology = "port";
	expect_good(test, params, &setup);
	KUNIT_EXPECT_TRUE(test, setup.port);
	KUNIT_EXPECT_EQ(test, setup.nr_roots, 1);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		params.topology = words[i];
		snprintf(text, sizeof(text),
			 "parameter topology: got %s, expected separate or port", words[i]);
		expect_refused(test, params, text);
	}
}

/* Two host bridges have two domains, one has one. */
static void params_last_domain(struct kunit *test)
{
	struct vhca_params params = defaults();
	struct vhca_setup setup;

	params.hcas = 2;
	params.domain = 65534;
	expect_good(test, params, &setup);
	params.domain = 65535;
	expect_refused(test, params, "parameter domain: got 65535, expected 1 to 65534");
	params.topology = "port";
	expect_good(test, params, &setup);
}

static void params_bar_size(struct kunit *test)
{
	static const unsigned long bad[] = {
		0, 1, SZ_32M, SZ_64M - 1, SZ_64M + 1, SZ_64M + SZ_32M, ULONG_MAX,
	};
	struct vhca_params params = defaults();
	struct vhca_setup setup;
	unsigned int i;
	char text[80];

	params.bar_size = SZ_128M;
	expect_good(test, params, &setup);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		params.bar_size = bad[i];
		snprintf(text, sizeof(text),
			 "parameter bar_size: got %lu, expected a power of two", bad[i]);
		expect_refused(test, params, text);
	}
}

static void params_bar_phys(struct kunit *test)
{
	static const unsigned long bad[] = {
		1, SZ_32M, WINDOW + SZ_4K, WINDOW - 1, ULONG_MAX,
	};
	struct vhca_params params = defaults();
	struct vhca_setup setup;
	unsigned int i;
	char text[128];

	/* The kernel's own memory. */
	params.bar_phys = 0;
	expect_good(test, params, &setup);
	KUNIT_EXPECT_EQ(test, setup.config.bar_phys, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		params.bar_phys = bad[i];
		snprintf(text, sizeof(text),
			 "parameter bar_phys: got 0x%lx, expected 0 (the kernel hands out memory) or the address of 64 MiB",
			 bad[i]);
		expect_refused(test, params, text);
	}
	/* The last window that there is, of one device; of two it wraps. */
	params.bar_phys = 0UL - SZ_64M;
	expect_good(test, params, &setup);
	params.hcas = 2;
	expect_refused(test, params, "parameter bar_phys: got 0x");
	params.bar_phys = 0UL - SZ_128M;
	expect_good(test, params, &setup);
	/* A multiple of the size of one, and not of both. */
	params.bar_phys = WINDOW + SZ_64M;
	expect_good(test, params, &setup);
	/* Both together are 2^64. */
	params.bar_size = 1UL << 63;
	params.bar_phys = 1UL << 63;
	expect_refused(test, params, "parameter bar_phys: got 0x8000000000000000");
	params.bar_phys = 0;
	expect_refused(test, params, "parameter bar_phys: got 0x0");
}

static void params_memic_size(struct kunit *test)
{
	static const unsigned int bad[] = {
		0, 1, SZ_2K, SZ_4K - 1, SZ_4K + 1, SZ_8K + SZ_4K, SZ_1M + 1, SZ_2M,
		UINT_MAX,
	};
	struct vhca_params params = defaults();
	struct vhca_setup setup;
	unsigned int i;
	char text[80];

	params.memic_size = SZ_4K;
	expect_good(test, params, &setup);
	params.memic_size = SZ_1M;
	expect_good(test, params, &setup);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		params.memic_size = bad[i];
		snprintf(text, sizeof(text),
			 "parameter memic_size: got %u, expected a power of two, 4096 to 1048576",
			 bad[i]);
		expect_refused(test, params, text);
	}
}

/* A part of BAR0, in bytes. */
struct region {
	const char	*name;
	u64		start;
	u64		size;
};

/* All parts lie in the BAR, in this order, and none in another. */
static void expect_layout(struct kunit *test, const struct vhca_setup *setup)
{
	struct vhca *v = kunit_kzalloc(test, sizeof(*v), GFP_KERNEL);
	u64 end = 0;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, v);
	v->params = setup->config;
	{
		const struct region regions[] = {
			{ "initialization segment", VHCA_INIT_SEGMENT,
			  VHCA_INIT_SEGMENT_SIZE },
			{ "MSI-X table", VHCA_MSIX_TABLE,
			  v->params.vectors * PCI_MSIX_ENTRY_SIZE },
			{ "MSI-X PBA", VHCA_MSIX_PBA,
			  DIV_ROUND_UP(v->params.vectors, 64) * 8 },
			{ "UARs", VHCA_UAR_BASE,
			  (u64)(vhca_uar_kind.max + 1 - vhca_uar_kind.min) <<
			  VHCA_PAGE_SHIFT },
			{ "VARs", VHCA_VAR_BASE, vhca_var_size(v) },
			{ "TLP VARs", VHCA_TLP_VAR_BASE, vhca_tlp_var_size(v) },
			{ "MEMIC", VHCA_MEMIC_BASE, v->params.memic_size },
			{ "MEMIC operations", VHCA_MEMIC_OPS_BASE,
			  (u64)VHCA_MEMIC_NR_OPERATIONS * v->params.memic_size },
		};

		for (i = 0; i < ARRAY_SIZE(regions); i++) {
			KUNIT_EXPECT_GE_MSG(test, regions[i].start, end, "%s",
					    regions[i].name);
			KUNIT_EXPECT_GT_MSG(test, regions[i].size, 0, "%s",
					    regions[i].name);
			end = regions[i].start + regions[i].size;
		}
	}
	KUNIT_EXPECT_LE(test, end, v->params.bar_size);
	KUNIT_EXPECT_GE(test, VHCA_INIT_SEGMENT_SIZE,
			sizeof(struct mlx5_init_seg));
	KUNIT_EXPECT_EQ(test, (u64)vhca_uar_kind.min << VHCA_PAGE_SHIFT,
			VHCA_UAR_BASE);
	/* The pages' bitmap has a bit for each. */
	KUNIT_EXPECT_LE(test, vhca_memic_pages(v), VHCA_MEMIC_MAX_PAGES);
	KUNIT_EXPECT_LE(test, vhca_memic_max_alloc(v), v->params.memic_size);
}

/* The largest of all, in the smallest BAR. */
static void params_layout_of_largest(struct kunit *test)
{
	struct vhca_params params = defaults();
	unsigned int log_count, stride;
	struct vhca_setup setup;

	params.msix_vectors = 64;
	params.tlp_var_count = 15;
	params.log_tlp_var_stride = 19;
	params.memic_size = SZ_1M;
	for (log_count = 0; log_count <= 11; log_count++) {
		stride = 23 - log_count;
		params.log_var_count = log_count;
		params.log_var_stride = stride;
		expect_good(test, params, &setup);
		expect_layout(test, &setup);
	}
}

static void params_layout_of_smallest(struct kunit *test)
{
	struct vhca_params params = defaults();
	struct vhca_setup setup;

	params.msix_vectors = 2;
	params.tlp_var_count = 1;
	params.log_var_count = 0;
	params.memic_size = SZ_4K;
	expect_good(test, params, &setup);
	expect_layout(test, &setup);
}

static struct kunit_case vhca_params_cases[] = {
	KUNIT_CASE(params_defaults_are_good),
	KUNIT_CASE(params_bounds),
	KUNIT_CASE(params_var_region),
	KUNIT_CASE(params_topology),
	KUNIT_CASE(params_last_domain),
	KUNIT_CASE(params_bar_size),
	KUNIT_CASE(params_bar_phys),
	KUNIT_CASE(params_memic_size),
	KUNIT_CASE(params_layout_of_largest),
	KUNIT_CASE(params_layout_of_smallest),
	{}
};

static struct kunit_suite vhca_params_suite = {
	.name		= "mlx5_vhca_params",
	.test_cases	= vhca_params_cases,
};

kunit_test_suite(vhca_params_suite);
