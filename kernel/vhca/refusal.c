// SPDX-License-Identifier: GPL-2.0
/*
 * Why something is refused, see refusal.h.
 */
#include <linux/sprintf.h>
#include <linux/stdarg.h>

#include "refusal.h"

/**
 * vhca_refuse - say why something is refused
 * @refusal: to be filled
 * @fmt: as printf() has it, and what belongs to it
 *
 * Context: any
 * Return: false, for functions that say whether something is good
 */
bool vhca_refuse(struct vhca_refusal *refusal, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(refusal->text, sizeof(refusal->text), fmt, args);
	va_end(args);
	return false;
}
