// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters: which can be, see Documentation/vhca.rst.
 */
#include <linux/align.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "params.h"

static bool vhca_in_range(struct vhca_refusal *refusal, const char *name,
			  unsigned int value, unsigned int min,
			  unsigned int max)
{
	if (value >= min && value <= max)
		return true;
	return vhca_refuse(refusal, "parameter %s: got %u, expected %u to %u",
			   name, value, min, max);
}

static bool vhca_window_is_good(const struct vhca_params *p, u64 size,
				struct vhca_refusal *refusal)
{
	if (!is_power_of_2(p->bar_size) || p->bar_size < VHCA_BAR_MIN_SIZE)
		return vhca_refuse(refusal,
				   "parameter bar_size: got %lu, expected a power of two, at least %u",
				   p->bar_size, VHCA_BAR_MIN_SIZE);
	if (!IS_ALIGNED(p->bar_phys, p->bar_size) ||
	    p->bar_phys + size - 1 < p->bar_phys || !size)
		return vhca_refuse(refusal,
				   "parameter bar_phys: got 0x%lx, expected 0 (the kernel hands out memory) or the address of %llu MiB of reserved memory, a multiple of %lu MiB: boot with memmap=%lluM$ADDRESS and give ADDRESS here",
				   p->bar_phys, size >> 20, p->bar_size >> 20,
				   size >> 20);
	return true;
}

static bool vhca_var_is_good(const struct vhca_params *p,
			     struct vhca_refusal *refusal)
{
	return vhca_in_range(refusal, "log_var_stride", p->log_var_stride,
			     VHCA_PAGE_SHIFT, ilog2(VHCA_VAR_MAX_SIZE)) &&
	       vhca_in_range(refusal, "log_var_count", p->log_var_count, 0,
			     ilog2(VHCA_VAR_MAX_SIZE) - p->log_var_stride) &&
	       vhca_in_range(refusal, "tlp_var_count", p->tlp_var_count, 1,
			     VHCA_TLP_VAR_MAX_COUNT) &&
	       vhca_in_range(refusal, "log_tlp_var_stride",
			     p->log_tlp_var_stride, VHCA_PAGE_SHIFT,
			     ilog2(VHCA_TLP_VAR_MAX_SIZE /
				   (VHCA_TLP_VAR_MAX_COUNT + 1)));
}

/**
 * vhca_params_check - see whether the parameters can be, and what follows
 * @params: the parameters
 * @setup: filled if they can be
 * @refusal: filled if not: names the first one that is wrong
 *
 * Return: true if they can be
 */
bool vhca_params_check(const struct vhca_params *params,
		       struct vhca_setup *setup, struct vhca_refusal *refusal)
{
	const struct vhca_params *p = params;
	bool port = !strcmp(p->topology, "port");

	if (!vhca_in_range(refusal, "hcas", p->hcas, 1, VHCA_MAX_HCAS))
		return false;
	if (!port && strcmp(p->topology, "separate"))
		return vhca_refuse(refusal,
				   "parameter topology: got %s, expected separate or port",
				   p->topology);
	/* Domain 0 is the machine's own; ACPI segments have 16 bits. */
	if (!vhca_window_is_good(p, (u64)p->hcas * p->bar_size, refusal) ||
	    !vhca_in_range(refusal, "domain", p->domain, 1,
			   0xffff - (port ? 0 : p->hcas - 1)) ||
	    !vhca_in_range(refusal, "device_id", p->device_id, 0, 0xffff) ||
	    !vhca_in_range(refusal, "msix_vectors", p->msix_vectors, 2,
			   VHCA_MAX_VECTORS) ||
	    !vhca_var_is_good(p, refusal))
		return false;
	if (!is_power_of_2(p->memic_size) || p->memic_size < VHCA_PAGE_SIZE ||
	    p->memic_size > VHCA_MEMIC_MAX_SIZE)
		return vhca_refuse(refusal,
				   "parameter memic_size: got %u, expected a power of two, %lu to %u",
				   p->memic_size, VHCA_PAGE_SIZE,
				   VHCA_MEMIC_MAX_SIZE);
	if (p->cmd_timeout_ms &&
	    !vhca_in_range(refusal, "cmd_timeout_ms", p->cmd_timeout_ms,
			   VHCA_MIN_CMD_TIMEOUT, VHCA_MAX_CMD_TIMEOUT))
		return false;
	*setup = (struct vhca_setup) {
		.hcas		= p->hcas,
		.nr_roots	= port ? 1 : p->hcas,
		.port		= port,
		.domain		= p->domain,
		.config		= {
			.bar_phys	= p->bar_phys,
			.bar_size	= p->bar_size,
			.device_id	= p->device_id,
			.log_var_count	= p->log_var_count,
			.log_var_stride	= p->log_var_stride,
			.tlp_var_count	= p->tlp_var_count,
			.log_tlp_var_stride = p->log_tlp_var_stride,
			.memic_size	= p->memic_size,
			.vectors	= p->msix_vectors,
			.cmd_timeout_ms	= p->cmd_timeout_ms,
			.blueflame	= p->blueflame,
		},
	};
	return true;
}
