// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../modules/mlx5_raw_command.h"
#include "helper_module.h"
#include "raw.h"
#include "text.h"

#define RAW_NAME	"mlx5_raw_command"
#define RAW_DEVICE	"/dev/" RAW_NAME
#define RAW_FILE	RAW_NAME ".ko"

/* The longest input and output of the commands that are sent from here. */
#define RAW_MAX_DESTROY	64
#define RAW_MAX_CREATE	1024

/**
 * struct raw_live - something that lives
 * @in: input of the command that ends it
 * @name: the bits of @in that name it: any command with these ends it
 * @len: bytes of both
 */
struct raw_live {
	uint32_t in[RAW_MAX_DESTROY / sizeof(uint32_t)];
	uint32_t name[RAW_MAX_DESTROY / sizeof(uint32_t)];
	size_t len;
};

bool raw_load(void)
{
	const char *named = getenv("MLX5_RAW_COMMAND_KO");
	bool done;
	int fd;

	if (!access(RAW_DEVICE, F_OK))
		return false;
	fd = named ? open(named, O_RDONLY | O_CLOEXEC) : helper_open(RAW_NAME);
	if (fd < 0)
		return false;
	done = !syscall(SYS_finit_module, fd, "", 0);
	if (!done && errno != EEXIST)
		diag(RAW_FILE " does not load: %s", strerror(errno));
	close(fd);
	return done;
}

int raw_unload(void)
{
	return syscall(SYS_delete_module, RAW_NAME, O_NONBLOCK) ? errno : 0;
}

const char *raw_open(struct raw *raw, const struct device *dev)
{
	unsigned int domain, bus, slot, function;

	memset(raw, 0, sizeof(*raw));
	raw->fd = -1;
	if (sscanf(dev->pci, "%x:%x:%x.%u", &domain, &bus, &slot, &function) != 4)
		return "the device is no PCI function";
	raw->domain = domain;
	raw->bus = bus;
	raw->devfn = slot << 3 | function;
	raw->fd = open(RAW_DEVICE, O_RDWR | O_CLOEXEC);
	if (raw->fd < 0)
		return "no " RAW_DEVICE ": set MLX5_RAW_COMMAND_KO to " RAW_FILE;
	return NULL;
}

static struct mlx5_raw_function raw_function(const struct raw *raw)
{
	return (struct mlx5_raw_function) {
		.domain = raw->domain, .bus = raw->bus, .devfn = raw->devfn,
	};
}

int raw_memory(struct raw *raw, size_t size)
{
	struct mlx5_raw_memory memory = { .function = raw_function(raw), .size = size };
	void *map;

	if (ioctl(raw->fd, MLX5_RAW_COMMAND_MEMORY, &memory))
		return errno;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, raw->fd, 0);
	if (map == MAP_FAILED)
		return errno;
	raw->memory = map;
	raw->address = memory.address;
	raw->size = size;
	memset(map, 0, size);
	return 0;
}

/* Commands that create something numbered, and the one that ends it. */
static const struct raw_pair {
	uint16_t create;
	uint16_t destroy;
} raw_pairs[] = {
	{ MLX5_CMD_OP_CREATE_MKEY,	MLX5_CMD_OP_DESTROY_MKEY },
	{ MLX5_CMD_OP_CREATE_EQ,	MLX5_CMD_OP_DESTROY_EQ },
	{ MLX5_CMD_OP_CREATE_CQ,	MLX5_CMD_OP_DESTROY_CQ },
	{ MLX5_CMD_OP_CREATE_QP,	MLX5_CMD_OP_DESTROY_QP },
	{ MLX5_CMD_OP_CREATE_SQ,	MLX5_CMD_OP_DESTROY_SQ },
	{ MLX5_CMD_OP_CREATE_DCT,	MLX5_CMD_OP_DESTROY_DCT },
	{ MLX5_CMD_OP_ALLOC_FLOW_COUNTER, MLX5_CMD_OP_DEALLOC_FLOW_COUNTER },
	{ MLX5_CMD_OP_CREATE_XRC_SRQ,	MLX5_CMD_OP_DESTROY_XRC_SRQ },
	{ MLX5_CMD_OP_CREATE_RMP,	MLX5_CMD_OP_DESTROY_RMP },
	{ MLX5_CMD_OP_ALLOC_PD,		MLX5_CMD_OP_DEALLOC_PD },
	{ MLX5_CMD_OP_ALLOC_UAR,	MLX5_CMD_OP_DEALLOC_UAR },
	{ MLX5_CMD_OP_ALLOC_XRCD,	MLX5_CMD_OP_DEALLOC_XRCD },
	{ MLX5_CMD_OP_CREATE_UCTX,	MLX5_CMD_OP_DESTROY_UCTX },
	{ MLX5_CMD_OP_CREATE_UMEM,	MLX5_CMD_OP_DESTROY_UMEM },
};

static const struct raw_pair *raw_pair(uint16_t create)
{
	size_t i;

	for (i = 0; i < sizeof(raw_pairs) / sizeof(*raw_pairs); i++)
		if (raw_pairs[i].create == create)
			return &raw_pairs[i];
	return NULL;
}

/* Fill @live with what ends the thing that the command has made, if it has made one. */
static bool raw_opposite(const void *in, const void *out, struct raw_live *live)
{
	uint16_t opcode = DEVX_GET(alloc_pd_in, in, opcode);
	uint16_t uid = DEVX_GET(alloc_pd_in, in, uid);
	const struct raw_pair *pair = raw_pair(opcode);

	memset(live, 0, sizeof(*live));
	DEVX_SET(alloc_pd_in, live->name, opcode, ~0);
	if (pair) {
		live->len = DEVX_ST_SZ_BYTES(dealloc_pd_in);
		DEVX_SET(dealloc_pd_in, live->in, opcode, pair->destroy);
		DEVX_SET(dealloc_pd_in, live->in, uid, uid);
		DEVX_SET(dealloc_pd_in, live->in, pd, DEVX_GET(alloc_pd_out, out, pd));
		DEVX_SET(dealloc_pd_in, live->name, pd, ~0);
		return true;
	}
	switch (opcode) {
	case MLX5_CMD_OP_CREATE_GENERAL_OBJECT:
		live->len = DEVX_ST_SZ_BYTES(general_obj_in_cmd_hdr);
		DEVX_SET(general_obj_in_cmd_hdr, live->in, opcode,
			 MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
		DEVX_SET(general_obj_in_cmd_hdr, live->in, uid, uid);
		DEVX_SET(general_obj_in_cmd_hdr, live->in, obj_type,
			 DEVX_GET(general_obj_in_cmd_hdr, in, obj_type));
		DEVX_SET(general_obj_in_cmd_hdr, live->in, obj_id,
			 DEVX_GET(general_obj_out_cmd_hdr, out, obj_id));
		DEVX_SET(general_obj_in_cmd_hdr, live->name, obj_id, ~0);
		return true;
	case MLX5_CMD_OP_ALLOC_MEMIC:
		live->len = DEVX_ST_SZ_BYTES(dealloc_memic_in);
		DEVX_SET(dealloc_memic_in, live->in, opcode, MLX5_CMD_OP_DEALLOC_MEMIC);
		DEVX_SET64(dealloc_memic_in, live->in, memic_start_addr,
			   DEVX_GET64(alloc_memic_out, out, memic_start_addr));
		DEVX_SET64(dealloc_memic_in, live->name, memic_start_addr, ~0ull);
		DEVX_SET(dealloc_memic_in, live->in, memic_size,
			 DEVX_GET(alloc_memic_in, in, memic_size));
		return true;
	case MLX5_CMD_OP_MODIFY_MEMIC:
		if (DEVX_GET(modify_memic_in, in, op_mod) != MLX5_MODIFY_MEMIC_OP_MOD_ALLOC)
			return false;
		live->len = DEVX_ST_SZ_BYTES(modify_memic_in);
		memcpy(live->in, in, live->len);
		DEVX_SET(modify_memic_in, live->in, op_mod, MLX5_MODIFY_MEMIC_OP_MOD_DEALLOC);
		DEVX_SET(modify_memic_in, live->name, op_mod, ~0);
		DEVX_SET(modify_memic_in, live->name, memic_operation_type, ~0);
		DEVX_SET64(modify_memic_in, live->name, memic_start_addr, ~0ull);
		return true;
	default:
		return false;
	}
}

static int raw_remember(struct raw *raw, const void *in, const void *out)
{
	struct raw_live live, *more;

	if (!raw_opposite(in, out, &live))
		return 0;
	if (raw->count == raw->room) {
		more = realloc(raw->live, (raw->room + 64) * sizeof(*more));
		if (!more)
			return ENOMEM;
		raw->live = more;
		raw->room += 64;
	}
	raw->live[raw->count++] = live;
	return 0;
}

static bool raw_names(const uint32_t *in, const struct raw_live *live)
{
	size_t i;

	for (i = 0; i < live->len / sizeof(*in); i++)
		if ((in[i] ^ live->in[i]) & live->name[i])
			return false;
	return true;
}

/* The command was executed; if it ended something that was made here, that is gone. */
static void raw_forget(struct raw *raw, const void *in, size_t in_len)
{
	unsigned int i;

	for (i = raw->count; i-- > 0;) {
		if (in_len < raw->live[i].len || !raw_names(in, &raw->live[i]))
			continue;
		raw->count--;
		memmove(&raw->live[i], &raw->live[i + 1],
			(raw->count - i) * sizeof(*raw->live));
		return;
	}
}

int raw_send(struct raw *raw, const void *in, size_t in_len, void *out, size_t out_len)
{
	struct mlx5_raw_command command = {
		.function = raw_function(raw),
		.in_len = in_len,
		.out_len = out_len,
		.in = (uintptr_t)in,
		.out = (uintptr_t)out,
	};
	int status;

	memset(out, 0, out_len);
	if (ioctl(raw->fd, MLX5_RAW_COMMAND_EXECUTE, &command))
		return -errno;
	status = DEVX_GET(alloc_pd_out, out, status);
	if (status == IFC_OK && in_len >= DEVX_ST_SZ_BYTES(alloc_pd_in)) {
		raw_forget(raw, in, in_len);
		if (raw_remember(raw, in, out))
			return -ENOMEM;
	}
	return status;
}

int raw_create(struct raw *raw, uint16_t opcode, uint16_t uid, uint32_t *number)
{
	uint32_t in[RAW_MAX_CREATE / sizeof(uint32_t)] = {};
	uint32_t out[DEVX_ST_SZ_DW(alloc_pd_out)];
	size_t len = DEVX_ST_SZ_BYTES(alloc_pd_in);
	int status;

	switch (opcode) {
	case MLX5_CMD_OP_CREATE_XRC_SRQ:
		len = DEVX_ST_SZ_BYTES(create_xrc_srq_in);
		break;
	case MLX5_CMD_OP_CREATE_RMP:
		len = DEVX_ST_SZ_BYTES(create_rmp_in);
		break;
	case MLX5_CMD_OP_ALLOC_FLOW_COUNTER:
		len = DEVX_ST_SZ_BYTES(alloc_flow_counter_in);
		break;
	case MLX5_CMD_OP_CREATE_UCTX:
		len = DEVX_ST_SZ_BYTES(create_uctx_in);
		break;
	case MLX5_CMD_OP_CREATE_UMEM:
		len = DEVX_ST_SZ_BYTES(create_umem_in);
		break;
	case MLX5_CMD_OP_CREATE_MKEY:
		len = DEVX_ST_SZ_BYTES(create_mkey_in);
		break;
	}
	DEVX_SET(alloc_pd_in, in, opcode, opcode);
	DEVX_SET(alloc_pd_in, in, uid, uid);
	status = raw_send(raw, in, len, out, sizeof(out));
	*number = DEVX_GET(alloc_pd_out, out, pd);
	return status;
}

int raw_name(struct raw *raw, uint16_t opcode, uint16_t uid, uint32_t number)
{
	uint32_t in[DEVX_ST_SZ_DW(dealloc_pd_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(dealloc_pd_out)];

	DEVX_SET(dealloc_pd_in, in, opcode, opcode);
	DEVX_SET(dealloc_pd_in, in, uid, uid);
	DEVX_SET(dealloc_pd_in, in, pd, number);
	return raw_command(raw, in, out);
}

void raw_abandon(struct raw *raw)
{
	raw->count = 0;
}

/*
 * Youngest first, as what uses an object is younger.  A key can be older than the
 * number of its PD, so those that were refused are tried again.
 */
static unsigned int raw_destroy(struct raw *raw)
{
	uint32_t out[RAW_MAX_DESTROY / sizeof(uint32_t)];
	unsigned int before, i;

	do {
		before = raw->count;
		for (i = raw->count; i-- > 0;) {
			struct raw_live live = raw->live[i];

			raw_send(raw, live.in, live.len, out, sizeof(out));
		}
	} while (raw->count && raw->count < before);
	for (i = 0; i < raw->count; i++)
		diag("is left: what command 0x%x destroys, 0x%x",
		     DEVX_GET(dealloc_pd_in, raw->live[i].in, opcode),
		     DEVX_GET(dealloc_pd_in, raw->live[i].in, pd));
	return raw->count;
}

int raw_close(struct raw *raw)
{
	unsigned int left = raw->count ? raw_destroy(raw) : 0;

	free(raw->live);
	raw->live = NULL;
	raw->count = 0;
	raw->room = 0;
	if (raw->memory) {
		munmap(raw->memory, raw->size);
		raw->memory = NULL;
		if (!left && ioctl(raw->fd, MLX5_RAW_COMMAND_RETURN))
			diag("the memory is not given back: %s", strerror(errno));
	}
	if (raw->fd >= 0)
		close(raw->fd);
	raw->fd = -1;
	return left ? EBUSY : 0;
}

int raw_once(const struct device *dev, const void *in, size_t in_len, void *out, size_t out_len)
{
	const bool loaded = raw_load();
	const char *missing;
	struct raw raw;
	int status;

	missing = raw_open(&raw, dev);
	if (missing) {
		diag("a command is not sent: %s", missing);
		return -1;
	}
	status = raw_send(&raw, in, in_len, out, out_len);
	raw_close(&raw);
	if (loaded)
		raw_unload();
	return status;
}
