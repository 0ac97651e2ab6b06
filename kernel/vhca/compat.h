/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between the kernels that this module builds for.
 * What can be asked of the configuration is asked there, not of the version.
 */
#ifndef VHCA_COMPAT_H
#define VHCA_COMPAT_H

#include <linux/irqdomain.h>
#include <linux/msi.h>

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

#endif /* VHCA_COMPAT_H */
