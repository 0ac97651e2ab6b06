/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program may ask of /dev/mlx5_raw_command.
 */
#ifndef MLX5_RAW_COMMAND_H
#define MLX5_RAW_COMMAND_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define MLX5_RAW_COMMAND_MAX		0x10000	/* bytes, either way */
#define MLX5_RAW_COMMAND_MAX_MEMORY	0x40000	/* bytes */

/**
 * struct mlx5_raw_function - a PCI function with mlx5_core bound to it
 * @domain: PCI domain
 * @bus: bus number
 * @devfn: device and function, as PCI_DEVFN() puts them together
 * @reserved: 0
 */
struct mlx5_raw_function {
	__u32	domain;
	__u8	bus;
	__u8	devfn;
	__u16	reserved;
};

/**
 * struct mlx5_raw_command - a command and where its answer goes
 * @function: who executes it
 * @in_len: bytes of the input, which are given to the device as they are
 * @out_len: bytes of the output
 * @in: address of the input
 * @out: address of the output; a refusal's status and syndrome are in it
 */
struct mlx5_raw_command {
	struct mlx5_raw_function	function;
	__u32				in_len;
	__u32				out_len;
	__aligned_u64			in;
	__aligned_u64			out;
};

/**
 * struct mlx5_raw_memory - memory that the device reads and writes
 * @function: whose it is
 * @size: bytes wanted, a multiple of the page size
 * @reserved: 0
 * @address: set to the DMA address; the memory is mapped with mmap(), from 0
 */
struct mlx5_raw_memory {
	struct mlx5_raw_function	function;
	__u32				size;
	__u32				reserved;
	__aligned_u64			address;
};

/*
 * EXECUTE: the device has answered, with whatever status, or an error of the
 * driver: ENODEV if there is no such function or no driver on it, ENXIO if the
 * driver is in its error state, ENOMSG and others for what the command queue
 * did not take.
 * MEMORY: once for each open file.
 * RETURN: no object of the device is on the memory any more.  Without it the
 * memory is kept for ever when the file is closed.
 */
#define MLX5_RAW_COMMAND_EXECUTE	_IOWR('m', 0xa0, struct mlx5_raw_command)
#define MLX5_RAW_COMMAND_MEMORY		_IOWR('m', 0xa1, struct mlx5_raw_memory)
#define MLX5_RAW_COMMAND_RETURN		_IO('m', 0xa2)

#endif /* MLX5_RAW_COMMAND_H */
