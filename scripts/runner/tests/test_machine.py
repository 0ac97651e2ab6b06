# SPDX-License-Identifier: GPL-2.0
"""What comes of a serial line whose reader is late, whose QEMU is silent, or has gone."""

import os
import queue
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from machine import Channel                                             # noqa: E402


class SerialLine(unittest.TestCase):
    """The test writes as QEMU does: one character at a time, and never waits."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="uobjscope-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "line")
        self.events = queue.Queue()
        self.channel = Channel("line", self.path, self.events, open(self.path + ".log", "wb"))
        self.qemu = os.open(self.path + ".out", os.O_RDWR | os.O_NONBLOCK)

    def end(self):
        """QEMU goes; all that was read."""
        os.close(self.qemu)
        lines = []
        while True:
            name, line = self.events.get(timeout=10)
            self.assertEqual(name, "line")
            if line is None:
                break
            lines.append(line)
        self.channel.close()
        return lines

    def write(self, text):
        for character in text:
            os.write(self.qemu, character.encode())

    def test_late_reader_misses_nothing(self):
        lines = [f"line {n} of many" for n in range(2000)]
        self.write("".join(line + "\r\n" for line in lines))
        self.channel.start()
        self.assertEqual(self.end(), lines)
        with open(self.path + ".log", encoding="utf-8") as log:
            self.assertEqual(log.read().splitlines(), lines)

    def test_pause_is_no_end(self):
        self.channel.start()
        self.write("before\n")
        self.assertEqual(self.events.get(timeout=10), ("line", "before"))
        time.sleep(0.3)
        self.write("after\n")
        self.assertEqual(self.end(), ["after"])

    def test_qemu_that_never_starts(self):
        os.close(self.qemu)
        channel = Channel("never", self.path + ".never", self.events,
                          open(os.devnull, "wb"))
        channel.start()
        channel.close()
        self.assertEqual(self.events.get(timeout=10), ("never", None))
        self.assertFalse(channel.is_alive())
        self.channel.start()
        self.channel.close()

    def test_line_that_was_not_ended(self):
        self.channel.start()
        self.write("whole\ncut sh")
        self.assertEqual(self.end(), ["whole", "cut sh"])

    def test_what_is_written_arrives(self):
        self.channel.start()
        taken = os.open(self.path + ".in", os.O_RDWR)
        self.channel.write(b"w")
        reader = threading.Thread(target=lambda: self.events.put(os.read(taken, 1)), daemon=True)
        reader.start()
        self.assertEqual(self.events.get(timeout=10), b"w")
        os.close(taken)
        self.end()


if __name__ == "__main__":
    unittest.main()
