// SPDX-License-Identifier: GPL-2.0
/*
 * Random text for the file "faults" of debugfs; see fuzz_kunit.h.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "fuzz_kunit.h"

/* More than a device takes rules, now and then. */
#define FUZZ_MAX_LINES	40
#define FUZZ_MAX_LINE	160
#define FUZZ_MAX_TEXT	(FUZZ_MAX_LINES * FUZZ_MAX_LINE)

static const char *const fuzz_words[] = {
	"opcode=any", "opcode=CREATE_QP", "opcode=0x800", "op_mod=1", "object=0x40",
	"queue=any", "queue=0x40", "nth=2", "every=3", "count=all", "count=5",
	"probability=50", "seed=7", "status=limits_exceeded", "status=internal_error",
	"syndrome=0x123", "delay_ms=10", "hold", "no_answer", "drop_interrupt", "stop_work",
	"clear", "release", "", "=", "opcode", "opcode=", "nth=0", "nth=4294967296",
	"object=18446744073709551615", "probability=-1", "seed=0x", "status=OK",
};

static u32 fuzz_line(struct fuzz *f, char *to, u32 room)
{
	unsigned int n = fuzz_below(f, 6);
	u32 at = 0;

	while (n--)
		at += scnprintf(to + at, room - at, "%s%c",
				fuzz_words[fuzz_below(f, ARRAY_SIZE(fuzz_words))],
				fuzz_one_in(f, 8) ? '\t' : ' ');
	fuzz_spoil(f, to, at, 0);
	return at;
}

/**
 * fuzz_text - write some lines to the file
 * @f: of whose device; it has no rules afterwards
 *
 * The text is in memory of just its length, as the file has it.
 */
void fuzz_text(struct fuzz *f)
{
	unsigned int lines = fuzz_one_in(f, 16) ? fuzz_below(f, FUZZ_MAX_LINES) :
						  1 + fuzz_below(f, 3);
	char *text = kmalloc(FUZZ_MAX_TEXT + 1, GFP_KERNEL), *exact;
	char clear[] = "clear";
	u32 at = 0;

	KUNIT_ASSERT_NOT_NULL(f->test, text);
	while (lines--) {
		at += fuzz_line(f, text + at, FUZZ_MAX_LINE - 1);
		text[at++] = '\n';
		f->inputs++;
	}
	text[at] = '\0';
	/* A write with a zero in it comes no further. */
	exact = kstrdup(text, GFP_KERNEL);
	kfree(text);
	KUNIT_ASSERT_NOT_NULL(f->test, exact);
	if (vhca_fault_write(f->v, exact))
		f->refused++;
	else
		f->done++;
	kfree(exact);
	KUNIT_EXPECT_EQ(f->test, vhca_fault_write(f->v, clear), 0);
	KUNIT_EXPECT_EQ(f->test, f->v->faults.nr, 0);
}
