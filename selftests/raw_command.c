// SPDX-License-Identifier: GPL-2.0
/*
 * Raw commands for scripts:
 *
 *   raw_command send OUT DWORD...   one command of these dwords, OUT bytes of
 *                                   output; prints what came back
 *   raw_command unknown COUNT       destroy what is not there, so often
 *   raw_command leave               make one object of each kind, and leave them
 *   raw_command until-error         commands until one is not executed
 *   raw_command fuzz SEED COUNT     random commands; then give back what they made
 *
 * The device is that of the tests (UOBJSCOPE_DEVICE), or the PCI function that
 * RAW_PCI names, which need not have a driver.  mlx5_raw_command.ko is loaded if
 * it is not there, and unloaded at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ifc.h"
#include "common/raw.h"
#include "common/text.h"

#define MAX_DW	2048
#define PAGE	4096u

static int say(int status, const uint32_t *out, size_t len)
{
	size_t i;

	if (status < 0) {
		printf("error=%s\n", strerrorname_np(-status));
		return 1;
	}
	printf("status=0x%x syndrome=0x%x output=", status,
	       DEVX_GET(alloc_pd_out, out, syndrome));
	for (i = 0; i < len / 4; i++)
		printf("%08x", be32toh(out[i]));
	putchar('\n');
	return 0;
}

static int do_send(struct raw *raw, int argc, char **argv)
{
	uint32_t in[MAX_DW] = {}, out[MAX_DW];
	size_t len;
	int i;

	if (argc < 2 || argc > MAX_DW)
		return 2;
	len = strtoul(argv[0], NULL, 0);
	if (len > sizeof(out))
		return 2;
	for (i = 1; i < argc; i++)
		in[i - 1] = htobe32(strtoul(argv[i], NULL, 0));
	return say(raw_send(raw, in, (argc - 1) * 4, out, len), out, len);
}

static int do_unknown(struct raw *raw, unsigned int count)
{
	while (count--)
		if (raw_name(raw, MLX5_CMD_OP_DEALLOC_PD, 0, 0xfffffe) != IFC_BAD_RES)
			return 1;
	return 0;
}

static int do_leave(struct raw *raw)
{
	static const uint16_t plain[] = {
		MLX5_CMD_OP_ALLOC_PD, MLX5_CMD_OP_ALLOC_UAR, MLX5_CMD_OP_ALLOC_XRCD,
		MLX5_CMD_OP_CREATE_XRC_SRQ, MLX5_CMD_OP_CREATE_RMP, MLX5_CMD_OP_CREATE_UCTX,
		MLX5_CMD_OP_CREATE_UMEM, MLX5_CMD_OP_CREATE_MKEY,
	};
	uint32_t number;
	size_t i;
	int status;

	for (i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		status = raw_create(raw, plain[i], 0, &number);
		if (status) {
			fprintf(stderr, "command 0x%x: %d\n", plain[i], status);
			return 1;
		}
	}
	raw_abandon(raw);
	return 0;
}

static int do_until_error(struct raw *raw)
{
	uint32_t in[DEVX_ST_SZ_DW(query_issi_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(query_issi_out)];
	unsigned long n = 0;
	int status;

	DEVX_SET(query_issi_in, in, opcode, MLX5_CMD_OP_QUERY_ISSI);
	for (;; n++) {
		status = raw_command(raw, in, out);
		if (status)
			break;
		if (!n) {
			puts("ready");
			fflush(stdout);
		}
	}
	say(status, out, sizeof(out));
	return 0;
}

/* Commands that are random, but do no harm to what the driver has made. */

/**
 * struct fuzz - what there is to know of the device
 * @raw: the device
 * @opcode: commands that it models
 * @in_size: least input of each
 * @kind: what each is about, empty if about nothing
 * @opcodes: how many
 * @taken: numbers of objects that were there before
 * @takens: how many
 * @general: current page of general capabilities
 */
struct fuzz {
	struct raw *raw;
	uint16_t opcode[256];
	uint32_t in_size[256];
	char kind[256][32];
	unsigned int opcodes;
	uint64_t taken[4096];
	unsigned int takens;
	uint32_t general[DEVX_ST_SZ_DW(set_hca_cap_in)];
};

static unsigned int below(unsigned int n)
{
	return random() % n;
}

static bool one_in(unsigned int n)
{
	return !below(n);
}

static int fuzz_learn(struct fuzz *f, const struct device *dev)
{
	uint32_t in[DEVX_ST_SZ_DW(query_hca_cap_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(query_hca_cap_out)];
	struct vhca_file file;
	unsigned int i;
	int status;

	if (vhca_open(dev, "modelled", &file))
		return 1;
	for (i = 0; i < file.count && f->opcodes < 256; i++) {
		f->opcode[f->opcodes] = vhca_number(file.record[i], "opcode");
		f->in_size[f->opcodes] = vhca_number(file.record[i], "in_size");
		vhca_key(file.record[i], "kind", f->kind[f->opcodes], sizeof(f->kind[0]));
		f->opcodes++;
	}
	vhca_close(&file);
	if (vhca_open(dev, "ledger", &file))
		return 1;
	for (i = 0; i < file.count && f->takens < 4096; i++)
		f->taken[f->takens++] = vhca_number(file.record[i], "id");
	vhca_close(&file);

	DEVX_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	DEVX_SET(query_hca_cap_in, in, op_mod, 1);
	status = raw_command(f->raw, in, out);
	DEVX_SET(set_hca_cap_in, f->general, opcode, MLX5_CMD_OP_SET_HCA_CAP);
	memcpy(DEVX_ADDR_OF(set_hca_cap_in, f->general, capability),
	       DEVX_ADDR_OF(query_hca_cap_out, out, capability),
	       DEVX_UN_SZ_BYTES(hca_cap_union));
	return status;
}

static bool fuzz_taken(const struct fuzz *f, uint32_t number)
{
	unsigned int i;

	for (i = 0; i < f->takens; i++)
		if (f->taken[i] == number)
			return true;
	return false;
}

static uint32_t fuzz_dword(void)
{
	switch (below(8)) {
	case 0:
		return random() << 1 ^ random();
	case 1:
		return below(256);
	case 2:
		return 1u << below(32);
	case 3:
		return below(256) << 24;
	case 4:
		return ~0u;
	default:
		return 0;
	}
}

/*
 * Where a command names memory it must be the program's own, or none.  What the
 * device writes to is in other pages than what it reads, so that no queue gets to
 * hold what it wrote.
 */
enum fuzz_page { PAGE_WRITTEN, PAGE_CQ_DOORBELL, PAGE_READ, PAGES };

static uint64_t fuzz_address(const struct fuzz *f, enum fuzz_page page)
{
	switch (below(6)) {
	case 0:
		return 0;
	case 1:
		return 0xfedcba9876000000ull;
	default:
		return f->raw->address + page * PAGE;
	}
}

static void fuzz_list(const struct fuzz *f, uint8_t *from, const uint8_t *end,
		      enum fuzz_page page)
{
	for (; from + 8 <= end; from += 8)
		*(__be64 *)from = htobe64(fuzz_address(f, page));
}

static void fuzz_addresses(const struct fuzz *f, uint16_t opcode, uint32_t *in)
{
	const uint8_t *end = (uint8_t *)(in + MAX_DW);
	void *context;

	switch (opcode) {
	case MLX5_CMD_OP_CREATE_EQ:
		fuzz_list(f, DEVX_ADDR_OF(create_eq_in, in, pas), end, PAGE_WRITTEN);
		break;
	case MLX5_CMD_OP_CREATE_CQ:
		context = DEVX_ADDR_OF(create_cq_in, in, cq_context);
		DEVX_SET64(cqc, context, dbr_addr, fuzz_address(f, PAGE_CQ_DOORBELL));
		fuzz_list(f, DEVX_ADDR_OF(create_cq_in, in, pas), end, PAGE_WRITTEN);
		break;
	case MLX5_CMD_OP_CREATE_QP:
		context = DEVX_ADDR_OF(create_qp_in, in, qpc);
		DEVX_SET64(qpc, context, dbr_addr, fuzz_address(f, PAGE_READ));
		fuzz_list(f, DEVX_ADDR_OF(create_qp_in, in, pas), end, PAGE_READ);
		break;
	case MLX5_CMD_OP_CREATE_UMEM:
		fuzz_list(f, DEVX_ADDR_OF(create_umem_in, in, umem.mtt), end, PAGE_READ);
		break;
	}
}

/* Fill in the input; returns its length in bytes, or 0 to leave this one out. */
static size_t fuzz_command(const struct fuzz *f, uint32_t *in)
{
	unsigned int row = below(f->opcodes), i, dwords;
	uint16_t opcode = f->opcode[row];
	uint32_t size = f->in_size[row];

	if (one_in(20)) {
		/* One that is not modelled; few, as each is told of in the log. */
		opcode = 0x8000 + below(16);
		size = below(MAX_DW / 4);
	}
	for (i = 0; i < MAX_DW; i++)
		in[i] = one_in(2) ? 0 : htobe32(fuzz_dword());
	dwords = one_in(6) ? below(size / 4 + 1) : size / 4 + (one_in(2) ? 0 : below(256));
	if (dwords > MAX_DW)
		dwords = MAX_DW;
	DEVX_SET(alloc_pd_in, in, opcode, opcode);
	DEVX_SET(alloc_pd_in, in, uid, one_in(4) ? below(8) : 0);
	DEVX_SET(alloc_pd_in, in, op_mod, one_in(2) ? 0 : below(8));
	fuzz_addresses(f, opcode, in);

	switch (opcode) {
	case MLX5_CMD_OP_TEARDOWN_HCA:
	case MLX5_CMD_OP_DISABLE_HCA:
		/* The end of all; but too short they are no more than too short. */
		return size > 16 ? 16 : 0;
	case MLX5_CMD_OP_MANAGE_PAGES:
		/* Neither pages that are nobody's to give nor the driver's own. */
		DEVX_SET(manage_pages_in, in, op_mod, one_in(2) ? 0 : 3 + below(1000));
		break;
	case MLX5_CMD_OP_CREATE_GENERAL_OBJECT:
	case MLX5_CMD_OP_DESTROY_GENERAL_OBJECT:
		if (!one_in(4))
			DEVX_SET(general_obj_in_cmd_hdr, in, obj_type, IFC_VIRTIO_NET_Q);
		break;
	}
	/* Numbers: one that was made here, or one that is nobody's. */
	if (strcmp(f->kind[row], "-") && opcode == f->opcode[row]) {
		uint32_t number = 1 + below(0x1200);

		if (fuzz_taken(f, number))
			number = 0xfffffe;
		if (fuzz_taken(f, be32toh(in[2])) || fuzz_taken(f, be32toh(in[2]) & 0xffffff) ||
		    one_in(2))
			DEVX_SET(dealloc_pd_in, in, pd, number);
	}
	return dwords * 4;
}

/* Was this a state transition, or something else about an object of the driver's? */
static bool fuzz_is_about_driver(const struct fuzz *f, const uint32_t *in)
{
	switch (DEVX_GET(alloc_pd_in, in, opcode)) {
	case MLX5_CMD_OP_RST2INIT_QP:
	case MLX5_CMD_OP_INIT2INIT_QP:
	case MLX5_CMD_OP_INIT2RTR_QP:
	case MLX5_CMD_OP_RTR2RTS_QP:
	case MLX5_CMD_OP_RTS2RTS_QP:
	case MLX5_CMD_OP_SQERR2RTS_QP:
	case MLX5_CMD_OP_2ERR_QP:
	case MLX5_CMD_OP_2RST_QP:
	case MLX5_CMD_OP_MODIFY_CQ:
		return fuzz_taken(f, be32toh(in[2]) & 0xffffff);
	default:
		return false;
	}
}

static char *ledger_text(const struct device *dev)
{
	struct vhca_file file;
	size_t size = 1;
	unsigned int i;
	char *text;

	if (vhca_open(dev, "ledger", &file))
		return NULL;
	for (i = 0; i < file.count; i++)
		size += strlen(file.record[i]) + 1;
	text = calloc(1, size);
	for (i = 0; text && i < file.count; i++) {
		strcat(text, file.record[i]);
		strcat(text, "\n");
	}
	vhca_close(&file);
	return text;
}

static int do_fuzz(struct raw *raw, const struct device *dev, unsigned int seed,
		   unsigned int count)
{
	static uint32_t in[MAX_DW], out[MAX_DW];
	static struct fuzz fuzz;
	unsigned int statuses[256] = {}, errors = 0, i;
	char *before, *after;
	int status;

	fuzz.raw = raw;
	before = ledger_text(dev);
	if (!before || raw_memory(raw, PAGES * PAGE) || fuzz_learn(&fuzz, dev))
		return 1;
	printf("SEED=%u\n", seed);
	fflush(stdout);
	srandom(seed);
	for (i = 0; i < count; i++) {
		size_t len = fuzz_command(&fuzz, in);
		size_t room = one_in(6) ? below(64) * 4 : sizeof(out);

		if (!len || fuzz_is_about_driver(&fuzz, in))
			continue;
		status = raw_send(raw, in, len, out, room);
		if (status < 0) {
			/* Too short for the queue; anything else is the end. */
			if (status != -ENOMSG) {
				printf("command %u: %s\n", i, strerror(-status));
				return 1;
			}
			errors++;
			continue;
		}
		statuses[status]++;
		if (DEVX_GET(alloc_pd_in, in, opcode) == MLX5_CMD_OP_SET_HCA_CAP && !status &&
		    raw_command(raw, fuzz.general, out)) {
			printf("command %u: the capabilities cannot be set again\n", i);
			return 1;
		}
	}
	printf("made=%u errors=%u", raw->count, errors);
	for (i = 0; i < 256; i++)
		if (statuses[i])
			printf(" 0x%x=%u", i, statuses[i]);
	putchar('\n');
	if (!raw->count || statuses[IFC_OK] < count / 20) {
		puts("next to nothing succeeded: this proves nothing");
		return 1;
	}
	if (raw_close(raw)) {
		puts("not all can be given back");
		return 1;
	}
	after = ledger_text(dev);
	if (!after || strcmp(before, after)) {
		printf("the ledger was:\n%sand is:\n%s", before, after ?: "(unreadable)\n");
		return 1;
	}
	return 0;
}

static int run(struct raw *raw, const struct device *dev, int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "send"))
		return do_send(raw, argc - 2, argv + 2);
	if (argc == 3 && !strcmp(argv[1], "unknown"))
		return do_unknown(raw, strtoul(argv[2], NULL, 0));
	if (argc == 2 && !strcmp(argv[1], "leave"))
		return do_leave(raw);
	if (argc == 2 && !strcmp(argv[1], "until-error"))
		return do_until_error(raw);
	if (argc == 4 && !strcmp(argv[1], "fuzz"))
		return do_fuzz(raw, dev, strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
	fprintf(stderr, "usage: raw_command send|unknown|leave|until-error|fuzz ...\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *pci = getenv("RAW_PCI");
	struct device dev = {};
	const char *reason = NULL;
	bool loaded;
	struct raw raw;
	int status = 1;

	if (pci)
		snprintf(dev.pci, sizeof(dev.pci), "%s", pci);
	else
		reason = device_find(&dev);
	if (reason) {
		fprintf(stderr, "%s\n", reason);
		return 4;
	}
	loaded = raw_load();
	reason = raw_open(&raw, &dev);
	if (reason) {
		fprintf(stderr, "%s\n", reason);
		status = 4;
	} else {
		status = run(&raw, &dev, argc, argv);
		if (raw_close(&raw) && !status)
			status = 1;
	}
	if (loaded && raw_unload())
		fprintf(stderr, "mlx5_raw_command stays loaded: %s\n", strerror(errno));
	return status;
}
