/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random input of the device, for the suite of fuzz_kunit.c: what there is to be random
 * about (fuzz_memory_kunit.c), commands (fuzz_command_kunit.c), work requests
 * (fuzz_work_kunit.c) and what is written to debugfs (fuzz_text_kunit.c).
 *
 * What is made is mostly right, with few things wrong, as what is wrong everywhere is
 * refused at the door.
 */
#ifndef VHCA_FUZZ_KUNIT_H
#define VHCA_FUZZ_KUNIT_H

#include <linux/prandom.h>

#include "device_kunit.h"

/*
 * The device's memory.  All that it can reach is one piece, of which the first pages are
 * the driver's own; of the rest every other page is a canary where the input is that of
 * a user.
 */
#define FUZZ_LOG_PAGES		6
#define FUZZ_PAGES		BIT(FUZZ_LOG_PAGES)
#define FUZZ_EVENTS		8	/* before it are the command queue and its messages */
#define FUZZ_QUIET		10	/* from here on are queues of who does nothing */
#define FUZZ_FIRST_SHARED	16	/* and of the one who sends input, and all memory */

/*
 * The user's region is so many pages, every other one from the first; what it does not
 * cover of the first and of the last one are canaries as well.
 */
#define FUZZ_REGION		40
#define FUZZ_REGION_PAGES	4
#define FUZZ_REGION_LAST	(FUZZ_REGION + 2 * (FUZZ_REGION_PAGES - 1))
#define FUZZ_EDGE		512

/* What canaries are filled with, in the upper half of each 8 bytes. */
#define FUZZ_CANARY		0xc0dec4feU

/* Longest command that is made, in bytes: what is in the entry, and a chain of blocks. */
#define FUZZ_BLOCKS		12
#define FUZZ_MAX_MESSAGE	(16 + FUZZ_BLOCKS * MLX5_CMD_DATA_BLOCK_SIZE)

/* Messages of up to so many bytes have memory that is used again. */
#define FUZZ_KEPT		SZ_1K

/**
 * struct fuzz - a device and the one who sends it random input
 * @test: the test
 * @v: the device
 * @random: where randomness comes from
 * @memory: all memory that the device may reach
 * @start: its physical address
 * @uid: the user context whose input it is; 0 for the driver
 * @victim: that of another user, who does nothing
 * @sending: a command is on its way, whose messages are the driver's memory
 * @escapes: how often the device asked for memory that the user does not have
 * @escape: the first such address
 * @inputs: commands, work requests, doorbells and lines so far
 * @done: commands that were executed and succeeded
 * @refused: those that did not
 * @pd: protection domain of the queue that is written to
 * @last: opcode of the last command
 * @why: what is wrong, once something is
 * @kept_in: memory for inputs of each length
 * @kept_out: and for outputs
 * @message: the input that is being made
 * @window: a key of the one who does nothing, which leads to no other yet
 * @window_context: its context as it was made
 * @quiet: what was in the queues of who does nothing
 */
struct fuzz {
	struct kunit		*test;
	struct vhca		*v;
	struct rnd_state	random;
	u8			*memory;
	u64			start;
	u16			uid;
	u16			victim;
	bool			sending;
	unsigned int		escapes;
	u64			escape;
	u64			inputs;
	u64			done;
	u64			refused;
	u32			pd;
	u16			last;
	char			why[96];
	void			*kept_in[FUZZ_KEPT + 1];
	void			*kept_out[FUZZ_KEPT + 1];
	u32			message[FUZZ_MAX_MESSAGE / sizeof(u32)];
	u32			window;
	u32			window_context[MLX5_ST_SZ_DW(mkc)];
	u8			quiet[(FUZZ_FIRST_SHARED - FUZZ_QUIET) * VHCA_PAGE_SIZE];
};

/* fuzz_memory_kunit.c */
u32 fuzz_below(struct fuzz *f, u32 n);
bool fuzz_one_in(struct fuzz *f, u32 n);
u64 fuzz_value(struct fuzz *f);
u64 fuzz_page_address(const struct fuzz *f, unsigned int page);
u64 fuzz_address(struct fuzz *f);
void fuzz_group_gid(struct fuzz *f, void *gid);
void fuzz_spoil(struct fuzz *f, void *bytes, u32 len, u32 keep);
struct vhca_object *fuzz_object(struct fuzz *f, enum vhca_kind kind, bool own);
u32 fuzz_number(struct fuzz *f, enum vhca_kind kind, bool own);
struct fuzz *fuzz_begin(struct kunit *test);
void fuzz_fill(struct fuzz *f);
bool fuzz_is_sound(struct fuzz *f);

/* fuzz_command_kunit.c */
u8 fuzz_send(struct fuzz *f, u32 in_len, u32 out_len, bool spoil);
void fuzz_command(struct fuzz *f);
u32 fuzz_start(struct fuzz *f, u16 opcode, u16 uid);
void fuzz_ready(struct fuzz *f, struct vhca_qp *qp);
u32 fuzz_translations(struct fuzz *f, void *to, u8 mode, u32 max);

/* fuzz_scene_kunit.c */
void fuzz_scene(struct fuzz *f);

/* fuzz_work_kunit.c */
void fuzz_work(struct fuzz *f);
void fuzz_datagram(struct fuzz *f);

/* fuzz_text_kunit.c */
void fuzz_text(struct fuzz *f);

#endif /* VHCA_FUZZ_KUNIT_H */
