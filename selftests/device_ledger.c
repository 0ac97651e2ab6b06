// SPDX-License-Identifier: GPL-2.0
/*
 * Does the virtual HCA's ledger say exactly what there is?
 *
 * A random script of commands is sent, many of them wrong, and a model that
 * knows nothing of the device's code foretells the status of each, and after
 * each batch the whole ledger: every object with its owner, its place in the
 * order of births and what is particular to it, no object more, and every
 * violation.  SEED in the environment repeats a script.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "kselftest_harness.h"

#include "common/ifc.h"
#include "common/raw_bed.h"

#define COMMANDS	2000u
#define BATCH		100u
#define MAX_LIVE	160u	/* then nothing but destroying */
#define PAGE		4096u

/* Kinds of the model. */
enum kind { PD, UAR, XRCD, UCTX, UMEM, MKEY, GENERAL, MEMIC, OPERATION, KINDS };

static const struct {
	const char *name;
	uint16_t create;
	uint16_t destroy;
} kinds[KINDS] = {
	[PD]		= { "pd", MLX5_CMD_OP_ALLOC_PD, MLX5_CMD_OP_DEALLOC_PD },
	[UAR]		= { "uar", MLX5_CMD_OP_ALLOC_UAR, MLX5_CMD_OP_DEALLOC_UAR },
	[XRCD]		= { "xrcd", MLX5_CMD_OP_ALLOC_XRCD, MLX5_CMD_OP_DEALLOC_XRCD },
	[UCTX]		= { "uctx", MLX5_CMD_OP_CREATE_UCTX, MLX5_CMD_OP_DESTROY_UCTX },
	[UMEM]		= { "umem", MLX5_CMD_OP_CREATE_UMEM, MLX5_CMD_OP_DESTROY_UMEM },
	[MKEY]		= { "mkey", MLX5_CMD_OP_CREATE_MKEY, MLX5_CMD_OP_DESTROY_MKEY },
	[GENERAL]	= { "general_object", MLX5_CMD_OP_CREATE_GENERAL_OBJECT,
			    MLX5_CMD_OP_DESTROY_GENERAL_OBJECT },
	[MEMIC]		= { "memic", MLX5_CMD_OP_ALLOC_MEMIC, MLX5_CMD_OP_DEALLOC_MEMIC },
	[OPERATION]	= { "memic_operation", MLX5_CMD_OP_MODIFY_MEMIC,
			    MLX5_CMD_OP_MODIFY_MEMIC },
};

/**
 * struct object - an object of the model
 * @kind: what it is
 * @id: its number
 * @uid: whose it is
 * @pd: of a key
 * @free: of a key
 * @start: of a key
 * @length: of a key
 * @present: translations of a key that lead anywhere
 * @size: of device memory
 * @memic: of an operation, the memory
 * @operation: of an operation, which
 */
struct object {
	enum kind kind;
	uint64_t id;
	uint16_t uid;
	uint32_t pd;
	bool free;
	uint64_t start;
	uint64_t length;
	unsigned int present;
	uint32_t size;
	uint64_t memic;
	uint8_t operation;
};

/**
 * struct script - a script in execution, and the model
 * @bed: see there
 * @raw: the device
 * @seed: what the script follows from
 * @live: the objects, in order of birth
 * @count: how many
 */
struct script {
	struct bed bed;
	struct raw raw;
	unsigned int seed;
	struct object live[MAX_LIVE + 1];
	unsigned int count;
};

FIXTURE(device_ledger)
{
	struct script script;
};

FIXTURE_SETUP(device_ledger)
{
	struct script *script = &self->script;
	const char *seed = getenv("SEED");

	if (!raw_bed_make(_metadata, &script->bed, &script->raw))
		return;
	ASSERT_EQ(0, raw_memory(&script->raw, PAGE));
	script->seed = seed ? strtoul(seed, NULL, 0) : (unsigned int)time(NULL);
	srandom(script->seed);
}

FIXTURE_TEARDOWN(device_ledger)
{
	raw_bed_unmake(_metadata, &self->script.bed, &self->script.raw);
}

static unsigned int below(unsigned int n)
{
	return random() % n;
}

static bool one_in(unsigned int n)
{
	return !below(n);
}

static const struct object *find(const struct script *self, enum kind kind,
				 uint64_t id)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		if (self->live[i].kind == kind && self->live[i].id == id)
			return &self->live[i];
	return NULL;
}

/* Any object of a kind, or NULL if there is none. */
static const struct object *any(const struct script *self, enum kind kind)
{
	const struct object *found = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < self->count; i++)
		if (self->live[i].kind == kind && one_in(++n))
			found = &self->live[i];
	return found;
}

static void born(struct script *self, const struct object *object)
{
	self->live[self->count++] = *object;
}

static void died(struct script *self, enum kind kind, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < self->count; i++) {
		if (self->live[i].kind != kind || self->live[i].id != id)
			continue;
		self->count--;
		memmove(&self->live[i], &self->live[i + 1],
			(self->count - i) * sizeof(*self->live));
		return;
	}
}

/* Somebody to do it for: mostly the kernel. */
static uint16_t any_uid(const struct script *self)
{
	const struct object *uctx = one_in(3) ? any(self, UCTX) : NULL;

	return uctx ? uctx->id : 0;
}

static int create_plain(struct script *self, enum kind kind)
{
	struct object object = { .kind = kind, .uid = kind == UCTX ? 0 : any_uid(self) };
	uint32_t number;
	int status;

	status = raw_create(&self->raw, kinds[kind].create, object.uid, &number);
	object.id = number;
	if (status == IFC_OK)
		born(self, &object);
	return status;
}

/*
 * A key of the driver's, as no other leads to physical memory, of a PD that is there;
 * its entries lead anywhere or not.
 */
static int create_mkey(struct script *self)
{
	const unsigned int entries = 8;		/* MTTs of 8 bytes: a unit of 64 bytes */
	uint32_t in[DEVX_ST_SZ_DW(create_mkey_in) + 16] = {};
	uint32_t out[DEVX_ST_SZ_DW(create_mkey_out)];
	void *mkc = DEVX_ADDR_OF(create_mkey_in, in, memory_key_mkey_entry);
	const struct object *pd = any(self, PD);
	struct object object = { .kind = MKEY, .free = one_in(3) };
	unsigned int i;
	int status;

	object.pd = pd ? pd->id : 0;
	object.start = (uint64_t)random() << 12;
	object.length = 1 + random();
	DEVX_SET(create_mkey_in, in, opcode, MLX5_CMD_OP_CREATE_MKEY);
	DEVX_SET(create_mkey_in, in, translations_octword_actual_size, entries / 2);
	DEVX_SET(mkc, mkc, access_mode_1_0, MLX5_MKC_ACCESS_MODE_MTT);
	DEVX_SET(mkc, mkc, free, object.free);
	DEVX_SET(mkc, mkc, pd, object.pd);
	DEVX_SET(mkc, mkc, qpn, 0xffffff);
	DEVX_SET(mkc, mkc, log_page_size, 12);
	DEVX_SET(mkc, mkc, translations_octword_size, entries / 2);
	DEVX_SET64(mkc, mkc, start_addr, object.start);
	DEVX_SET64(mkc, mkc, len, object.length);
	for (i = 0; i < entries; i++) {
		uint8_t *mtt = DEVX_ADDR_OF(create_mkey_in, in, klm_pas_mtt) + 8 * i;

		if (one_in(2)) {
			*(__be64 *)mtt = htobe64(self->raw.address | 3);
			object.present++;
		}
	}
	status = raw_command(&self->raw, in, out);
	object.id = DEVX_GET(create_mkey_out, out, mkey_index);
	if (status == IFC_OK)
		born(self, &object);
	return status;
}

static int create_general(struct script *self)
{
	uint32_t in[DEVX_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	uint32_t out[DEVX_ST_SZ_DW(general_obj_out_cmd_hdr)];
	struct object object = { .kind = GENERAL, .uid = any_uid(self) };
	int status;

	DEVX_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_CREATE_GENERAL_OBJECT);
	DEVX_SET(general_obj_in_cmd_hdr, in, uid, object.uid);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_type, IFC_VIRTIO_NET_Q);
	status = raw_command(&self->raw, in, out);
	object.id = DEVX_GET(general_obj_out_cmd_hdr, out, obj_id);
	if (status == IFC_OK)
		born(self, &object);
	return status;
}

/* The lowest page of a range that some device memory has, or the range's end. */
static uint64_t first_busy(const struct script *self, uint64_t start, uint32_t size)
{
	uint64_t end = (start + size + PAGE - 1) & ~(uint64_t)(PAGE - 1), busy = end, at;
	unsigned int i;

	for (i = 0; i < self->count; i++) {
		const struct object *o = &self->live[i];

		if (o->kind != MEMIC)
			continue;
		for (at = o->id; at < o->id + o->size; at += PAGE)
			if (at >= start && at < busy)
				busy = at;
	}
	return busy;
}

/*
 * Anywhere, taken or not: the model knows.  The test's own memory is few pages, so
 * that they meet.
 */
#define PLACES	12u

static void create_memic(struct __test_metadata *_metadata, struct script *self)
{
	struct object object = { .kind = MEMIC };
	uint32_t in[DEVX_ST_SZ_DW(alloc_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(alloc_memic_out)];
	uint64_t start, busy;

	start = self->bed.dev.info.memic.offset + below(PLACES) * PAGE;
	object.id = start;
	object.size = 1 + below(2 * PAGE);
	DEVX_SET(alloc_memic_in, in, opcode, MLX5_CMD_OP_ALLOC_MEMIC);
	DEVX_SET64(alloc_memic_in, in, range_start_addr, start);
	DEVX_SET(alloc_memic_in, in, range_size, 2 * PAGE);
	DEVX_SET(alloc_memic_in, in, memic_size, object.size);
	busy = first_busy(self, start, object.size);
	if (busy < start + object.size) {
		ASSERT_STATUS(IFC_NO_RES, raw_command(&self->raw, in, out));
		ASSERT_VIOLATION("memic_busy_page", start, busy, "");
		return;
	}
	ASSERT_STATUS(IFC_OK, raw_command(&self->raw, in, out));
	ASSERT_EQ(start, DEVX_GET64(alloc_memic_out, out, memic_start_addr));
	born(self, &object);
}

static int modify_memic(struct script *self, uint16_t op_mod, uint64_t memic,
			uint8_t operation, uint64_t *address)
{
	uint32_t in[DEVX_ST_SZ_DW(modify_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(modify_memic_out)];
	int status;

	DEVX_SET(modify_memic_in, in, opcode, MLX5_CMD_OP_MODIFY_MEMIC);
	DEVX_SET(modify_memic_in, in, op_mod, op_mod);
	DEVX_SET64(modify_memic_in, in, memic_start_addr, memic);
	DEVX_SET(modify_memic_in, in, memic_operation_type, operation);
	status = raw_command(&self->raw, in, out);
	*address = DEVX_GET64(modify_memic_out, out, memic_operation_addr);
	return status;
}

static const struct object *find_operation(const struct script *self,
					   uint64_t memic, uint8_t operation)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		if (self->live[i].kind == OPERATION && self->live[i].memic == memic &&
		    self->live[i].operation == operation)
			return &self->live[i];
	return NULL;
}

static void create_operation(struct __test_metadata *_metadata,
			     struct script *self)
{
	const uint16_t alloc = MLX5_MODIFY_MEMIC_OP_MOD_ALLOC;
	struct object object = { .kind = OPERATION, .operation = below(2) };
	const struct object *memic = any(self, MEMIC);

	object.memic = memic && !one_in(8) ? memic->id :
		       self->bed.dev.info.memic.offset + below(PLACES) * PAGE;
	if (!find(self, MEMIC, object.memic)) {
		ASSERT_STATUS(IFC_BAD_RES, modify_memic(self, alloc, object.memic,
							object.operation, &object.id));
		ASSERT_VIOLATION("memic_operation_on_free", object.memic, object.operation, "");
	} else if (find_operation(self, object.memic, object.operation)) {
		ASSERT_STATUS(IFC_BAD_RES_STATE, modify_memic(self, alloc, object.memic,
							      object.operation, &object.id));
		ASSERT_VIOLATION("memic_operation_double_alloc", object.memic, object.operation,
				 "");
	} else {
		ASSERT_STATUS(IFC_OK, modify_memic(self, alloc, object.memic, object.operation,
						   &object.id));
		born(self, &object);
	}
}

static void create(struct __test_metadata *_metadata, struct script *self)
{
	enum kind kind = below(KINDS);

	switch (kind) {
	case MKEY:
		ASSERT_STATUS(IFC_OK, create_mkey(self));
		break;
	case GENERAL:
		ASSERT_STATUS(IFC_OK, create_general(self));
		break;
	case MEMIC:
		create_memic(_metadata, self);
		break;
	case OPERATION:
		create_operation(_metadata, self);
		break;
	default:
		ASSERT_STATUS(IFC_OK, create_plain(self, kind));
		break;
	}
}

/* The key with the lowest index that keeps a PD, or NULL. */
static const struct object *key_on(const struct script *self, uint32_t pd)
{
	const struct object *lowest = NULL;
	unsigned int i;

	for (i = 0; i < self->count; i++) {
		const struct object *o = &self->live[i];

		if (o->kind == MKEY && !o->free && o->pd == pd && (!lowest || o->id < lowest->id))
			lowest = o;
	}
	return lowest;
}

static bool owns_something(const struct script *self, uint16_t uid)
{
	unsigned int i;

	for (i = 0; i < self->count; i++)
		if (self->live[i].uid == uid)
			return true;
	return false;
}

static int destroy_general(struct script *self, const struct object *object)
{
	uint32_t in[DEVX_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	uint32_t out[DEVX_ST_SZ_DW(general_obj_out_cmd_hdr)];

	DEVX_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	DEVX_SET(general_obj_in_cmd_hdr, in, uid, object->uid);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_type, IFC_VIRTIO_NET_Q);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_id, object->id);
	return raw_command(&self->raw, in, out);
}

static int dealloc_memic(struct script *self, uint64_t start, uint32_t size)
{
	uint32_t in[DEVX_ST_SZ_DW(dealloc_memic_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(dealloc_memic_out)];

	DEVX_SET(dealloc_memic_in, in, opcode, MLX5_CMD_OP_DEALLOC_MEMIC);
	DEVX_SET64(dealloc_memic_in, in, memic_start_addr, start);
	DEVX_SET(dealloc_memic_in, in, memic_size, size);
	return raw_command(&self->raw, in, out);
}

static void destroy_memic(struct __test_metadata *_metadata, struct script *self,
			  const struct object *memic)
{
	uint32_t size = one_in(6) ? memic->size + 1 : memic->size;

	/* Operations are ended before; that they are not is another test's. */
	if (find_operation(self, memic->id, 0) || find_operation(self, memic->id, 1))
		return;
	if (size == memic->size) {
		ASSERT_STATUS(IFC_OK, dealloc_memic(self, memic->id, size));
		died(self, MEMIC, memic->id);
	} else {
		ASSERT_STATUS(IFC_BAD_RES, dealloc_memic(self, memic->id, size));
		ASSERT_VIOLATION("memic_dealloc_of_free", memic->id, size, "");
	}
}

static void destroy_operation(struct __test_metadata *_metadata,
			      struct script *self, const struct object *operation)
{
	const uint16_t dealloc = MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC;
	const struct object o = *operation;
	uint64_t unused;

	ASSERT_STATUS(IFC_OK, modify_memic(self, dealloc, o.memic, o.operation, &unused));
	died(self, OPERATION, o.id);
	if (!one_in(8))
		return;
	ASSERT_STATUS(IFC_BAD_RES, modify_memic(self, dealloc, o.memic, o.operation, &unused));
	ASSERT_VIOLATION("memic_operation_dealloc_of_free", o.memic, o.operation, "");
}

static void destroy(struct __test_metadata *_metadata, struct script *self)
{
	const struct object object = self->live[below(self->count)];
	const uint16_t opcode = kinds[object.kind].destroy;
	const struct object *key;

	switch (object.kind) {
	case MEMIC:
		destroy_memic(_metadata, self, &object);
		return;
	case OPERATION:
		destroy_operation(_metadata, self, &object);
		return;
	case GENERAL:
		ASSERT_STATUS(IFC_OK, destroy_general(self, &object));
		died(self, GENERAL, object.id);
		return;
	case UCTX:
		if (owns_something(self, object.id))
			return;
		break;
	case PD:
		key = key_on(self, object.id);
		if (key && !one_in(4))
			return;
		if (key) {
			ASSERT_STATUS(IFC_BAD_RES_STATE,
				      raw_name(&self->raw, opcode, object.uid, object.id));
			ASSERT_VIOLATION("pd_freed_under_mkey", object.id, key->id, "");
			return;
		}
		break;
	default:
		break;
	}
	ASSERT_STATUS(IFC_OK, raw_name(&self->raw, opcode, object.uid, object.id));
	died(self, object.kind, object.id);
	if (!one_in(10))
		return;
	ASSERT_STATUS(IFC_BAD_RES, raw_name(&self->raw, opcode, object.uid, object.id));
	ASSERT_VIOLATION("destroy_of_unknown", object.id, opcode, kinds[object.kind].name);
}

/* Check one key of a record; a record may have more keys than are known here. */
#define EXPECT_KEY(key, value) \
do { \
	const uint64_t __expected = (value); \
	EXPECT_EQ(__expected, vhca_number(record, key)) \
		TH_LOG("%s of: %s", key, record); \
} while (0)

#define EXPECT_WORD(key, value) \
do { \
	char __word[32] = ""; \
	vhca_key(record, key, __word, sizeof(__word)); \
	EXPECT_STREQ(value, __word) \
		TH_LOG("%s of: %s", key, record); \
} while (0)

static void check_object(struct __test_metadata *_metadata, const struct object *object,
			 const char *record)
{
	EXPECT_WORD("kind", kinds[object->kind].name);
	EXPECT_KEY("id", object->id);
	EXPECT_KEY("uid", object->uid);
	switch (object->kind) {
	case MKEY:
		EXPECT_KEY("pd", object->pd);
		EXPECT_WORD("mode", "mtt");
		EXPECT_KEY("start", object->start);
		EXPECT_KEY("length", object->length);
		EXPECT_KEY("length64", 0);
		EXPECT_KEY("free", object->free);
		EXPECT_KEY("translations", object->present);
		break;
	case GENERAL:
		EXPECT_KEY("obj_type", IFC_VIRTIO_NET_Q);
		break;
	case MEMIC:
		EXPECT_KEY("size", object->size);
		break;
	case OPERATION:
		EXPECT_KEY("memic", object->memic);
		EXPECT_KEY("operation", object->operation);
		break;
	default:
		break;
	}
}

/* The command by which an object was born, from the history. */
static int64_t birth(const struct vhca_history *history, const struct object *object)
{
	uint64_t named = object->kind == OPERATION ? object->memic : object->id;
	int64_t seq = -1;
	unsigned int i;

	for (i = 0; i < history->count; i++)
		if (history->command[i].opcode == kinds[object->kind].create &&
		    !history->command[i].status && history->command[i].object == named)
			seq = history->command[i].seq;
	return seq;
}

/*
 * The ledger's part that is younger than the test is the model, in the same order;
 * what was born in this batch has the number of its command.
 */
static void check_ledger(struct __test_metadata *_metadata, struct script *self,
			 int64_t since)
{
	struct vhca_history history;
	unsigned int i, n = 0;
	struct vhca_file file;
	uint64_t last = 0;

	ASSERT_EQ(0, vhca_open(&self->bed.dev, "ledger", &file));
	ASSERT_EQ(0, vhca_since(&self->bed.dev, since, &history));
	for (i = 0; i < file.count; i++) {
		const char *record = file.record[i];
		uint64_t seq = vhca_number(record, "born_seq");

		if (strncmp(record, "object ", 7) || (int64_t)seq <= self->bed.before.seq)
			continue;
		EXPECT_LT(last, seq)
			TH_LOG("out of order: %s", record);
		last = seq;
		ASSERT_LT(n, self->count)
			TH_LOG("nobody has made this, or it was destroyed: %s", record);
		check_object(_metadata, &self->live[n], record);
		if ((int64_t)seq > since && self->live[n].kind != OPERATION) {
			EXPECT_EQ(birth(&history, &self->live[n]), (int64_t)seq)
				TH_LOG("%s", record);
		}
		n++;
	}
	vhca_forget(&history);
	vhca_close(&file);
	EXPECT_EQ(self->count, n)
		TH_LOG("objects of the model that the ledger lacks");
}

static void follow(struct __test_metadata *_metadata, struct script *self)
{
	unsigned int created = 0, i, j;
	int64_t since;

	TH_LOG("SEED=%u", self->seed);
	marker_expect("mlx5_vhca: .* violation: (destroy_of_unknown|pd_freed_under_mkey|memic_)");
	/* The driver makes nothing meanwhile: its pools were filled when the bed was made. */
	self->bed.before.seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->bed.before.seq);
	since = self->bed.before.seq;
	for (i = 0; i < COMMANDS; i += BATCH) {
		for (j = 0; j < BATCH; j++) {
			/* Grow for a while, then shrink, and grow again. */
			bool grow = !self->count ||
				    (self->count < MAX_LIVE &&
				     below(10) < (i / BATCH % 4 < 2 ? 7u : 4u));

			if (grow) {
				create(_metadata, self);
				created++;
			} else {
				destroy(_metadata, self);
			}
			ASSERT_EQ(KSFT_PASS, _metadata->exit_code)
				TH_LOG("SEED=%u, command %u", self->seed, i + j);
		}
		check_ledger(_metadata, self, since);
		ASSERT_EQ(KSFT_PASS, _metadata->exit_code)
			TH_LOG("SEED=%u, after command %u", self->seed, i + j);
		since = vhca_seq(&self->bed.dev);
	}
	/* A script that does next to nothing would prove next to nothing. */
	ASSERT_LT(COMMANDS / 3, created);
	ASSERT_LT(COMMANDS / 10, COMMANDS - created);
	TH_LOG("SEED=%u: %u created, %u objects at the end", self->seed, created, self->count);
	while (self->count) {
		destroy(_metadata, self);
		ASSERT_EQ(KSFT_PASS, _metadata->exit_code);
	}
	check_ledger(_metadata, self, since);
}

TEST_F_TIMEOUT(device_ledger, follows_a_script, 200)
{
	follow(_metadata, &self->script);
}

int main(int argc, char **argv)
{
	return raw_bed_main(argc, argv);
}
