// SPDX-License-Identifier: GPL-2.0
/*
 * Known faults that take the kernel with them where it does not have the fix.
 *
 * No test here knows of any pardon: it passes where the fault is fixed.  Where it is
 * not, the kernel log has an oops or a task that hangs, which own_guest beside this
 * program describes; a runner that gives each test a machine of its own, and says so by
 * OWN_GUEST in the environment, looks for that.
 */
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/known.h"

FIXTURE(known_crash)
{
	struct bed bed;
};

FIXTURE_SETUP(known_crash)
{
	if (!getenv("OWN_GUEST")) {
		bed_mark(_metadata, "begin");
		bed_mark(_metadata, "end");
		SKIP(return, "may take the kernel down: set OWN_GUEST=1 where that does no harm");
	}
	bed_make(_metadata, &self->bed, true);
}

FIXTURE_TEARDOWN(known_crash)
{
	bed_unmake(_metadata, &self->bed);
}

TEST_F(known_crash, l26_devx_short_input)
{
	int seen;

	if (known_reproduce(_metadata, "l26_devx_short_input", self->bed.dev.name, &seen))
		ASSERT_EQ(0, seen);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
