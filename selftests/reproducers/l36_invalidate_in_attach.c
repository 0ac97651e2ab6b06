// SPDX-License-Identifier: GPL-2.0
/*
 * L36: an invalidation before its attach has returned dereferences a null pointer.
 *
 * Symptom: device memory is freed by one thread while another registers a dma-buf of it.
 * Now and then a kernel with CONFIG_LOCKDEP oopses in mlx5_ib_dmabuf_invalidate_cb(), and
 * the memory's uobject stays locked.  Others have nothing to evaluate there.
 *
 * Wrong: ib_umem_dmabuf_get_with_dma_device() of drivers/infiniband/core/umem_dmabuf.c
 * stores what dma_buf_dynamic_attach() returns, but from the moment in which that has the
 * attachment in the list, the exporter can call it back.  mlx5_ib_dmabuf_invalidate_cb() of
 * drivers/infiniband/hw/mlx5/mr.c has dma_resv_assert_held() look at umem_dmabuf->attach.
 *
 * Fix: look at the attachment that the callback was given.
 *
 * Takes some seconds, and leaves a kernel with the fault to be rebooted.
 *
 * Build:  gcc -Wall -pthread -o l36_invalidate_in_attach l36_invalidate_in_attach.c -lmlx5 \
 *		-libverbs
 * Run:    ./l36_invalidate_in_attach [DEVICE]
 * Result: none if the fault is there and has shown; else one line that begins with "good:"
 *         and exit status 0, or another message and 4 if it cannot be told here.
 */
#include <err.h>
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CANNOT_TELL	4
#define SECONDS		20
#define LENGTH		8192

/* The first mlx5 device, or the one of that name. */
static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (; list && *list; list++)
		if (mlx5dv_is_supported(*list) &&
		    (!name || !strcmp(name, ibv_get_device_name(*list))))
			return ibv_open_device(*list);
	errno = ENODEV;
	return NULL;
}

struct registrar {
	struct ibv_pd *pd;
	int fd;
	int err;
};

/* Until the memory is gone. */
static void *register_again(void *arg)
{
	struct registrar *r = arg;
	struct ibv_mr *mr;

	while ((mr = ibv_reg_dmabuf_mr(r->pd, 0, LENGTH, 0, r->fd, IBV_ACCESS_LOCAL_WRITE)))
		ibv_dereg_mr(mr);
	r->err = errno;
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_alloc_dm_attr attr = { .length = LENGTH };
	struct ibv_context *ctx = open_device(argc > 1 ? argv[1] : NULL);
	const time_t end = time(NULL) + SECONDS;
	struct registrar r[2];
	pthread_t thread[2];
	struct ibv_dm *dm;
	int fd, i, rounds;

	if (!ctx)
		err(CANNOT_TELL, "no mlx5 device");
	for (rounds = 0; time(NULL) < end; rounds++) {
		dm = ibv_alloc_dm(ctx, &attr);
		fd = dm ? ibv_dm_export_dmabuf_fd(dm) : -1;
		if (fd < 0)
			err(CANNOT_TELL, "no dma-buf of device memory");
		for (i = 0; i < 2; i++) {
			r[i] = (struct registrar){ .pd = ibv_alloc_pd(ctx), .fd = fd };
			if (!r[i].pd || pthread_create(&thread[i], NULL, register_again, &r[i]))
				err(CANNOT_TELL, "no thread that registers");
		}
		usleep(random() % 2000);
		if (ibv_free_dm(dm))
			err(CANNOT_TELL, "device memory is not freed");
		for (i = 0; i < 2; i++) {
			pthread_join(thread[i], NULL);
			if (r[i].err != ENODEV)
				errx(CANNOT_TELL, "registration: %s", strerror(r[i].err));
			ibv_dealloc_pd(r[i].pd);
		}
		close(fd);
	}
	printf("good: %d times, and nobody has come to harm\n", rounds);
	return 0;
}
