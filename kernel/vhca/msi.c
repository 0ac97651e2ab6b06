// SPDX-License-Identifier: GPL-2.0
/*
 * MSI-X: the parent interrupt domain, and raising an interrupt.
 *
 * The domain that x86 would use by default acknowledges the local APIC and
 * insists on being called from a vector, so each host bridge has one of its
 * own, in which every function below has VHCA_MAX_VECTORS numbers.
 * mlx5_core's event queue handlers take spinlocks as in hard interrupt
 * context; an irq_work of the hard kind gives them that.  The mask bits of the
 * MSI-X table are memory and are not looked at: a masked interrupt is lazily
 * disabled and is kept pending by the edge flow handler.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <asm/irqdomain.h>

#include "compat.h"
#include "vhca.h"

static void vhca_vector_deliver(struct irq_work *work)
{
	struct vhca_vector *vector = container_of(work, struct vhca_vector,
						  work);
	unsigned int virq = READ_ONCE(vector->virq);

	if (virq)
		generic_handle_irq(virq);
}

/**
 * vhca_msi_raise - raise an MSI-X vector
 * @v: the device
 * @vector: its number; one that the driver did not set up is ignored
 *
 * Context: any; vhca.lock held for the statistics
 */
void vhca_msi_raise(struct vhca *v, unsigned int vector)
{
	if (vector >= v->params.vectors || !READ_ONCE(v->vectors[vector].virq))
		return;
	v->stats.interrupts++;
	irq_work_queue(&v->vectors[vector].work);
}

/**
 * vhca_msi_drop - do not raise an MSI-X vector, and remember that
 * @v: the device
 * @vector: its number
 *
 * Context: vhca.lock held
 */
void vhca_msi_drop(struct vhca *v, unsigned int vector)
{
	if (vector < VHCA_MAX_VECTORS)
		__set_bit(vector, v->dropped);
}

/**
 * vhca_msi_raise_dropped - raise all vectors that were dropped
 * @v: the device
 *
 * One interrupt is enough for all of a vector: the driver looks at the queue.
 *
 * Context: process context, vhca.lock held
 */
void vhca_msi_raise_dropped(struct vhca *v)
{
	unsigned int vector;

	for_each_set_bit(vector, v->dropped, VHCA_MAX_VECTORS)
		vhca_msi_raise(v, vector);
	bitmap_zero(v->dropped, VHCA_MAX_VECTORS);
}

/* The message is never sent: the firmware thread knows the vector's number. */
static void vhca_msi_compose(struct irq_data *data, struct msi_msg *msg)
{
	*msg = (struct msi_msg) {
		.address_hi = X86_MSI_BASE_ADDRESS_HIGH,
		.arch_addr_lo.base_address = X86_MSI_BASE_ADDRESS_LOW,
		.data = data->hwirq,
	};
}

/* The edge flow handler wants one; there is nothing to acknowledge. */
static void vhca_msi_ack(struct irq_data *data)
{
}

static struct irq_chip vhca_msi_chip = {
	.name			= "mlx5_vhca",
	.irq_compose_msi_msg	= vhca_msi_compose,
	.irq_ack		= vhca_msi_ack,
};

static int vhca_msi_alloc(struct irq_domain *domain, unsigned int virq,
			  unsigned int nr, void *arg)
{
	const struct msi_desc *desc = ((msi_alloc_info_t *)arg)->desc;
	const struct pci_dev *pdev = to_pci_dev(desc->dev);
	unsigned int i, first;
	struct vhca *v;

	v = vhca_root_find(domain->host_data, pdev->bus->number, pdev->devfn);
	if (!v)
		return -ENODEV;
	if (desc->msi_index + nr > v->params.vectors)
		return -ENOSPC;
	first = PCI_FUNC(pdev->devfn) * VHCA_MAX_VECTORS + desc->msi_index;
	/*
	 * Edge: an interrupt that is raised while its handler runs makes the
	 * handler run again; the simple flow would lose it.
	 */
	for (i = 0; i < nr; i++) {
		irq_domain_set_info(domain, virq + i, first + i,
				    &vhca_msi_chip, v, handle_edge_irq, NULL,
				    "edge");
		WRITE_ONCE(v->vectors[desc->msi_index + i].virq, virq + i);
	}
	return 0;
}

static void vhca_msi_free(struct irq_domain *domain, unsigned int virq,
			  unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct irq_data *data = irq_domain_get_irq_data(domain,
								virq + i);
		struct vhca *v = irq_data_get_irq_chip_data(data);
		struct vhca_vector *vector =
			&v->vectors[data->hwirq % VHCA_MAX_VECTORS];

		WRITE_ONCE(vector->virq, 0);
		irq_work_sync(&vector->work);
		irq_domain_reset_irq_data(data);
	}
}

static const struct irq_domain_ops vhca_msi_domain_ops = {
	.alloc	= vhca_msi_alloc,
	.free	= vhca_msi_free,
};

static bool vhca_msi_init_dev(struct device *dev, struct irq_domain *domain,
			      struct irq_domain *real_parent,
			      struct msi_domain_info *info)
{
	if (!vhca_msi_lib_init(dev, domain, real_parent, info))
		return false;
	info->chip->irq_ack = irq_chip_ack_parent;
	return true;
}

/*
 * Without MSI_FLAG_PCI_MSIX_ALLOC_DYN mlx5_core allocates all its vectors at
 * probe.  The bus token only has to be one that nothing else on this bus uses.
 */
static const struct msi_parent_ops vhca_msi_parent_ops = {
	.supported_flags	= MSI_GENERIC_FLAGS_MASK | MSI_FLAG_PCI_MSIX,
	.required_flags		= MSI_FLAG_USE_DEF_DOM_OPS |
				  MSI_FLAG_NO_AFFINITY,
	.bus_select_token	= DOMAIN_BUS_VMD_MSI,
	.prefix			= "VHCA-",
	.init_dev_msi_info	= vhca_msi_init_dev,
};

/**
 * vhca_msi_init_vectors - make a device's interrupts ready to be raised
 * @v: the device
 */
void vhca_msi_init_vectors(struct vhca *v)
{
	unsigned int i;

	for (i = 0; i < VHCA_MAX_VECTORS; i++)
		v->vectors[i].work = IRQ_WORK_INIT_HARD(vhca_vector_deliver);
}

/**
 * vhca_msi_init - make the parent interrupt domain
 * @root: the host bridge
 *
 * Return: 0 or a negative errno, after a line in the log
 */
int vhca_msi_init(struct vhca_root *root)
{
	struct irq_domain_info info = {
		.size		= VHCA_MAX_HCAS * VHCA_MAX_VECTORS,
		.ops		= &vhca_msi_domain_ops,
		.host_data	= root,
	};

	info.fwnode = irq_domain_alloc_named_id_fwnode("mlx5_vhca",
						       root->domain);
	if (!info.fwnode) {
		pr_err("%s: no memory for the interrupt domain\n", root->name);
		return -ENOMEM;
	}
	root->msi_domain = vhca_create_parent_domain(&info, &vhca_msi_parent_ops);
	if (!root->msi_domain) {
		irq_domain_free_fwnode(info.fwnode);
		pr_err("%s: cannot create the interrupt domain\n", root->name);
		return -ENODEV;
	}
	return 0;
}

/**
 * vhca_msi_exit - remove the parent interrupt domain
 * @root: the host bridge, whose bus is gone
 */
void vhca_msi_exit(struct vhca_root *root)
{
	struct fwnode_handle *fwnode = root->msi_domain->fwnode;

	irq_domain_remove(root->msi_domain);
	irq_domain_free_fwnode(fwnode);
}
