// SPDX-License-Identifier: GPL-2.0
/*
 * L13: _mlx5dv_get_export_sizes() writes more than it was given.
 *
 * Symptom: a program that was built with a smaller struct mlx5dv_export_sizes, as the size
 * in the call is there for, has the bytes behind its structure overwritten.
 *
 * Wrong: _mlx5dv_get_export_sizes() in providers/mlx5/verbs.c of rdma-core clears as many
 * bytes as it was given, and then stores all three members.
 *
 * Fix: store a member only if it lies within the size.
 *
 * Needs no device.
 *
 * Build:  gcc -Wall -o l13_export_sizes l13_export_sizes.c -lmlx5 -libverbs
 * Run:    ./l13_export_sizes [DEVICE]
 * Result: one line that begins with "bad:" and exit status 1 if the fault is there,
 *         "good:" and 0 if not, another message and 4 if it cannot be told here.
 */
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <string.h>

#define GIVEN	sizeof(__u32)
#define PATTERN	0xa5

int main(void)
{
	unsigned char buffer[2 * sizeof(struct mlx5dv_export_sizes)]
		__attribute__((aligned(8)));
	size_t used = sizeof(buffer);

	memset(buffer, PATTERN, sizeof(buffer));
	_mlx5dv_get_export_sizes((void *)buffer, GIVEN);
	while (used && buffer[used - 1] == PATTERN)
		used--;
	printf("%s: given %zu bytes, it wrote %zu\n", used > GIVEN ? "bad" : "good", GIVEN, used);
	return used > GIVEN;
}
