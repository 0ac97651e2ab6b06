/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Why something that a person has written is refused: what it is, what was got
 * and what is expected.  Who asked prints it.
 */
#ifndef VHCA_REFUSAL_H
#define VHCA_REFUSAL_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * struct vhca_refusal - the reason
 * @text: a line for the log without its end
 */
struct vhca_refusal {
	char	text[256];
};

bool vhca_refuse(struct vhca_refusal *refusal, const char *fmt, ...)
	__printf(2, 3);

#endif /* VHCA_REFUSAL_H */
