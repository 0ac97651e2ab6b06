// SPDX-License-Identifier: GPL-2.0
/*
 * Reduce a snapshot to one device.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static bool key_is(const struct uobjscope_record *record, enum uobjscope_key key,
		   const char *value)
{
	const char *text = uobjscope_text(record, key);

	return text && !strcmp(text, value);
}

static bool is_device(const struct uobjscope_record *record, const char *name)
{
	return key_is(record, UOBJSCOPE_KEY_NAME, name) ||
	       key_is(record, UOBJSCOPE_KEY_UVERBS, name);
}

static bool ufile_is_on(const struct uobjscope_record *ufile, const char *name)
{
	return key_is(ufile, UOBJSCOPE_KEY_DEVICE, name) ||
	       key_is(ufile, UOBJSCOPE_KEY_UVERBS, name);
}

/* Whether a record stays.  The indexes still cover everything here. */
static bool stays(const struct uobjscope *scope, const struct uobjscope_record *record,
		  const char *name)
{
	const struct uobjscope_record *dmabuf;
	uint64_t ino;

	switch (record->type) {
	case UOBJSCOPE_DEVICE:
		return is_device(record, name);
	case UOBJSCOPE_UFILE:
		return ufile_is_on(record, name);
	case UOBJSCOPE_UOBJ:
	case UOBJSCOPE_MMAP:
	case UOBJSCOPE_VMA:
	case UOBJSCOPE_ATTACH:
		return ufile_is_on(uobjscope_ufile_of(scope, record), name);
	case UOBJSCOPE_FD:
		if (ufile_is_on(uobjscope_ufile_of(scope, record), name))
			return true;
		if (!uobjscope_get(record, UOBJSCOPE_KEY_INO, &ino))
			return false;
		dmabuf = uobjscope_dmabuf(scope, ino);
		return dmabuf && ufile_is_on(uobjscope_ufile_of(scope, dmabuf), name);
	default:
		return false;
	}
}

static bool is_known(const struct uobjscope *scope, const char *name)
{
	for (size_t i = 0; i < scope->count[UOBJSCOPE_DEVICE]; i++)
		if (is_device(scope->by_type[UOBJSCOPE_DEVICE][i], name))
			return true;
	for (size_t i = 0; i < scope->count[UOBJSCOPE_UFILE]; i++)
		if (ufile_is_on(scope->by_type[UOBJSCOPE_UFILE][i], name))
			return true;
	return false;
}

static int unknown_device(const struct uobjscope *scope, const char *name,
			  struct uobjscope_error *error)
{
	char quoted[QUOTED_MAX];
	char known[300] = "";
	size_t used = 0;

	for (size_t i = 0; i < scope->count[UOBJSCOPE_DEVICE]; i++) {
		const char *device = uobjscope_text(scope->by_type[UOBJSCOPE_DEVICE][i],
						    UOBJSCOPE_KEY_NAME);
		char safe[QUOTED_MAX];
		int n = snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
				 uobjscope_quote(safe, device, strlen(device)));

		if (n < 0 || (size_t)n >= sizeof(known) - used) {
			known[used] = '\0';
			break;
		}
		used += n;
	}
	return uobjscope_fail(error, UOBJSCOPE_ERR_NO_DEVICE, 0,
			      "no RDMA device '%s', expected one of: %s",
			      uobjscope_quote(quoted, name, strlen(name)),
			      used ? known : "(there is none)");
}

int uobjscope_select_device(struct uobjscope *scope, const char *name,
			    struct uobjscope_error *error)
{
	struct uobjscope_record **kept;
	size_t *counts;
	size_t nparts = 0, n = 0;
	int ret;

	if (!is_known(scope, name))
		return unknown_device(scope, name, error);
	for (struct part *part = scope->parts; part; part = part->next)
		nparts++;
	kept = calloc(nparts, sizeof(*kept));
	counts = calloc(nparts, sizeof(*counts));
	ret = kept && counts ? 0 : -1;
	for (struct part *part = scope->parts; part && !ret; part = part->next, n++) {
		kept[n] = malloc((part->count + 1) * sizeof(*kept[n]));
		if (!kept[n]) {
			ret = -1;
			break;
		}
		for (size_t i = 0; i < part->count; i++)
			if (stays(scope, &part->records[i], name))
				kept[n][counts[n]++] = part->records[i];
	}
	if (ret) {
		uobjscope_nomem(error, name);
		goto out;
	}
	/* Swap in what stays; if the rebuild fails, swap back. */
	for (int pass = 0; pass < 2; pass++) {
		n = 0;
		for (struct part *part = scope->parts; part; part = part->next, n++) {
			struct uobjscope_record *records = part->records;
			size_t count = part->count;

			part->records = kept[n];
			part->count = counts[n];
			kept[n] = records;
			counts[n] = count;
		}
		if (pass)
			break;
		ret = uobjscope_build(scope, name, error);
		if (!ret)
			break;
	}
out:
	for (n = 0; kept && n < nparts; n++)
		free(kept[n]);
	free(kept);
	free(counts);
	return ret;
}
