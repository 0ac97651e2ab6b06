# SPDX-License-Identifier: GPL-2.0
"""Runs of many parts, as make mutants, make matrix and make bench are: their results folder, and
work for several machines, or for later (LIST=N and RESUME=)."""

import datetime
import json
import os
import shlex

from machine import LabError


TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def make_results(target):
    """A new folder for the results of make target."""
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = os.path.join(TOP, "results", f"{target}-{stamp}-{os.getpid()}")
    os.makedirs(folder)
    return folder


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


def read_earlier(folder, target, key, fields):
    """What an earlier run of make target has left in target.json: all of it, and its records
    by the name that each has for itself, which is one mutant or one kernel: with these fields
    and no other."""
    path = os.path.join(folder, f"{target}.json")
    try:
        with open(path, encoding="utf-8") as text:
            earlier = json.load(text)
        records = {record[key]: {field: record[field] for field in fields}
                   for record in earlier[f"{key}s"]}
    except OSError as error:
        raise LabError(f"RESUME={folder}: {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"RESUME={folder}: {path} is not what make {target} writes") from error
    return earlier, records
