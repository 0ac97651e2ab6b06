/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module was loaded with, and what is made of it.
 */
#ifndef VHCA_PARAMS_H
#define VHCA_PARAMS_H

#include "refusal.h"
#include "vhca.h"

/**
 * struct vhca_params - the module's parameters as they were given
 * @bar_phys: physical address of the window, 0 if the kernel is to hand out the
 *	memory
 * @bar_size: bytes of it for each device
 * @hcas: number of devices
 * @topology: "separate" or "port"
 * @domain: PCI domain of the first host bridge
 * @device_id: PCI device id
 * @log_var_count: log2 of the number of VARs
 * @log_var_stride: log2 of the bytes from one to the next
 * @tlp_var_count: number of TLP VARs
 * @log_tlp_var_stride: log2 of the bytes from one to the next
 * @memic_size: bytes of device memory
 * @msix_vectors: MSI-X vectors
 * @cmd_timeout_ms: how long the driver is to wait for an answer
 * @blueflame: requests can be written to a UAR
 */
struct vhca_params {
	unsigned long	bar_phys;
	unsigned long	bar_size;
	unsigned int	hcas;
	char		*topology;
	unsigned int	domain;
	unsigned int	device_id;
	unsigned int	log_var_count;
	unsigned int	log_var_stride;
	unsigned int	tlp_var_count;
	unsigned int	log_tlp_var_stride;
	unsigned int	memic_size;
	unsigned int	msix_vectors;
	unsigned int	cmd_timeout_ms;
	bool		blueflame;
};

/* A field that is not named is 0. */
#define VHCA_PARAMS_DEFAULT {				\
	.bar_size		= VHCA_BAR_MIN_SIZE,	\
	.hcas			= 1,			\
	.topology		= "separate",		\
	.domain			= 1,			\
	.device_id		= 0x101e,		\
	.log_var_count		= 8,			\
	.log_var_stride		= 12,			\
	.tlp_var_count		= 8,			\
	.log_tlp_var_stride	= 12,			\
	.memic_size		= VHCA_MEMIC_MAX_SIZE,	\
	.msix_vectors		= 16,			\
}

/**
 * struct vhca_setup - the parameters that are not of a single device
 * @hcas: number of devices
 * @nr_roots: number of host bridges that they are below
 * @port: there is a root port between
 * @domain: PCI domain of the first host bridge
 * @config: of all devices; only the address of the BAR differs
 */
struct vhca_setup {
	unsigned int		hcas;
	unsigned int		nr_roots;
	bool			port;
	u32			domain;
	struct vhca_config	config;
};

bool vhca_params_check(const struct vhca_params *params,
		       struct vhca_setup *setup, struct vhca_refusal *refusal);

#endif /* VHCA_PARAMS_H */
