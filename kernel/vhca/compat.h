/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between the kernels that this module builds for.
 * What can be asked of the configuration is asked there, not of the version; VHCA_HAVE_*
 * come from Kbuild, which looks into the kernel's headers.
 */
#ifndef VHCA_COMPAT_H
#define VHCA_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/gfp.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>

/*
 * What loan.c wants: memory that can be emptied and go.  VHCA_NO_MEMORY_HOTPLUG=y
 * on make's command line: as if the kernel had none.
 */
#if IS_ENABLED(CONFIG_MEMORY_HOTREMOVE) && IS_ENABLED(CONFIG_X86_PAT) && \
	defined(alloc_contig_frozen_range) && !defined(VHCA_NO_MEMORY_HOTPLUG)
#define VHCA_HAS_LOANS
#endif

/* VHCA_NO_MSI_LIB=y on make's command line: as if the kernel had no library. */
#if IS_ENABLED(CONFIG_IRQ_MSI_LIB) && !defined(VHCA_NO_MSI_LIB)
#include <linux/irqchip/irq-msi-lib.h>

static inline bool vhca_msi_lib_init(struct device *dev,
				     struct irq_domain *domain,
				     struct irq_domain *real_parent,
				     struct msi_domain_info *info)
{
	return msi_lib_init_dev_msi_info(dev, domain, real_parent, info);
}
#else
/*
 * CONFIG_IRQ_MSI_LIB is selected by drivers only, so a kernel without one of
 * them lacks the library.  With one domain level and nothing but MSI-X below
 * it, this is all that the library would do.
 */
static inline bool vhca_msi_lib_init(struct device *dev,
				     struct irq_domain *domain,
				     struct irq_domain *real_parent,
				     struct msi_domain_info *info)
{
	if (domain != real_parent ||
	    info->bus_token != DOMAIN_BUS_PCI_DEVICE_MSIX)
		return false;
	info->flags &= real_parent->msi_parent_ops->supported_flags;
	info->flags |= real_parent->msi_parent_ops->required_flags;
	return true;
}
#endif

#ifdef VHCA_HAVE_PARENT_DOMAIN
#define vhca_create_parent_domain	msi_create_parent_irq_domain
#else
/*
 * Before there was a function for it, whoever made a domain that others are built on for
 * each device said so in the domain itself.
 */
static inline struct irq_domain *
vhca_create_parent_domain(struct irq_domain_info *info, const struct msi_parent_ops *ops)
{
	struct irq_domain *domain;

	info->hwirq_max = info->size;
	info->bus_token = ops->bus_select_token;
	domain = irq_domain_instantiate(info);
	if (IS_ERR(domain))
		return NULL;
	domain->flags |= IRQ_DOMAIN_FLAG_MSI_PARENT;
	domain->msi_parent_ops = ops;
	return domain;
}
#endif

#ifndef VHCA_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* VHCA_COMPAT_H */
