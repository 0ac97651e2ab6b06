/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware commands without a driver in between, through mlx5_raw_command.ko.
 *
 * Whatever a program creates in this way is known here until it is destroyed,
 * so that a test that fails does not leave it to the device.
 */
#ifndef _SELFTESTS_RAW_H
#define _SELFTESTS_RAW_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "ifc.h"

struct raw_live;

/**
 * struct raw - a device that takes commands
 * @fd: descriptor of /dev/mlx5_raw_command
 * @domain: PCI domain of its function
 * @bus: its bus
 * @devfn: its device and function
 * @live: what was created and not yet destroyed
 * @count: entries in @live
 * @room: entries that @live has room for
 * @memory: memory that the device reads and writes, NULL while there is none
 * @address: its DMA address
 * @size: bytes of it
 */
struct raw {
	int fd;
	uint32_t domain;
	uint8_t bus;
	uint8_t devfn;
	struct raw_live *live;
	unsigned int count;
	unsigned int room;
	uint8_t *memory;
	uint64_t address;
	size_t size;
};

/**
 * raw_load() - load mlx5_raw_command.ko, if it is not loaded
 *
 * The module keeps mlx5_core from being unloaded, so it should be there no
 * longer than needed.  Its file is the one that MLX5_RAW_COMMAND_KO names, else
 * the one that helper_open() finds.
 *
 * Return: whether it was loaded by this call, and raw_unload() is due.
 */
bool raw_load(void);

/**
 * raw_unload() - unload the module
 *
 * Return: 0 or an errno.
 */
int raw_unload(void);

/**
 * raw_open() - make a device ready for commands
 * @raw: filled in
 * @dev: the device
 *
 * Return: NULL, or why no command can be sent together with the way out, as the
 * text for a SKIP.
 */
const char *raw_open(struct raw *raw, const struct device *dev);

/**
 * raw_close() - destroy what was created, in reverse order, and close
 * @raw: the device
 *
 * Return: 0, or EBUSY if the device refused to destroy something; it is then
 * in the ledger still.
 */
int raw_close(struct raw *raw);

/**
 * raw_abandon() - leave what was created to the device
 * @raw: the device
 */
void raw_abandon(struct raw *raw);

/**
 * raw_memory() - get memory that queues can lie in
 * @raw: the device; once for each
 * @size: bytes of it, a multiple of the page size
 *
 * Return: 0 or an errno.
 */
int raw_memory(struct raw *raw, size_t size);

/**
 * raw_send() - send a command
 * @raw: the device
 * @in: the input
 * @in_len: bytes of it
 * @out: the output; cleared before
 * @out_len: bytes of it
 *
 * Return: the status, of enum ifc_status and more, or a negative errno if the
 * command was not executed.
 */
int raw_send(struct raw *raw, const void *in, size_t in_len, void *out, size_t out_len);

/* For messages that are arrays. */
#define raw_command(raw, in, out) raw_send(raw, in, sizeof(in), out, sizeof(out))

/**
 * raw_once() - send one command, with all that it takes before and behind it
 * @dev: the device
 * @in: the input
 * @in_len: bytes of it
 * @out: the output; cleared before
 * @out_len: bytes of it
 *
 * For what the driver has lost and cannot give back.
 *
 * Return: as raw_send(), or -1 after a diagnostic if no command can be sent.
 */
int raw_once(const struct device *dev, const void *in, size_t in_len, void *out, size_t out_len);

/**
 * raw_create() - ALLOC_PD and other commands that need no more than the opcode
 * @raw: the device
 * @opcode: the opcode
 * @uid: user context, 0 for the kernel
 * @number: set to the number of the new object
 *
 * Return: as raw_send().
 */
int raw_create(struct raw *raw, uint16_t opcode, uint16_t uid, uint32_t *number);

/**
 * raw_name() - DEALLOC_PD and other commands that name an object and no more
 * @raw: the device
 * @opcode: the opcode
 * @uid: user context, 0 for the kernel
 * @number: number of the object
 *
 * Return: as raw_send().
 */
int raw_name(struct raw *raw, uint16_t opcode, uint16_t uid, uint32_t number);

#endif /* _SELFTESTS_RAW_H */
