# SPDX-License-Identifier: GPL-2.0
"""The kernels that the suite is run on, as KERNEL= names them."""

import os
import re


class Lane:
    """series is the lab's kernel (scripts/lab/kernel.sh), append what it boots with."""

    def __init__(self, name, series, append="", memory_mib=2048, slowness=1, leaves_out=()):
        self.name = name
        self.series = series
        self.append = append
        self.memory_mib = memory_mib
        # What its checks cost, as a factor of all deadlines and timeouts.
        self.slowness = slowness
        # Programs that would learn nothing here, and why; they run if they are named.
        self.leaves_out = dict(leaves_out)

    def abilities(self, append):
        """What this kernel shows that others do not, with all that it is booted with."""
        shows = {"slab_debug"} if "slab_debug=" in append else set()
        if self.series.endswith("-debug"):
            shows |= {"kasan", "failslab", "lockdep"}
        return shows


NO_SWEEPS = {"fail_nth": "it takes minutes where the allocator checks (make run)"}
NO_CLOCK = {"idle.sh": "it measures time, which this lane's checks take (make run)"}


# Of coming and going cycles.sh has 20 rounds.  Where the allocator checks, a round takes
# three times as long, and sees more in it.
def slab(name, series):
    return Lane(name, series, "slab_debug=FZPU ROUNDS=8", leaves_out=NO_SWEEPS | NO_CLOCK)


# After the first report of KASAN all that follow count as well.  Its shadow, and what it
# holds back of freed memory, want room.
def debug(name, series):
    return Lane(name, series, "kasan_multi_shot ROUNDS=3 SLOW=4", 3072, 4,
                NO_CLOCK)


LANES = {
    "slab-7.2": slab("slab-7.2", "7.2"),
    "slab-7.3": slab("slab-7.3", "7.3"),
    "debug-7.2": debug("debug-7.2", "7.2-debug"),
    "debug-7.3": debug("debug-7.3", "7.3-debug"),
    "debug-own": debug("debug-own", "own-debug"),
    "own": Lane("own", "own"),
}
# Short for the first of its kind.
SHORT = {"slab": "slab-7.2", "debug": "debug-7.2"}


def lane(kernel):
    """The Lane of KERNEL=; a series that the lab does not know is the lab's to refuse."""
    kernel = SHORT.get(kernel, kernel)
    # Of a developer's own tree.
    if os.environ.get("KSRC") and kernel == SHORT["debug"]:
        kernel = "debug-own"
    if kernel in LANES:
        return LANES[kernel]
    stock = re.sub("^stock-", "", kernel)
    return Lane(f"stock-{stock}", stock)
