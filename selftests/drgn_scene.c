// SPDX-License-Identifier: GPL-2.0
/*
 * User objects in every state that can be held, for drgn_check.py to look at.
 *
 * A line on the standard input names the next state, in the order of the table
 * below; "ready" is printed when it is there, and nothing moves until the next
 * line.  "skip REASON" is printed where nothing can be held, "failed WHAT" where
 * something should be and is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/userfaultfd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "common/device.h"
#include "common/dm_ops.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

#define DM_SIZE	8192
/* Room for what two blocked commands write, a page each. */
#define TRAPS	2

static struct device device;
/* Exports and maps; imports from the first; its file is held by a mapping alone. */
static struct ibv_context *ctx, *importer, *mapper;
static struct ibv_pd *pd, *importer_pd;
static struct ibv_mr *import, *import_of_freed;
static struct ibv_dm *dm;
static int dmabuf, dmabuf_copy, dmabuf_of_freed, dmabuf_of_var, async;
static pid_t child;

static pthread_t blocked[TRAPS];
static int userfault;
static char *trap;
static size_t page_size;

static void stop(const char *what)
{
	printf("failed %s: %s\n", what, strerror(errno));
	exit(1);
}

/* For what gives 0 or an errno. */
static void must(int err, const char *what)
{
	if (!err)
		return;
	errno = err;
	stop(what);
}

static void must_have(const void *what, const char *name)
{
	if (!what)
		stop(name);
}

/* A file without a ucontext, and one with nothing but that. */
static void open_files(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	char path[96];
	int i;

	must_have(list, "ibv_get_device_list");
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), device.name); i++)
		;
	must_have(list[i], device.name);
	snprintf(path, sizeof(path), "/dev/infiniband/%s", list[i]->dev_name);
	ibv_free_device_list(list);
	if (open(path, O_RDWR | O_CLOEXEC) < 0)
		stop(path);
	ctx = device_open(&device);
	must_have(ctx, "ctx");
}

static void make_vars(void)
{
	struct raw_var freed, shared, exported, tlp;
	uint32_t *map;

	/* Mapped twice, and not at all. */
	must(_raw_var_alloc(ctx->cmd_fd, 0, 0, &shared), "VAR");
	must(_map(ctx, shared.length, MAP_SHARED, shared.mmap_off, &map), "mmap of a VAR");
	must(_map(ctx, shared.length, MAP_SHARED, shared.mmap_off, &map), "mmap of a VAR");
	must(_raw_var_alloc(ctx->cmd_fd, 0, 0, &exported), "VAR to export");
	must(_raw_dmabuf_export(ctx->cmd_fd, exported.mmap_off, &dmabuf_of_var), "export of a VAR");
	/* Only its mapping is left of it. */
	must(_raw_var_alloc(ctx->cmd_fd, 0, 0, &freed), "VAR to free");
	must(_map(ctx, freed.length, MAP_SHARED, freed.mmap_off, &map), "mmap of a VAR");
	must(_raw_var_free(ctx->cmd_fd, freed.handle), "VAR's end");
	must(_raw_var_alloc(ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP, 0, &tlp), "TLP VAR");
}

static void make_device_memory(void)
{
	struct ibv_dm *freed;
	struct ibv_mr *mr;
	void *op;
	int n;

	must(_dm_alloc(ctx, DM_SIZE, &dm), "DM");
	for (n = 0; n < 2; n++)
		must(_dm_map_op(dm, n, &op), "operation on a DM");
	must(_mr_reg_dm(pd, dm, 0, DM_SIZE, &mr), "MR on a DM");
	must(_mr_reg_dm(pd, dm, 4096, 4096, &mr), "MR on a DM");
	must(_dmabuf_export(dm, &dmabuf), "export of a DM");
	dmabuf_copy = fcntl(dmabuf, F_DUPFD_CLOEXEC, 0);
	if (dmabuf_copy < 0)
		stop("dup");
	must(_mr_reg_dmabuf(importer_pd, 4096, DM_SIZE - 4096, dmabuf, &import), "import");

	/* The memory is gone, its dma-buf and who imports that are not. */
	must(_dm_alloc(ctx, 4096, &freed), "DM to free");
	must(_dmabuf_export(freed, &dmabuf_of_freed), "export of a DM");
	must(_mr_reg_dmabuf(importer_pd, 0, 4096, dmabuf_of_freed, &import_of_freed), "import");
	must(ibv_free_dm(freed), "DM's end");
}

static void make_objects(void)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct raw_var var;
	uint32_t *map;

	importer = device_open(&device);
	must_have(importer, "importer");
	mapper = device_open(&device);
	must_have(mapper, "mapper");
	pd = ibv_alloc_pd(ctx);
	must_have(pd, "PD");
	importer_pd = ibv_alloc_pd(importer);
	must_have(importer_pd, "PD");
	must_have(ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE), "MR");
	must_have(ibv_create_cq(ctx, 100, NULL, NULL, 0), "CQ");
	make_vars();
	make_device_memory();
	must(_raw_var_alloc(mapper->cmd_fd, 0, 0, &var), "VAR");
	must(_map(mapper, var.length, MAP_SHARED, var.mmap_off, &map), "mmap of a VAR");

	/* A second address space with all of the mappings, and a second table of files. */
	child = fork();
	if (child < 0)
		stop("fork");
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

/* A command that cannot write its answer has its object locked for reading. */
static void *lock_dm(void *where)
{
	const uint16_t start = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET;
	const uint16_t index = MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX;
	uint64_t start_offset;
	uint8_t op = 0;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, dm->handle),
		uverbs_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
		uverbs_out(start, &start_offset, sizeof(start_offset)),
		uverbs_out(index, where, sizeof(uint16_t)),
	};

	return (void *)(long)uverbs_ioctl(ctx->cmd_fd, UVERBS_OBJECT_DM,
					  MLX5_IB_METHOD_DM_MAP_OP_ADDR, attr, 4);
}

/* One that makes an object has taken its handle. */
static void *make_var(void *where)
{
	uint64_t offset;
	uint32_t length;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, 0),
		uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset)),
		uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length)),
		uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, where, sizeof(uint32_t)),
	};

	return (void *)(long)uverbs_ioctl(ctx->cmd_fd, MLX5_IB_OBJECT_VAR,
					  MLX5_IB_METHOD_VAR_OBJ_ALLOC, attr, 4);
}

/* Until both wait for a page that nobody gives them. */
static void block_commands(void)
{
	void *(*const commands[TRAPS])(void *) = { lock_dm, make_var };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffd_msg msg;
	int i;

	userfault = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (userfault < 0)
		stop("userfaultfd");
	if (ioctl(userfault, UFFDIO_API, &api))
		stop("UFFDIO_API");
	trap = mmap(NULL, TRAPS * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (trap == MAP_FAILED)
		stop("mmap");
	range.range.start = (uintptr_t)trap;
	range.range.len = TRAPS * page_size;
	if (ioctl(userfault, UFFDIO_REGISTER, &range))
		stop("UFFDIO_REGISTER");
	for (i = 0; i < TRAPS; i++) {
		must(pthread_create(&blocked[i], NULL, commands[i], trap + i * page_size),
		     "pthread_create");
		if (read(userfault, &msg, sizeof(msg)) != sizeof(msg) ||
		    msg.event != UFFD_EVENT_PAGEFAULT)
			stop("a command that waits");
	}
}

static void release_commands(void)
{
	struct uffdio_zeropage zero = {};
	void *err;
	int i;

	zero.range.start = (uintptr_t)trap;
	zero.range.len = TRAPS * page_size;
	if (ioctl(userfault, UFFDIO_ZEROPAGE, &zero))
		stop("UFFDIO_ZEROPAGE");
	for (i = 0; i < TRAPS; i++) {
		must(pthread_join(blocked[i], &err), "pthread_join");
		must((long)err, i ? "VAR" : "operation on a DM");
	}
	close(userfault);
}

/* Files that are closed, and held by an event file, or by a mapping, all the same. */
static void close_files(void)
{
	release_commands();
	kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) != child)
		stop("waitpid");
	async = fcntl(importer->async_fd, F_DUPFD_CLOEXEC, 0);
	if (async < 0)
		stop("dup");
	must(ibv_dereg_mr(import_of_freed), "import's end");
	must(ibv_dereg_mr(import), "import's end");
	must(ibv_close_device(importer), "ibv_close_device");
	must(ibv_close_device(mapper), "ibv_close_device");
}

static void write_address(const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/mlx5_core/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, device.pci, strlen(device.pci)) < 0)
		stop(path);
	close(fd);
}

/*
 * The device goes under what is left.  The dma-bufs are closed before: there are
 * kernels that leak a file which ends before its dma-bufs do.
 */
static void unbind(void)
{
	close(dmabuf);
	close(dmabuf_copy);
	close(dmabuf_of_freed);
	close(dmabuf_of_var);
	write_address("unbind");
}

static void bind_again(void)
{
	struct ibv_context *again = NULL;
	int tries;

	write_address("bind");
	for (tries = 0; !again && tries < 200; tries++) {
		again = device_open(&device);
		if (!again)
			usleep(50000);
	}
	must_have(again, "the device again");
	must(ibv_close_device(again), "ibv_close_device");
}

static const struct {
	const char *name;
	void (*make)(void);
} states[] = {
	{ "opened", open_files },
	{ "made", make_objects },
	{ "blocked", block_commands },
	{ "closed", close_files },
	{ "unbound", unbind },
	{ "bound", bind_again },
	{ }
};

int main(void)
{
	const char *missing = device_find(&device);
	char line[64];
	size_t i = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	page_size = sysconf(_SC_PAGESIZE);
	if (missing) {
		printf("skip %s\n", missing);
		return 0;
	}
	must(device_warm_up(&device), "warm-up");
	while (states[i].name && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		errno = EINVAL;
		if (strcmp(line, states[i].name))
			stop(line);
		states[i++].make();
		puts("ready");
	}
	/* The rest goes with the process. */
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
