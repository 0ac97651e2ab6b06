// SPDX-License-Identifier: GPL-2.0
/*
 * How fast the device writes: data_rate QUEUE_PAIRS BYTES MILLISECONDS
 *
 * Each queue pair is connected to itself and writes so many bytes again and
 * again.  Printed are messages a second, and bytes a second as a ratio to those
 * that memcpy() moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/connection.h"
#include "common/device.h"

#define MAX_QUEUE_PAIRS	1024
#define DEPTH		2

static struct end end[MAX_QUEUE_PAIRS];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int give_up(const char *what)
{
	fprintf(stderr, "data_rate: %s failed\n", what);
	return 1;
}

static double copies(const struct region *from, struct region *to, double seconds)
{
	double begin = now(), spent;
	unsigned long count = 0;

	do {
		memcpy(to->data, from->data, from->len);
		/* The copy is wanted, though nobody looks at it. */
		__asm__ volatile("" : : "r"(to->data) : "memory");
		count++;
		spent = now() - begin;
	} while (spent < seconds);
	return count / spent;
}

/* Writes a second, or a negative number if one fails. */
static double writes(int pairs, const struct region *from, const struct region *to,
		     double seconds)
{
	const struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, to);
	double begin = now(), spent;
	unsigned long count = 0;
	struct ibv_wc wc;
	int i, n;

	for (i = 0; i < pairs * DEPTH; i++)
		if (_post(&end[i % pairs], &wr, from))
			return -1;
	do {
		for (i = 0; i < pairs; i++) {
			while ((n = ibv_poll_cq(end[i].cq, 1, &wc))) {
				if (n < 0 || wc.status || _post(&end[i], &wr, from))
					return -1;
				count++;
			}
		}
		spent = now() - begin;
	} while (spent < seconds);
	return count / spent;
}

int main(int argc, char **argv)
{
	struct connection_options options = connection_defaults;
	double seconds, copy_rate, write_rate;
	struct ibv_context *context;
	struct region from, to;
	struct device dev;
	const char *reason;
	struct ibv_pd *pd;
	size_t bytes;
	int pairs, i;

	if (argc != 4) {
		fprintf(stderr, "usage: data_rate QUEUE_PAIRS BYTES MILLISECONDS\n");
		return 2;
	}
	pairs = atoi(argv[1]);
	bytes = strtoul(argv[2], NULL, 0);
	seconds = atoi(argv[3]) / 1e3;
	if (pairs < 1 || pairs > MAX_QUEUE_PAIRS || !bytes || seconds <= 0) {
		fprintf(stderr, "data_rate: expected 1 to %d queue pairs, bytes, milliseconds\n",
			MAX_QUEUE_PAIRS);
		return 2;
	}
	reason = device_find(&dev);
	if (reason) {
		fprintf(stderr, "data_rate: %s\n", reason);
		return 4;
	}
	context = device_open(&dev);
	pd = context ? ibv_alloc_pd(context) : NULL;
	if (!pd || _region_make(pd, bytes, 0, 0, &from) ||
	    _region_make(pd, bytes, 0, CONNECTION_ALL_ACCESS, &to))
		return give_up("registering memory");
	for (i = 0; i < pairs; i++)
		if (_end_make(pd, &options, &end[i]) || _end_connect(&end[i], &end[i], &options))
			return give_up("connecting a queue pair");
	copy_rate = copies(&from, &to, seconds);
	write_rate = writes(pairs, &from, &to, seconds);
	if (write_rate < 0)
		return give_up("writing");
	printf("queue_pairs=%d bytes=%zu messages_per_s=%.0f ", pairs, bytes, write_rate);
	printf("MB_per_s=%.1f memcpy_MB_per_s=%.1f ratio=%.4f\n", write_rate * bytes / 1e6,
	       copy_rate * bytes / 1e6, write_rate / copy_rate);
	return 0;
}
