/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the functions hang on: host bridges, with or without a root port, and
 * config space.
 *
 * There is one host bridge for each function, or one for all of them with a
 * root port between.  Nothing here changes while a function is there.
 */
#ifndef VHCA_ROOT_H
#define VHCA_ROOT_H

#include <linux/ioport.h>
#include <linux/pci.h>
#include <linux/types.h>

struct vhca;

#define VHCA_MAX_HCAS		2
#define VHCA_CONFIG_SIZE	4096

/**
 * struct vhca_config_space - the registers that config cycles reach
 * @byte: their values
 * @writable: the bits that can be written
 */
struct vhca_config_space {
	u8	byte[VHCA_CONFIG_SIZE];
	u8	writable[VHCA_CONFIG_SIZE];
};

/**
 * struct vhca_root - a host bridge and what is below it
 * @name: "domain N", for the log
 * @domain: its PCI domain
 * @sysdata: what x86 has to know of @bus; outlives it
 * @bus: the root bus, NULL while there is none
 * @bus_resource: range of bus numbers
 * @window: the memory that it forwards, a BAR for each function
 * @reserve_start: physical address of the memory for all host bridges
 * @reserve_size: bytes of it; both for what the log says of a missing window
 * @msi_domain: parent interrupt domain of the functions
 * @port: config space of the root port, NULL if the function is on @bus itself
 * @nr_functions: entries in @functions
 * @functions: the devices, by PCI function number
 */
struct vhca_root {
	char				name[16];
	u32				domain;
	struct pci_sysdata		sysdata;
	struct pci_bus			*bus;
	struct resource			bus_resource;
	struct resource			window;
	u64				reserve_start;
	u64				reserve_size;
	struct irq_domain		*msi_domain;
	struct vhca_config_space	*port;
	unsigned int			nr_functions;
	struct vhca			*functions[VHCA_MAX_HCAS];
};

/* The port's secondary bus, and so the bus of the functions below it. */
#define VHCA_PORT_BUS	1

static inline unsigned int vhca_root_function_bus(const struct vhca_root *root)
{
	return root->port ? VHCA_PORT_BUS : 0;
}

/* pci.c */
int vhca_root_add(struct vhca_root *root);
void vhca_root_remove(struct vhca_root *root);
struct vhca *vhca_root_find(struct vhca_root *root, unsigned int bus,
			    unsigned int devfn);

/* config.c */
void vhca_config_fill_function(struct vhca *v);
void vhca_config_fill_port(struct vhca_root *root);
u32 vhca_config_get(const struct vhca_config_space *space, unsigned int where,
		    unsigned int size);
bool vhca_config_resets_function(unsigned int where, unsigned int size, u32 value);
bool vhca_config_resets_bus(unsigned int where, unsigned int size, u32 value);
void vhca_config_put(struct vhca_config_space *space, unsigned int where,
		     unsigned int size, u32 value);

/* window.c */
int vhca_window_claim(struct vhca_root *root, u64 start, u64 size);
void vhca_window_release(struct vhca_root *root);

/* msi.c */
int vhca_msi_init(struct vhca_root *root);
void vhca_msi_exit(struct vhca_root *root);

#endif /* VHCA_ROOT_H */
