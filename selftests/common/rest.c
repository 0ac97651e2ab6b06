// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel_signs.h"
#include "real_device.h"
#include "rest.h"
#include "text.h"
#include "var_ops.h"

static int *rest_count(struct rest *rest, const char *kind)
{
	int i;

	for (i = 0; i < rest->kinds; i++)
		if (!strcmp(rest->kind[i].kind, kind))
			return &rest->kind[i].count;
	if (rest->kinds == REST_KINDS)
		return NULL;
	snprintf(rest->kind[i].kind, sizeof(rest->kind[i].kind), "%s", kind);
	rest->kind[i].count = 0;
	rest->kinds++;
	return &rest->kind[i].count;
}

static int rest_get(const struct rest *rest, const char *kind)
{
	int i;

	for (i = 0; i < rest->kinds; i++)
		if (!strcmp(rest->kind[i].kind, kind))
			return rest->kind[i].count;
	return 0;
}

static int rest_take_ledger(const struct device *dev, struct rest *rest)
{
	struct vhca_file file;
	unsigned int i;
	char kind[32];
	int *count;
	int err;

	rest->kinds = 0;
	rest->seq = 0;
	if (!device_has_ledger(dev))
		return 0;
	err = vhca_open(dev, "ledger", &file);
	if (err)
		return err;
	rest->seq = vhca_number(file.header, "seq");
	for (i = 0; i < file.count; i++) {
		if (!vhca_key(file.record[i], "kind", kind, sizeof(kind)) ||
		    (!strcmp(kind, "mkey") && vhca_number(file.record[i], "free")))
			continue;
		count = rest_count(rest, kind);
		if (!count) {
			diag("more than %d kinds of objects in the ledger", REST_KINDS);
			vhca_close(&file);
			return E2BIG;
		}
		++*count;
	}
	vhca_close(&file);
	return 0;
}

/* The driver's own bitmaps, where uobjscope.ko shows them; else false. */
static bool rest_read_vars(const struct device *dev, struct rest *rest)
{
	char *text = text_read("/sys/kernel/debug/uobjscope/snapshot");
	char *line, *next, name[64], entries[24];
	bool found = false;

	for (line = text; line && *line && !found; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (strncmp(line, "device ", 7) || !vhca_key(line, "name", name, sizeof(name)) ||
		    strcmp(name, dev->name) ||
		    !vhca_key(line, "var_entries", entries, sizeof(entries)))
			continue;
		found = true;
		rest->vars = strtoul(entries, NULL, 0) - vhca_number(line, "var_used");
		rest->tlp_vars = vhca_number(line, "tlp_var_entries") -
				 vhca_number(line, "tlp_var_used");
	}
	free(text);
	return found;
}

static int rest_take_vars(const struct device *dev, struct rest *rest)
{
	struct ibv_context *ctx;

	if (rest_read_vars(dev, rest))
		return 0;
	if (!device_has_ledger(dev)) {
		/* To count what is free is to take it all for a moment. */
		rest->vars = dev->info.var.count;
		rest->tlp_vars = 0;
		return 0;
	}
	ctx = device_open(dev);

	if (!ctx) {
		diag("cannot open %s: %s", dev->name, strerror(errno));
		return errno;
	}
	rest->vars = var_count_free(ctx->cmd_fd, 0);
	rest->tlp_vars = 0;
	if (dev->info.tlp_var.count)
		rest->tlp_vars = var_count_free(ctx->cmd_fd, MLX5DV_VAR_ALLOC_FLAG_TLP);
	return ibv_close_device(ctx) ? errno : 0;
}

int rest_take(const struct device *dev, struct rest *rest)
{
	int err;

	err = rest_take_vars(dev, rest);
	if (err)
		return err;
	err = rest_take_ledger(dev, rest);
	if (err)
		return err;
	rest->violations = vhca_violations(dev);
	rest->dmabufs = dmabuf_count("ib_uverbs");
	rest->fds = fd_count();
	return rest->violations < 0 || rest->dmabufs < 0 || rest->fds < 0 ? EIO : 0;
}

int rest_take_device(const struct device *dev, struct rest *rest)
{
	int err;

	memset(rest, 0, sizeof(*rest));
	err = rest_take_ledger(dev, rest);
	if (err)
		return err;
	rest->violations = vhca_violations(dev);
	return rest->violations < 0 ? EIO : 0;
}

/* Compare what the ledgers hold; every difference is printed if @print. */
static bool rest_ledger_is_same(const struct rest *before, const struct rest *after, bool print)
{
	bool same = true;
	int i, a, b;

	for (i = 0; i < before->kinds + after->kinds; i++) {
		const char *kind = i < before->kinds ? before->kind[i].kind :
				   after->kind[i - before->kinds].kind;

		b = rest_get(before, kind);
		a = rest_get(after, kind);
		/* A kind that both know is looked at once, in the first half. */
		if (a == b || (i >= before->kinds && b))
			continue;
		if (print)
			diag("ledger: %s %d before, %d now (%+d)", kind, b, a, a - b);
		same = false;
	}
	return same;
}

bool rest_is_same(const struct rest *before, const struct rest *after)
{
	return before->violations == after->violations && before->vars == after->vars &&
	       before->tlp_vars == after->tlp_vars && before->dmabufs == after->dmabufs &&
	       before->fds == after->fds && rest_ledger_is_same(before, after, false);
}

static void rest_print_count(const char *what, int before, int after)
{
	if (before != after)
		diag("%s: %d before, %d now (%+d)", what, before, after, after - before);
}

void rest_print_difference(const struct device *dev, const struct rest *before,
			   const struct rest *after)
{
	rest_ledger_is_same(before, after, true);
	rest_print_count("violations seen by the device", before->violations, after->violations);
	if (after->violations > before->violations)
		vhca_print_violations(dev, before->violations);
	rest_print_count("VAR pages that can be allocated", before->vars, after->vars);
	rest_print_count("TLP VAR pages that can be allocated", before->tlp_vars, after->tlp_vars);
	rest_print_count("dma-bufs of ib_uverbs", before->dmabufs, after->dmabufs);
	rest_print_count("open descriptors", before->fds, after->fds);
}

int rest_return(const struct device *dev, const struct rest *before, struct rest *after)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	int tries, err;

	for (tries = 0; tries < 100; tries++) {
		err = rest_take(dev, after);
		if (err || rest_is_same(before, after))
			return err;
		nanosleep(&pause, NULL);
	}
	return ETIMEDOUT;
}

int rest_ledger_delta(const struct device *dev, const struct rest *before,
		      const char *kind, int *delta)
{
	struct rest now;
	int err = rest_take_ledger(dev, &now);

	if (!err)
		*delta = rest_get(&now, kind) - rest_get(before, kind);
	return err;
}

void rest_print_ledger(const struct device *dev, const struct rest *before)
{
	struct rest now;

	if (!rest_take_ledger(dev, &now))
		rest_ledger_is_same(before, &now, true);
}
