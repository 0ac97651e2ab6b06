// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capability.h"

int capability_set(int capability, bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	uint32_t *effective = &data[CAP_TO_INDEX(capability)].effective;

	if (syscall(SYS_capget, &header, data))
		return errno;
	if (on)
		*effective |= CAP_TO_MASK(capability);
	else
		*effective &= ~CAP_TO_MASK(capability);
	return syscall(SYS_capset, &header, data) ? errno : 0;
}
