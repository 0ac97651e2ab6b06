// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel's memory costs when it is given back: nothing.
 *
 * Memory that nothing leads to any more is seen by no count of references and by no list.
 * kmemleak sees it, on a kernel built for that.  Here the caches tell: each call is made
 * and taken back some hundred times, and they must not grow in every round, as they would
 * by each piece that is lost.
 */
#include <dirent.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/kernel_signs.h"
#include "common/marker.h"
#include "common/scene.h"
#include "common/text.h"

/* A round without growth is enough. */
#define ROUNDS		16
/* Less than what the smallest that the driver or the core allocate, 64 bytes, would cost. */
#define LOST		40
/* The allocator counts some slabs as full that are not. */
#define NOISE		8192

FIXTURE(memory_use)
{
	struct bed bed;
	struct scene scene;
};

/*
 * Calls that make and take back, one after the other, and how often in a round; bytes of each
 * that come back much later.
 */
FIXTURE_VARIANT(memory_use)
{
	int (*calls[5])(struct scene *scene);
	int objects, late;
};

static int unmap_var(struct scene *scene)
{
	return munmap(scene->map, scene->length) ? errno : 0;
}

static int map_var(struct scene *scene)
{
	scene->length = scene->raw_var.length;
	scene->map = mmap(NULL, scene->length, PROT_READ | PROT_WRITE, MAP_SHARED,
			  scene->ctx->cmd_fd, scene->raw_var.mmap_off);
	return scene->map == MAP_FAILED ? errno : 0;
}

static int create_channel(struct scene *scene)
{
	return POINTER(scene->new_channel, ibv_create_comp_channel(scene->ctx));
}

static int destroy_channel(struct scene *scene)
{
	return ibv_destroy_comp_channel(scene->new_channel);
}

FIXTURE_VARIANT_ADD(memory_use, var)
{
	.calls = { scene_alloc_var, scene_free_var },
	.objects = 300,
};

FIXTURE_VARIANT_ADD(memory_use, tlp_var)
{
	.calls = { scene_alloc_tlp_var, scene_free_var },
	.objects = 300,
};

FIXTURE_VARIANT_ADD(memory_use, var_mapped)
{
	.calls = { scene_alloc_var, map_var, scene_free_var, unmap_var },
	.objects = 300,
};

FIXTURE_VARIANT_ADD(memory_use, uar)
{
	.calls = { scene_alloc_uar, scene_free_uar },
	.objects = 200,
};

FIXTURE_VARIANT_ADD(memory_use, memory)
{
	.calls = { scene_alloc_dm, scene_free_dm },
	.objects = 200,
};

FIXTURE_VARIANT_ADD(memory_use, operation)
{
	.calls = { scene_make_op, scene_free_dm_by_library },
	.objects = 200,
};

FIXTURE_VARIANT_ADD(memory_use, sw_icm)
{
	.calls = { scene_alloc_sw_icm, scene_free_dm_by_library },
	.objects = 300,
};

FIXTURE_VARIANT_ADD(memory_use, region_on_dm)
{
	.calls = { scene_reg_dm, scene_dereg_mr },
	.objects = 200,
};

FIXTURE_VARIANT_ADD(memory_use, region)
{
	.calls = { scene_reg_memory, scene_dereg_mr },
	.objects = 200,
};

/* What each loses by L04 is less than LOST. */
FIXTURE_VARIANT_ADD(memory_use, region_on_dmabuf)
{
	.calls = { scene_reg_dmabuf, scene_dereg_mr },
	.objects = 200,
};

FIXTURE_VARIANT_ADD(memory_use, dmabuf)
{
	.calls = { scene_export_dm, scene_close_fd },
	.objects = 200,
	.late = 64,
};

FIXTURE_VARIANT_ADD(memory_use, umem)
{
	.calls = { scene_reg_umem, scene_dereg_umem },
	.objects = 200,
};

FIXTURE_VARIANT_ADD(memory_use, cq)
{
	.calls = { scene_create_cq, scene_destroy_cq },
	.objects = 200,
};

FIXTURE_VARIANT_ADD(memory_use, channel)
{
	.calls = { create_channel, destroy_channel },
	.objects = 300,
};

FIXTURE_VARIANT_ADD(memory_use, pd)
{
	.calls = { scene_alloc_pd, scene_dealloc_pd },
	.objects = 300,
};

FIXTURE_VARIANT_ADD(memory_use, context)
{
	.calls = { scene_open_raw, scene_close_raw },
	.objects = 60,
};

/* With the file of its asynchronous events. */
FIXTURE_VARIANT_ADD(memory_use, context_by_library)
{
	.calls = { scene_open_library, scene_close_library },
	.objects = 200,
};

/*
 * The allocator keeps freed objects at hand, hundreds of the small ones, and counts these as
 * taken: what is lost would come from there first, and not show.
 */
static void give_back_freed(void)
{
	DIR *caches = opendir("/sys/kernel/slab");
	struct dirent *entry;

	while (caches && (entry = readdir(caches))) {
		if (!strncmp(entry->d_name, "kmalloc-", 8) && !strchr(entry->d_name + 8, 'k') &&
		    !strstr(entry->d_name, "dma") && !strstr(entry->d_name, "rcl"))
			slab_shrink(entry->d_name);
	}
	if (caches)
		closedir(caches);
}

/* After this, what waited for the end of all readers' sections has begun to be freed. */
static int wait_for_readers(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? errno : 0;
}

/* Bytes in all kmalloc() caches, or -1. */
static int64_t kmalloc_bytes(void)
{
	unsigned long objects, size;
	char *text, *line;
	int64_t sum = 0;

	/* What is freed after a grace period is collected, and now waits for one. */
	give_back_freed();
	if (wait_for_readers() || wait_for_readers())
		return -1;
	text = text_read("/proc/slabinfo");
	for (line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "kmalloc-", 8) &&
		    sscanf(line, "%*s %*u %lu %lu", &objects, &size) == 2)
			sum += (int64_t)objects * size;
	}
	free(text);
	return sum ?: -1;
}

FIXTURE_SETUP(memory_use)
{
	struct scene *scene = &self->scene;

	/* Where KASAN holds back what was freed the caches grow whatever happens. */
	if (!access("/sys/kernel/debug/kmemleak", F_OK))
		SKIP(return, "kmemleak looks for what is lost here");
	if (kmalloc_bytes() < 0)
		SKIP(return, "no /proc/slabinfo: build the kernel with CONFIG_SLUB_DEBUG");
	if (!bed_make(_metadata, &self->bed, true))
		return;
	scene_init(scene, &self->bed.dev);
	ASSERT_EQ(0, scene_furnish(scene));
	dmabuf_export(scene->dm, &scene->fd);
}

FIXTURE_TEARDOWN(memory_use)
{
	struct scene *scene = &self->scene;

	if (_metadata->exit_code != KSFT_PASS || !scene->ctx)
		return;
	EXPECT_EQ(0, close(scene->fd));
	EXPECT_EQ(0, ibv_free_dm(scene->dm));
	EXPECT_EQ(0, ibv_dealloc_pd(scene->pd));
	EXPECT_EQ(0, ibv_close_device(scene->ctx));
	bed_unmake(_metadata, &self->bed);
}

/*
 * UOBJ-02, UOBJ-08: What was allocated for an object, a mapping or a file goes with it.  A
 * descriptor's object goes when its last file is closed, a context with all that it had.
 */
TEST_F(memory_use, uobj_02_given_back)
{
	int64_t before, growth, least = INT64_MAX;
	const int64_t cost = (int64_t)variant->objects * (LOST + variant->late);
	const int64_t limit = cost > NOISE ? cost : NOISE;
	int round, i, call, err;

	for (round = 0; round < ROUNDS && least >= limit; round++) {
		before = kmalloc_bytes();
		ASSERT_LT(0, before);
		for (i = 0; i < variant->objects; i++) {
			for (call = 0; variant->calls[call]; call++) {
				err = variant->calls[call](&self->scene);
				if (err == EOPNOTSUPP && !call && !i && !round)
					SKIP(return, "the device or the kernel has none");
				ASSERT_EQ(0, err)
					TH_LOG("call %d of object %d in round %d", call, i, round);
			}
		}
		ASSERT_EQ(0, wait_for_readers());
		ASSERT_EQ(0, wait_for_readers());
		growth = kmalloc_bytes();
		ASSERT_LT(0, growth);
		growth -= before;
		if (growth < least)
			least = growth;
	}
	TH_LOG("note: %ld bytes of growth in the best of %d rounds", least, round);
	ASSERT_GT(limit, least);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
