// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/mlx5_raw_command: firmware commands of one's own to an mlx5 device,
 * behind the back of its drivers, to see what the device does with them.
 *
 * It asks nothing and checks nothing of a command but its length, so whoever
 * may use it can do to the device what the driver can, and to the machine what
 * the device can.  It is for a virtual HCA in a machine that may crash.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mlx5/driver.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "mlx5_raw_command.h"

/* mlx5_core looks at opcode, uid and status wherever a message ends. */
#define RAW_HEADER	16

/**
 * struct raw_file - an open file
 * @lock: guards all that follows
 * @pdev: the function that the memory is for, NULL while there is none
 * @cpu: the memory
 * @dma: its DMA address
 * @size: bytes of it
 * @returned: no object is on it any more
 */
struct raw_file {
	struct mutex	lock;	/* see above */
	struct pci_dev	*pdev;
	void		*cpu;
	dma_addr_t	dma;
	size_t		size;
	bool		returned;
};

/* The function, with a reference, or an error. */
static struct pci_dev *raw_function(const struct mlx5_raw_function *function)
{
	struct pci_dev *pdev;

	if (function->reserved)
		return ERR_PTR(-EINVAL);
	pdev = pci_get_domain_bus_and_slot(function->domain, function->bus,
					   function->devfn);
	return pdev ?: ERR_PTR(-ENODEV);
}

/* The driver's own structure of a function; the device's lock is held. */
static struct mlx5_core_dev *raw_core_dev(struct pci_dev *pdev)
{
	device_lock_assert(&pdev->dev);
	/* A bus has but one driver of a name. */
	if (!pdev->dev.driver || strcmp(pdev->dev.driver->name, "mlx5_core"))
		return NULL;
	return pci_get_drvdata(pdev);
}

/*
 * Two locks keep the command queue in place: with the device's own the driver
 * stays bound, and with intf_state_mutex it does not take the queue away and
 * set it up again, as it does to recover from an error.  Both are held by the
 * driver itself while it sends commands, in this order.
 */
static int raw_send(struct pci_dev *pdev, void *in, u32 in_len, void *out,
		    u32 out_len)
{
	struct mlx5_core_dev *mdev;
	int err;

	err = device_lock_interruptible(&pdev->dev);
	if (err)
		return err;
	mdev = raw_core_dev(pdev);
	if (!mdev) {
		err = -ENODEV;
		goto out_unlock;
	}
	err = mutex_lock_interruptible(&mdev->intf_state_mutex);
	if (err)
		goto out_unlock;
	if (test_bit(MLX5_INTERFACE_STATE_UP, &mdev->intf_state))
		err = mlx5_cmd_do(mdev, in, in_len, out, out_len);
	else
		err = -ENXIO;
	mutex_unlock(&mdev->intf_state_mutex);
out_unlock:
	device_unlock(&pdev->dev);
	/* The device has refused: that is an answer. */
	return err == -EREMOTEIO ? 0 : err;
}

static long raw_execute(void __user *argument)
{
	struct mlx5_raw_command command;
	struct pci_dev *pdev;
	void *in, *out;
	long err;

	if (copy_from_user(&command, argument, sizeof(command)))
		return -EFAULT;
	if (command.in_len > MLX5_RAW_COMMAND_MAX ||
	    command.out_len > MLX5_RAW_COMMAND_MAX)
		return -EMSGSIZE;
	pdev = raw_function(&command.function);
	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	in = kvzalloc(max_t(u32, command.in_len, RAW_HEADER), GFP_KERNEL);
	out = kvzalloc(max_t(u32, command.out_len, RAW_HEADER), GFP_KERNEL);
	if (!in || !out) {
		err = -ENOMEM;
		goto out_free;
	}
	if (copy_from_user(in, u64_to_user_ptr(command.in), command.in_len)) {
		err = -EFAULT;
		goto out_free;
	}
	err = raw_send(pdev, in, command.in_len, out, command.out_len);
	if (!err && copy_to_user(u64_to_user_ptr(command.out), out,
				 command.out_len))
		err = -EFAULT;
out_free:
	kvfree(out);
	kvfree(in);
	pci_dev_put(pdev);
	return err;
}

static long raw_memory(struct raw_file *raw, void __user *argument)
{
	struct mlx5_raw_memory memory;
	struct pci_dev *pdev;
	long err = 0;

	if (copy_from_user(&memory, argument, sizeof(memory)))
		return -EFAULT;
	if (memory.reserved || !memory.size ||
	    !IS_ALIGNED(memory.size, PAGE_SIZE) ||
	    memory.size > MLX5_RAW_COMMAND_MAX_MEMORY)
		return -EINVAL;
	pdev = raw_function(&memory.function);
	if (IS_ERR(pdev))
		return PTR_ERR(pdev);

	mutex_lock(&raw->lock);
	if (raw->pdev) {
		err = -EBUSY;
		goto err_unlock;
	}
	/* The driver sets the DMA mask. */
	err = device_lock_interruptible(&pdev->dev);
	if (err)
		goto err_unlock;
	if (raw_core_dev(pdev)) {
		raw->cpu = dma_alloc_coherent(&pdev->dev, memory.size,
					      &raw->dma, GFP_KERNEL);
		err = raw->cpu ? 0 : -ENOMEM;
	} else {
		err = -ENODEV;
	}
	device_unlock(&pdev->dev);
	if (err)
		goto err_unlock;
	raw->size = memory.size;
	raw->pdev = pdev;
	mutex_unlock(&raw->lock);
	/* If this fails the address is lost, and with it all use of it. */
	memory.address = raw->dma;
	return copy_to_user(argument, &memory, sizeof(memory)) ? -EFAULT : 0;

err_unlock:
	mutex_unlock(&raw->lock);
	pci_dev_put(pdev);
	return err;
}

static long raw_return(struct raw_file *raw)
{
	guard(mutex)(&raw->lock);
	if (!raw->pdev)
		return -EINVAL;
	raw->returned = true;
	return 0;
}

static long raw_ioctl(struct file *file, unsigned int request,
		      unsigned long argument)
{
	switch (request) {
	case MLX5_RAW_COMMAND_EXECUTE:
		return raw_execute((void __user *)argument);
	case MLX5_RAW_COMMAND_MEMORY:
		return raw_memory(file->private_data, (void __user *)argument);
	case MLX5_RAW_COMMAND_RETURN:
		return raw_return(file->private_data);
	default:
		return -ENOTTY;
	}
}

static int raw_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct raw_file *raw = file->private_data;

	guard(mutex)(&raw->lock);
	if (!raw->pdev)
		return -EINVAL;
	return dma_mmap_coherent(&raw->pdev->dev, vma, raw->cpu, raw->dma,
				 raw->size);
}

static int raw_open(struct inode *inode, struct file *file)
{
	struct raw_file *raw;

	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	raw = kzalloc_obj(*raw);
	if (!raw)
		return -ENOMEM;
	mutex_init(&raw->lock);
	file->private_data = raw;
	return nonseekable_open(inode, file);
}

/*
 * A program that dies leaves its objects with the device, which goes on using
 * the memory: then it is better lost than given to somebody else.
 */
static int raw_release(struct inode *inode, struct file *file)
{
	struct raw_file *raw = file->private_data;

	if (raw->pdev) {
		if (raw->returned)
			dma_free_coherent(&raw->pdev->dev, raw->size, raw->cpu,
					  raw->dma);
		else
			pr_warn("%zu bytes of memory that %s may still use are lost: no MLX5_RAW_COMMAND_RETURN\n",
				raw->size, pci_name(raw->pdev));
		pci_dev_put(raw->pdev);
	}
	mutex_destroy(&raw->lock);
	kfree(raw);
	return 0;
}

static const struct file_operations raw_fops = {
	.owner		= THIS_MODULE,
	.open		= raw_open,
	.release	= raw_release,
	.unlocked_ioctl	= raw_ioctl,
	.mmap		= raw_mmap,
};

static struct miscdevice raw_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= KBUILD_MODNAME,
	.fops	= &raw_fops,
	.mode	= 0600,
};
module_misc_device(raw_device);
MODULE_DESCRIPTION("Firmware commands of one's own to an mlx5 device, for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
