/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the virtual HCA says: the files of mlx5_vhca below debugfs.
 *
 * This is the witness on the far side of the driver.  It knows what firmware
 * was told to allocate and free, in which order, and what the memory behind
 * the BAR contains; it knows nothing of uobjects.
 */
#ifndef _SELFTESTS_VHCA_H
#define _SELFTESTS_VHCA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;

/* Opcodes of struct mlx5_ifc_cmd_hdr that the tests look for. */
enum vhca_opcode {
	VHCA_CREATE_MKEY	= 0x200,
	VHCA_DESTROY_MKEY	= 0x202,
	VHCA_ALLOC_MEMIC	= 0x205,
	VHCA_DEALLOC_MEMIC	= 0x206,
	VHCA_MODIFY_MEMIC	= 0x207,
	VHCA_DESTROY_QP		= 0x501,
	VHCA_2RST_QP		= 0x50a,
	VHCA_QUERY_QP		= 0x50b,
	VHCA_ALLOC_PD		= 0x800,
	VHCA_DEALLOC_PD		= 0x801,
	VHCA_DEALLOC_UAR	= 0x803,
	VHCA_CREATE_GENERAL	= 0xa00,
	VHCA_DESTROY_GENERAL	= 0xa03,
};

/* op_mod of MODIFY_MEMIC. */
#define VHCA_MEMIC_OPERATION_ALLOC	0
#define VHCA_MEMIC_OPERATION_DEALLOC	1

/**
 * struct vhca_region - memory of the device behind the BAR
 * @offset: where it begins in BAR0, in bytes
 * @size: bytes of it
 * @count: pages that it is divided into
 * @stride: bytes from one page to the next
 */
struct vhca_region {
	uint64_t offset;
	uint64_t size;
	unsigned int count;
	unsigned int stride;
};

/**
 * struct vhca_info - the layout that the device advertises to the driver
 * @bar: address of BAR0 on the bus
 * @var: doorbell pages of VAR objects
 * @tlp_var: doorbell pages of TLP VAR objects, count 0 where there are none
 * @memic: device memory of DM objects
 * @memic_max_alloc: largest single piece of it, in bytes
 * @memic_operations: mask of the operations that a DM can be mapped with
 */
struct vhca_info {
	uint64_t bar;
	struct vhca_region var;
	struct vhca_region tlp_var;
	struct vhca_region memic;
	uint64_t memic_max_alloc;
	uint64_t memic_operations;
};

/**
 * struct vhca_file - one text file of the device, checked to be whole
 * @text: buffer that all other pointers point into
 * @header: the first line
 * @record: the lines between the first and the last one
 * @count: number of them
 */
struct vhca_file {
	char *text;
	char *header;
	char **record;
	unsigned int count;
};

/**
 * struct vhca_object - a live object in the device's ledger
 * @kind: what it is ("memic", "mkey", ...)
 * @id: its number; for kind memic its offset in BAR0
 * @size: bytes of it, where it has a size
 * @sw_icm_addr: where SW ICM is in the device
 * @memic: the memic that an operation belongs to
 * @operation: which operation
 * @pd: protection domain of an mkey
 * @mode: how an mkey translates ("mtt", "memic", ...)
 * @free: the mkey translates nothing (it waits in a pool of the driver)
 * @start: address that an mkey begins at; for mode memic an offset in BAR0
 * @translations: entries of an mkey of mode mtt that lead anywhere, of whatever
 *		  page size; -1 if the device does not say
 * @leads_to: address on the bus of the first of these entries, 0 without one
 * @groups: multicast groups that a QP is in
 * @born_seq: number of the command that created it
 */
struct vhca_object {
	char kind[32];
	char mode[16];
	uint64_t id;
	uint64_t size;
	uint64_t sw_icm_addr;
	uint64_t memic;
	uint64_t operation;
	uint64_t pd;
	uint64_t free;
	uint64_t start;
	int64_t translations;
	uint64_t leads_to;
	uint64_t groups;
	uint64_t born_seq;
};

/**
 * struct vhca_command - a command that the device executed
 * @seq: its number
 * @opcode: of enum vhca_opcode, and many more
 * @op_mod: its modifier
 * @object: number that a create returned or that any other command named
 * @status: 0 if it was done
 * @took_ns: from the moment it was taken to the answer
 */
struct vhca_command {
	uint64_t seq;
	unsigned int opcode;
	unsigned int op_mod;
	uint64_t object;
	unsigned int status;
	uint64_t took_ns;
};

/**
 * struct vhca_history - commands in the order of their execution
 * @command: the commands
 * @count: number of them
 */
struct vhca_history {
	struct vhca_command *command;
	unsigned int count;
};

/**
 * struct vhca_violation - something that the device saw and no correct driver does
 * @what: its name
 * @kind: kind of object, empty where the name implies it
 * @object: which object
 * @detail: depends on @what
 * @born: the command that created the object, 0 if that is not known
 * @died: the command that destroyed it, 0 if it is there or that is not known
 */
struct vhca_violation {
	char what[40];
	char kind[32];
	uint64_t object;
	uint64_t detail;
	uint64_t born;
	uint64_t died;
};

/**
 * vhca_open() - read a text file of the device
 * @dev: the device
 * @name: info, ledger, commands, modelled, history, violations, faults, page_faults or
 *	  health
 * @file: filled in, to be given to vhca_close()
 *
 * A file of another device or another format version, or one that breaks off
 * before its last line, is refused: a truncated ledger would make every test
 * pass that looks for something to be gone.
 *
 * Return: 0 or an errno, EPROTO for a file that is not what it should be; the
 * reason is written as a diagnostic.
 */
int vhca_open(const struct device *dev, const char *name, struct vhca_file *file);

/**
 * vhca_close() - free what vhca_open() read
 * @file: the file
 */
void vhca_close(struct vhca_file *file);

/**
 * vhca_key() - look for a key of a record
 * @record: line of a file
 * @key: name of the key
 * @value: the text behind "key=" is copied here
 * @size: bytes at @value
 *
 * Return: whether the record has the key.
 */
bool vhca_key(const char *record, const char *key, char *value, size_t size);

/**
 * vhca_number() - the value of a key as a number
 * @record: line of a file
 * @key: name of the key
 *
 * Return: the value, or 0 if there is no such key.
 */
uint64_t vhca_number(const char *record, const char *key);

/**
 * vhca_read_info() - read the layout of the device
 * @dev: the device
 * @info: filled in
 *
 * Return: 0 or an errno.
 */
int vhca_read_info(const struct device *dev, struct vhca_info *info);

/**
 * vhca_seq() - number of the last command that the device executed
 * @dev: the device
 *
 * Return: the number, or -1 if the ledger cannot be read.
 */
int64_t vhca_seq(const struct device *dev);

/**
 * vhca_find() - look for a live object by its number
 * @dev: the device
 * @kind: what it is
 * @id: its number
 * @object: filled in, may be NULL
 *
 * Return: 1 if it is there, 0 if not, -1 if the ledger cannot be read.
 */
int vhca_find(const struct device *dev, const char *kind, uint64_t id,
	      struct vhca_object *object);

/**
 * vhca_find_new() - look for the live object that was made last
 * @dev: the device
 * @kind: what it is
 * @seq: only objects of later commands count
 * @object: filled in with the last of them, may be NULL
 *
 * Return: how many there are, or -1 if the ledger cannot be read.
 */
int vhca_find_new(const struct device *dev, const char *kind, uint64_t seq,
		  struct vhca_object *object);

/**
 * vhca_since() - the commands after a given one
 * @dev: the device
 * @seq: number of the last command that is of no interest
 * @history: filled in, to be given to vhca_forget()
 *
 * Return: 0 or an errno, EOVERFLOW if the device has forgotten some of them.
 */
int vhca_since(const struct device *dev, uint64_t seq, struct vhca_history *history);

/**
 * vhca_forget() - free what vhca_since() read
 * @history: the commands
 */
void vhca_forget(struct vhca_history *history);

/**
 * vhca_count_since() - how often a command was executed after a given one
 * @dev: the device
 * @seq: number of the last command that is of no interest
 * @opcode: the command
 * @object: the object that it names, or VHCA_ANY
 *
 * Return: the count of those that succeeded, or -1 if the history cannot be read.
 */
int vhca_count_since(const struct device *dev, uint64_t seq, unsigned int opcode,
		     uint64_t object);

#define VHCA_ANY	UINT64_MAX

/**
 * vhca_last_since() - when a command was executed last
 * @dev: the device
 * @seq: number of the last command that is of no interest
 * @opcode: the command
 * @object: the object that it names, or VHCA_ANY
 *
 * Return: the number of the last one that succeeded, 0 if there was none, or -1
 * if the history cannot be read.
 */
int64_t vhca_last_since(const struct device *dev, uint64_t seq, unsigned int opcode,
			uint64_t object);

/**
 * vhca_other_since() - count all commands after a given one but housekeeping
 * @dev: the device
 * @seq: number of the last command that is of no interest
 *
 * The driver keeps a pool of mkeys and fills and empties it from a work item
 * (core/frmr_pools.c), so CREATE_MKEY and DESTROY_MKEY may appear at any time
 * and are not counted here.  All others are listed as diagnostics.
 *
 * Return: the count, or -1 if the history cannot be read.
 */
int vhca_other_since(const struct device *dev, uint64_t seq);

/**
 * vhca_violations() - how often the device saw what no correct driver does
 * @dev: the device
 *
 * Return: the count, or -1 if the file cannot be read.
 */
int vhca_violations(const struct device *dev);

/**
 * vhca_violation_at() - a violation that was seen
 * @dev: the device
 * @index: which, from 0
 * @violation: filled in
 *
 * Return: 1 if it is there, 0 if there are fewer or it was not kept, -1 if the
 * file cannot be read.
 */
int vhca_violation_at(const struct device *dev, unsigned int index,
		      struct vhca_violation *violation);

/**
 * vhca_last_violation() - the violation that was seen last
 * @dev: the device
 * @violation: filled in
 *
 * Return: how many there are by now; or -1 if the file cannot be read, if there
 * is none, or if there were so many that the device has not kept the last one.
 */
int vhca_last_violation(const struct device *dev, struct vhca_violation *violation);

/**
 * vhca_print_violations() - write violations as diagnostics, each with the commands that it
 *	is about: what created the object, what destroyed it, and what came last
 * @dev: the device
 * @from: the first, from 0
 */
void vhca_print_violations(const struct device *dev, unsigned int from);

/**
 * vhca_write() - ask something of the device
 * @dev: the device
 * @name: faults, page_faults or health
 * @text: what is written, at once
 *
 * Return: 0 or an errno, EINVAL if the device does not take it.
 */
int vhca_write(const struct device *dev, const char *name, const char *text);

/**
 * vhca_memory() - the device's own view of its memory
 * @dev: the device
 * @name: var, tlp_var or memic
 * @offset: bytes from the begin of the region
 * @buf: filled in
 * @len: bytes wanted
 *
 * Return: 0 or an errno, EPROTO for a short read.
 */
int vhca_memory(const struct device *dev, const char *name, uint64_t offset,
		void *buf, size_t len);

#endif /* _SELFTESTS_VHCA_H */
