// SPDX-License-Identifier: GPL-2.0
/*
 * Two HCAs: what one holds is no business of the other, until the device memory
 * of one is lent to the other as a dma-buf.  Run by two_hcas.sh, which loads the
 * devices.
 *
 * Whether the loan works is for the kernel to say, by where the two functions
 * are (calc_map_type_and_dist() in drivers/pci/p2pdma.c): below a common bridge
 * yes; below two host bridges only if processor or host bridge are known to
 * forward from one to the other.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/device.h"
#include "common/ifc.h"
#include "common/dm_ops.h"
#include "common/kernel_signs.h"
#include "common/marker.h"
#include "common/raw.h"
#include "common/rest.h"
#include "common/text.h"
#include "common/var_ops.h"
#include "common/vhca.h"

#define DM_SIZE		8192
#define DRIVER		"/sys/bus/pci/drivers/mlx5_core/"

/* Processors from Zen on do forward: cpu_supports_p2pdma(). */
#define AMD_ZEN		23

/* The device whose memory it is, and the one that borrows it. */
enum { OWNER, BORROWER, HCAS };

FIXTURE(two_hcas)
{
	struct device dev[HCAS];
	struct rest before[HCAS];
	struct ibv_context *ctx[HCAS];
	struct ibv_pd *pd[HCAS];
	bool lends;
};

FIXTURE_VARIANT(two_hcas)
{
	const char *name[HCAS];
};

FIXTURE_VARIANT_ADD(two_hcas, first_lends)
{
	.name = { "mlx5_0", "mlx5_1" },
};

FIXTURE_VARIANT_ADD(two_hcas, second_lends)
{
	.name = { "mlx5_1", "mlx5_0" },
};

static bool processor_forwards(void)
{
	char *text = text_read("/proc/cpuinfo"), *family;
	bool forwards;

	if (!text)
		return false;
	family = strstr(text, "\ncpu family\t: ");
	forwards = strstr(text, "AuthenticAMD") && family &&
		   atoi(family + strlen("\ncpu family\t: ")) >= AMD_ZEN;
	free(text);
	return forwards;
}

/* The folder of the bridge above a function, or of its host bridge. */
static bool bridge_of(const struct device *dev, char *path)
{
	char link[128], *slash;

	snprintf(link, sizeof(link), "/sys/bus/pci/devices/%s", dev->pci);
	if (!realpath(link, path))
		return false;
	slash = strrchr(path, '/');
	*slash = 0;
	return true;
}

static bool below_one_port(const struct device *dev)
{
	char path[HCAS][PATH_MAX];

	return bridge_of(&dev[0], path[0]) && bridge_of(&dev[1], path[1]) &&
	       !strcmp(path[0], path[1]) && strncmp(strrchr(path[0], '/'), "/pci", 4);
}

/* Have the driver let go of the function, or take it. */
static int driver_write(const char *what, const struct device *dev)
{
	char path[64];

	snprintf(path, sizeof(path), DRIVER "%s", what);
	return text_write(path, dev->pci, 0);
}

FIXTURE_SETUP(two_hcas)
{
	const char *reason;
	int i;

	for (i = 0; i < HCAS; i++) {
		reason = device_find_named(&self->dev[i], variant->name[i]);
		if (reason)
			SKIP(return, "%s", reason);
		ASSERT_EQ(0, vhca_read_info(&self->dev[i], &self->dev[i].info));
	}
	self->lends = below_one_port(self->dev) || processor_forwards();
	for (i = 0; i < HCAS; i++)
		ASSERT_EQ(0, device_warm_up(&self->dev[i]));
	for (i = 0; i < HCAS; i++)
		ASSERT_EQ(0, rest_take(&self->dev[i], &self->before[i]));
	for (i = 0; i < HCAS; i++) {
		self->ctx[i] = device_open(&self->dev[i]);
		ASSERT_NE(NULL, self->ctx[i]);
		self->pd[i] = ibv_alloc_pd(self->ctx[i]);
		ASSERT_NE(NULL, self->pd[i]);
	}
}

FIXTURE_TEARDOWN(two_hcas)
{
	struct rest after = {};
	int i;

	for (i = 0; i < HCAS; i++) {
		EXPECT_EQ(0, ibv_dealloc_pd(self->pd[i]));
		EXPECT_EQ(0, ibv_close_device(self->ctx[i]));
	}
	for (i = 0; i < HCAS; i++) {
		/* One that was away has to make again what it makes once. */
		EXPECT_EQ(0, device_warm_up(&self->dev[i]));
		EXPECT_EQ(0, rest_return(&self->dev[i], &self->before[i], &after)) {
			TH_LOG("%s: not given back by the end of the test:", self->dev[i].name);
			rest_print_difference(&self->dev[i], &self->before[i], &after);
		}
	}
}

/* The device that is on the other side has nothing to do with it. */
#define ASSERT_UNTOUCHED(side, seq) \
	ASSERT_EQ(0, vhca_other_since(&self->dev[side], seq))

#define ASSERT_DELTA(delta, side, kind) \
do { \
	int __delta = 0; \
	ASSERT_EQ(0, rest_ledger_delta(&self->dev[side], &self->before[side], kind, &__delta)); \
	ASSERT_EQ(delta, __delta) \
		rest_print_ledger(&self->dev[side], &self->before[side]); \
} while (0)

#define ASSERT_NO_VIOLATIONS() \
do { \
	ASSERT_EQ(self->before[OWNER].violations, vhca_violations(&self->dev[OWNER])); \
	ASSERT_EQ(self->before[BORROWER].violations, vhca_violations(&self->dev[BORROWER])); \
} while (0)

/* The key of a device leads to this address on the bus, 0 for nowhere. */
#define ASSERT_LEADS_TO(address, side, mkey) \
do { \
	const uint64_t __address = (address); \
	struct vhca_object __mkey; \
	ASSERT_EQ(1, vhca_find(&self->dev[side], "mkey", mkey, &__mkey)); \
	ASSERT_EQ(__address ? 1 : 0, __mkey.translations > 0); \
	ASSERT_EQ(__address, __mkey.leads_to); \
} while (0)

/* The last memic that a device allocated since the set-up. */
#define GET_MEMIC(side, object) \
	ASSERT_EQ(1, vhca_find_new(&self->dev[side], "memic", self->before[side].seq, object))

static uint64_t bus_address(const struct device *dev, const struct vhca_object *memic)
{
	return dev->info.bar + memic->id;
}

/* An object appears in the ledger of its own device and in no other. */
TEST_F(two_hcas, ledgers_are_apart)
{
	int64_t seq = vhca_seq(&self->dev[BORROWER]);
	struct mlx5dv_var *var;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	ASSERT_LE(0, seq);
	dm_alloc(self->ctx[OWNER], DM_SIZE, &dm);
	mr_reg_dm(self->pd[OWNER], dm, 0, DM_SIZE, &mr);
	var_alloc(self->ctx[OWNER], 0, &var);
	ASSERT_DELTA(1, OWNER, "memic");
	ASSERT_DELTA(1, OWNER, "mkey");
	ASSERT_DELTA(0, BORROWER, "memic");
	ASSERT_DELTA(0, BORROWER, "mkey");
	mr_dereg(mr);
	dm_free(dm);
	mlx5dv_free_var(var);
	ASSERT_DELTA(0, OWNER, "memic");
	ASSERT_UNTOUCHED(BORROWER, seq);
	ASSERT_NO_VIOLATIONS();
}

/* Both begin to count at the same number, and it is not the same object. */
TEST_F(two_hcas, numbers_are_apart)
{
	struct vhca_object memic[HCAS];
	struct ibv_dm *dm[HCAS];
	int i;

	for (i = 0; i < HCAS; i++) {
		dm_alloc(self->ctx[i], DM_SIZE, &dm[i]);
		GET_MEMIC(i, &memic[i]);
	}
	ASSERT_EQ(memic[OWNER].id, memic[BORROWER].id);
	dm_free(dm[OWNER]);
	ASSERT_EQ(0, vhca_find(&self->dev[OWNER], "memic", memic[OWNER].id, NULL));
	ASSERT_EQ(1, vhca_find(&self->dev[BORROWER], "memic", memic[BORROWER].id, NULL));
	dm_free(dm[BORROWER]);
	ASSERT_EQ(0, vhca_find(&self->dev[BORROWER], "memic", memic[BORROWER].id, NULL));
	ASSERT_NO_VIOLATIONS();
}

/* What is written to the memory of one is not seen in that of the other. */
TEST_F(two_hcas, memories_are_apart)
{
	uint8_t in[HCAS][DM_SIZE], seen[DM_SIZE];
	struct vhca_object memic[HCAS];
	struct ibv_dm *dm[HCAS];
	int i, j;

	for (i = 0; i < HCAS; i++) {
		for (j = 0; j < DM_SIZE; j++)
			in[i][j] = j * (3 + 8 * i) + j / 256 + i;
		dm_alloc(self->ctx[i], DM_SIZE, &dm[i]);
		GET_MEMIC(i, &memic[i]);
	}
	for (i = 0; i < HCAS; i++)
		dm_write(dm[i], 0, in[i], DM_SIZE);
	for (i = 0; i < HCAS; i++) {
		ASSERT_EQ(0, vhca_memory(&self->dev[i], "memic",
					 memic[i].id - self->dev[i].info.memic.offset,
					 seen, DM_SIZE));
		ASSERT_EQ(0, memcmp(in[i], seen, DM_SIZE));
		dm_free(dm[i]);
	}
}

/* Within one device there is no question: the function is its own neighbour. */
TEST_F(two_hcas, lend_to_itself)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	int fd;

	dm_alloc(self->ctx[OWNER], DM_SIZE, &dm);
	GET_MEMIC(OWNER, &memic);
	dmabuf_export(dm, &fd);
	mr_reg_dmabuf(self->pd[OWNER], 0, DM_SIZE, fd, &mr);
	ASSERT_LEADS_TO(bus_address(&self->dev[OWNER], &memic), OWNER, mr_mkey(mr));
	mr_dereg(mr);
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
	ASSERT_NO_VIOLATIONS();
}

/*
 * The borrower's key leads into the owner's BAR, and the owner knows nothing of
 * it; or the kernel refuses, and nobody keeps anything.
 */
TEST_F(two_hcas, lend)
{
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t inode;
	struct dmabuf_sign sign;
	int64_t seq;
	int fd;

	dm_alloc(self->ctx[OWNER], DM_SIZE, &dm);
	GET_MEMIC(OWNER, &memic);
	dmabuf_export(dm, &fd);
	inode = dmabuf_inode(fd);
	seq = vhca_seq(&self->dev[OWNER]);
	if (self->lends) {
		mr_reg_dmabuf(self->pd[BORROWER], 4096, 4096, fd, &mr);
		ASSERT_LEADS_TO(bus_address(&self->dev[OWNER], &memic) + 4096, BORROWER,
				mr_mkey(mr));
		ASSERT_EQ(1, dmabuf_look(inode, &sign));
		ASSERT_EQ(1, sign.attachments);
		ASSERT_STREQ(self->dev[BORROWER].pci, sign.importer);
		ASSERT_DELTA(0, OWNER, "mkey");
		mr_dereg(mr);
	} else {
		mr_reg_dmabuf_err(EINVAL, self->pd[BORROWER], 0, DM_SIZE, fd);
	}
	ASSERT_DELTA(0, BORROWER, "mkey");
	ASSERT_DELTA(0, BORROWER, "memic");
	ASSERT_EQ(1, dmabuf_look(inode, &sign));
	ASSERT_EQ(0, sign.attachments);
	ASSERT_EQ(1, sign.files);
	ASSERT_UNTOUCHED(OWNER, seq);
	ASSERT_EQ(0, close(fd));
	dm_free(dm);
	ASSERT_NO_VIOLATIONS();
}

/* Skip a test of what happens to a loan where there is none. */
static bool refused(struct __test_metadata *_metadata, bool lends)
{
	if (lends)
		return false;
	SKIP(return true, "the kernel refuses peer-to-peer DMA between these functions");
}

/* A loan: a DM of the owner, and a region of the borrower on it. */
struct loan {
	struct vhca_object memic;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	int fd;
};

#define LEND(loan) \
do { \
	dm_alloc(self->ctx[OWNER], DM_SIZE, &(loan)->dm); \
	GET_MEMIC(OWNER, &(loan)->memic); \
	dmabuf_export((loan)->dm, &(loan)->fd); \
	mr_reg_dmabuf(self->pd[BORROWER], 0, DM_SIZE, (loan)->fd, &(loan)->mr); \
	ASSERT_LEADS_TO(bus_address(&self->dev[OWNER], &(loan)->memic), BORROWER, \
			mr_mkey((loan)->mr)); \
} while (0)

/*
 * When the owner frees the memory, the borrower's key leads nowhere at once; the
 * device is told after the last user is gone.
 */
TEST_F(two_hcas, free_what_is_lent)
{
	struct loan loan;

	if (refused(_metadata, self->lends))
		return;
	LEND(&loan);
	dm_free(loan.dm);
	ASSERT_LEADS_TO(0, BORROWER, mr_mkey(loan.mr));
	ASSERT_EQ(1, vhca_find(&self->dev[OWNER], "memic", loan.memic.id, NULL));
	ASSERT_EQ(0, close(loan.fd));
	mr_dereg(loan.mr);
	ASSERT_EQ(0, vhca_find(&self->dev[OWNER], "memic", loan.memic.id, NULL));
	ASSERT_NO_VIOLATIONS();
}

/* The owner's driver goes: the memory is gone from the borrower's key before. */
TEST_F_TIMEOUT(two_hcas, owner_is_unbound, 120)
{
	struct loan loan;

	if (refused(_metadata, self->lends))
		return;
	LEND(&loan);
	ASSERT_EQ(0, driver_write("unbind", &self->dev[OWNER]));
	ASSERT_LEADS_TO(0, BORROWER, mr_mkey(loan.mr));
	ASSERT_EQ(0, vhca_find(&self->dev[OWNER], "memic", loan.memic.id, NULL));
	ASSERT_NO_VIOLATIONS();
	mr_dereg(loan.mr);
	ASSERT_EQ(0, close(loan.fd));
	ASSERT_EQ(0, ibv_free_dm(loan.dm));
	ASSERT_EQ(0, driver_write("bind", &self->dev[OWNER]));
}

/* The borrower's driver goes: the owner keeps its memory, and can free it. */
TEST_F_TIMEOUT(two_hcas, borrower_is_unbound, 120)
{
	struct dmabuf_sign sign;
	struct loan loan;

	if (refused(_metadata, self->lends))
		return;
	LEND(&loan);
	ASSERT_EQ(0, driver_write("unbind", &self->dev[BORROWER]));
	ASSERT_EQ(1, dmabuf_look(dmabuf_inode(loan.fd), &sign));
	ASSERT_EQ(0, sign.attachments);
	ASSERT_EQ(1, vhca_find(&self->dev[OWNER], "memic", loan.memic.id, NULL));
	ASSERT_EQ(0, close(loan.fd));
	dm_free(loan.dm);
	ASSERT_EQ(0, vhca_find(&self->dev[OWNER], "memic", loan.memic.id, NULL));
	ASSERT_EQ(0, ibv_dereg_mr(loan.mr));
	ASSERT_NO_VIOLATIONS();
	ASSERT_EQ(0, driver_write("bind", &self->dev[BORROWER]));
}

/* A key of the device to 4096 bytes anywhere on the bus, as no driver makes one. */
static int raw_key(struct raw *raw, uint64_t address, uint32_t *key)
{
	uint32_t in[DEVX_ST_SZ_DW(create_mkey_in) + 4] = {};
	uint32_t out[DEVX_ST_SZ_DW(create_mkey_out)];
	void *mkc = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	uint8_t *mtt = DEVX_ADDR_OF(create_mkey_in, in, klm_pas_mtt);
	int i, status;

	DEVX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	DEVX_SET(create_mkey_in, in, translations_octword_actual_size, 1);
	DEVX_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
	DEVX_SET(mkc, mkc, qpn, 0xffffff);
	DEVX_SET(mkc, mkc, log_page_size, 12);
	DEVX_SET(mkc, mkc, translations_octword_size, 1);
	DEVX_SET64(mkc, mkc, len, 4096);
	/* Big endian, with the flags that mlx5_ib sets: read and write. */
	for (i = 0; i < 8; i++)
		mtt[i] = (address | 3) >> (56 - 8 * i);
	status = raw_command(raw, in, out);
	*key = DEVX_GET(create_mkey_out, out, mkey_index);
	return status;
}

/*
 * A key of one device into memory of the other that is freed: the device of the
 * key complains, whatever lies between the two.  One beside it is no offence.
 */
TEST_F(two_hcas, free_under_a_foreign_key)
{
	const bool loaded = raw_load();
	struct vhca_violation violation;
	struct vhca_object memic;
	uint32_t key, beside;
	const char *reason;
	uint64_t address;
	struct ibv_dm *dm;
	struct raw raw;

	reason = raw_open(&raw, &self->dev[BORROWER]);
	if (reason)
		SKIP(return, "%s", reason);
	marker_expect("mlx5_vhca: .* violation: mkey_into_freed_memic ");
	dm_alloc(self->ctx[OWNER], DM_SIZE, &dm);
	GET_MEMIC(OWNER, &memic);
	address = bus_address(&self->dev[OWNER], &memic);
	ASSERT_EQ(IFC_OK, raw_key(&raw, address + DM_SIZE, &beside));
	ASSERT_EQ(IFC_OK, raw_key(&raw, address + DM_SIZE - 4096, &key));
	dm_free(dm);

	ASSERT_EQ(self->before[OWNER].violations, vhca_violations(&self->dev[OWNER]));
	ASSERT_EQ(self->before[BORROWER].violations + 1,
		  vhca_last_violation(&self->dev[BORROWER], &violation));
	ASSERT_STREQ("mkey_into_freed_memic", violation.what);
	ASSERT_EQ(key, violation.object);
	ASSERT_EQ(address, violation.detail);
	/* That one was wanted. */
	self->before[BORROWER].violations++;

	ASSERT_EQ(0, raw_close(&raw));
	if (loaded)
		ASSERT_EQ(0, raw_unload());
}

TEST_HARNESS_MAIN
