# SPDX-License-Identifier: GPL-2.0
"""Guests side by side: a guest's tests use one processor most of the time, so two of them
take little longer than one."""

import queue
import threading


def run_all(tasks, at_once):
    """Call all tasks, in their order as far as there is room; at_once of them at a time.

    The first exception of a task is raised here when those that have begun have ended; no
    other task is begun then.  On an exception of this thread, an interrupt say, it is left
    at once: the threads are daemons.
    """
    todo = queue.SimpleQueue()
    for task in tasks:
        todo.put(task)
    errors = []

    def work():
        while not errors:
            try:
                task = todo.get_nowait()
            except queue.Empty:
                return
            try:
                task()
            except BaseException as error:    # pylint: disable=broad-except
                errors.append(error)

    workers = [threading.Thread(target=work, daemon=True)
               for _ in range(min(at_once, len(tasks)))]
    for worker in workers:
        worker.start()
    for worker in workers:
        # Without a timeout an interrupt would wait as well.
        while worker.is_alive():
            worker.join(0.5)
    if errors:
        raise errors[0]
