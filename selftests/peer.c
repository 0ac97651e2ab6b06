// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that is a program of its own, so that it can be of another word size than the tests
 * are: UOBJSCOPE_PEER names it, see common/peer.h.
 */
#include <stdio.h>

#include "common/peer.h"

int main(int argc, char **argv)
{
	if (!peer_is_wanted(argc, argv)) {
		fprintf(stderr, "%s: started by a test, see UOBJSCOPE_PEER\n", argv[0]);
		return 2;
	}
	return peer_main(argv);
}
