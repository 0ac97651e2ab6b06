# SPDX-License-Identifier: GPL-2.0
"""Work for several machines: LIST=N of make mutants and make matrix."""

import shlex

from machine import LabError


def print_jobs(number, target, variable, names, given):
    """A shell line for each of so many jobs, which together do all that has these names.
    given: more (variable, value), of which empty ones are left out."""
    if not number.isdecimal() or not int(number):
        raise LabError(f"LIST={number}: how many jobs, 1 or more, was expected")
    more = [f"{name}={shlex.quote(value)}" for name, value in given if value]
    count = min(int(number), len(names))
    for job in range(count):
        mine = shlex.quote(" ".join(names[job::count]))
        print(" ".join(["make", target, f"{variable}={mine}", *more]))
