# SPDX-License-Identifier: GPL-2.0
"""The virtual machine: which QEMU runs the guest, and how it is talked to."""

import ctypes
import fcntl
import json
import mmap
import os
import queue
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

KVM_CREATE_VM = 0xAE01
# The BARs of two virtual HCAs: memory that the kernel leaves alone.
WINDOW = 0x60000000
WINDOW_MIB = 128
# Older ones lose breakpoint traps while the guest patches its own code with
# several emulation threads: an oops in whatever ran then.
FIRST_QEMU_WITH_SOUND_THREADS = 11


class LabError(Exception):
    """The lab is broken: nothing was learned about the code under test."""


def kvm_is_usable():
    """A device node alone proves nothing: there are hosts whose KVM makes a VM and a
    processor, but has no hardware under it and dies at the first new instruction."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            flags = re.search(r"^flags\s*:(.*)$", info.read(), re.M)
    except OSError:
        return False
    if not flags or not {"vmx", "svm"} & set(flags[1].split()):
        return False
    try:
        kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.close(fcntl.ioctl(kvm, KVM_CREATE_VM, 0))
        return True
    except OSError:
        return False
    finally:
        os.close(kvm)


def tsc_khz():
    """The frequency of this host's time stamp counter."""
    # rdtsc; shl $32,%rdx; or %rdx,%rax; ret
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("0f3148c1e2204809d0c3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)
    clock, tsc = time.monotonic_ns(), rdtsc()
    time.sleep(0.1)
    return (rdtsc() - tsc) * 1000000 // (time.monotonic_ns() - clock)


class Emulator:
    """A QEMU binary with its options for this host."""

    def __init__(self, rootfs, override=None):
        if override:
            path = shutil.which(override)
            if not path:
                raise LabError(f"QEMU={override}: no such program")
            self.command = [path]
        else:
            # The root file system's own, through its own loader: no chroot is needed.
            lib = f"{rootfs}/usr/lib/x86_64-linux-gnu"
            self.command = [f"{rootfs}/lib64/ld-linux-x86-64.so.2", "--library-path", lib,
                            f"{rootfs}/usr/bin/qemu-system-x86_64",
                            "-L", f"{rootfs}/usr/share/qemu",
                            "-L", f"{rootfs}/usr/share/seabios"]
        try:
            said = subprocess.run(self.command[:4] + ["--version"], capture_output=True,
                                  text=True, timeout=30, check=True).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise LabError(f"{self.command[-1]} does not run: {error}") from error
        found = re.search(r"version (\d+)[.](\S+)", said)
        if not found:
            raise LabError(f"{self.command[-1]} --version printed no version")
        self.version = f"{found[1]}.{found[2]}"
        self.notes = []
        self.append = ""
        if kvm_is_usable():
            self.accel = "kvm"
            self.scale = 1
        else:
            threads = int(found[1]) >= FIRST_QEMU_WITH_SOUND_THREADS
            self.accel = "tcg,thread=" + ("multi" if threads else "single")
            # Emulated code is slow, and so are all deadlines.
            self.scale = 4
            # The guest has the host's counter, and on a busy host mistakes its frequency,
            # up to a clock that runs 17 times too fast.
            self.append = f"tsc_early_khz={tsc_khz()}"
            self.notes.append("no usable /dev/kvm: the guest is emulated (TCG), "
                              f"deadlines are {self.scale} times as long")
            if not threads:
                self.notes.append(f"QEMU {self.version} emulates all processors in one thread: "
                                  "true parallelism was not exercised")

    def describe(self):
        return f"QEMU {self.version}, {self.accel}"


class Channel(threading.Thread):
    """One serial port of the guest, read line by line into the machine's queue.

    Two FIFOs, as QEMU writes each character by itself: a socket is full after 278 of them, and
    a guest that has waited 10 ms for its port writes over what was not sent.
    """

    def __init__(self, name, path, events, log):
        super().__init__(daemon=True)
        self.name_ = name
        self.events = events
        self.log = log
        self.path = path
        for end in ("in", "out"):
            os.mkfifo(f"{path}.{end}")
        # Neither waits for QEMU to open the other end.
        self.source = os.open(f"{path}.out", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.sink = os.open(f"{path}.in", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.fcntl(self.source, fcntl.F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass        # more than this user may have

    def run(self):
        rest = b""
        wait = select.poll()
        wait.register(self.source, select.POLLIN)
        while wait.poll():
            data = os.read(self.source, 65536)
            if not data:
                break
            self.log.write(data.replace(b"\r", b""))
            self.log.flush()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.say(line)
        if rest:
            self.say(rest)
        self.events.put((self.name_, None))

    def say(self, line):
        self.events.put((self.name_, line.decode("utf-8", "replace").rstrip("\r")))

    def write(self, data):
        try:
            os.write(self.sink, data)
        except OSError:
            pass

    def close(self):
        """When QEMU has gone.  One that refused to start has never opened them, and it is the
        last writer's end that is the end."""
        os.close(os.open(f"{self.path}.out", os.O_WRONLY | os.O_NONBLOCK))
        self.join(5)
        os.close(self.source)
        os.close(self.sink)
        self.log.close()


class Shape:
    """What the guest's hardware is, as far as tests ask for another than the usual one."""

    def __init__(self, memory_mib=2048, cpus=2, cpu=None, devices=(), objects=()):
        self.memory_mib = memory_mib
        self.cpus = cpus
        self.cpu = cpu
        self.devices = devices
        self.objects = objects

    def options(self, accel):
        """The words that QEMU is given."""
        # With five levels of page tables each miss of the emulated TLB is longer, and now
        # and then KASAN's shadow is not there for an early interrupt.
        model = self.cpu or ("host" if accel == "kvm" else "max,la57=off")
        # An emulated IOMMU that remaps interrupts needs this, and all others bear it.
        machine = "q35" + (",kernel-irqchip=split" if self.devices and accel == "kvm" else "")
        words = ["-machine", machine, "-accel", accel, "-cpu", model,
                 "-smp", str(self.cpus), "-m", str(self.memory_mib)]
        for backend in self.objects:
            words += ["-object", backend]
        for device in self.devices:
            words += ["-device", device]
        return words

    def window(self):
        """The address of the virtual HCAs' memory, half a GiB below the end of RAM."""
        address = (self.memory_mib << 20) - (512 << 20)
        if address < 512 << 20:
            raise LabError(f"--memory {self.memory_mib}: expected 1024 MiB or more, "
                           "for a window that neither kernel nor initramfs is in")
        return min(address, WINDOW)

    def memmap(self):
        return f"memmap={WINDOW_MIB}M${self.window():#x}"


class Machine:
    """A running guest.  events yields (channel, line); a line of None ends a channel.

    guest is in the names of its logs.
    """

    def __init__(self, emulator, shape, kernel, initrd, append, results, guest=""):
        self.emulator = emulator
        self.events = queue.Queue()
        self.dir = tempfile.mkdtemp(prefix="uobjscope-vm-")
        # Appended to: a run that needs several guests has one log.
        self.channels = {
            name: Channel(name, f"{self.dir}/{name}", self.events,
                          open(os.path.join(results, log), "ab"))
            for name, log in (("console", f"console{guest}.log"),
                              ("tests", f"guest{guest}.log"), ("alive", "/dev/null"))}
        command = emulator.command + shape.options(emulator.accel) + [
            "-kernel", kernel, "-initrd", initrd, "-append", append,
            "-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-nic", "none",
            "-qmp", f"unix:{self.dir}/qmp,server=on,wait=off"]
        for name in self.channels:
            command += ["-chardev", f"pipe,id={name},path={self.dir}/{name}",
                        "-serial", f"chardev:{name}"]
        with open(os.path.join(results, f"qemu{guest}.command"), "w", encoding="utf-8") as out:
            out.write(" ".join(command) + "\n")
        for channel in self.channels.values():
            channel.start()
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=self.errors, stderr=self.errors)
        self.started = time.monotonic()

    def ask_who_is_blocked(self):
        """Sysrq over the serial line: the guest's own shell may be dead."""
        try:
            qmp = socket.socket(socket.AF_UNIX)
            qmp.settimeout(5)
            qmp.connect(f"{self.dir}/qmp")
            for command in ({"execute": "qmp_capabilities"},
                            {"execute": "chardev-send-break", "arguments": {"id": "console"}}):
                qmp.sendall(json.dumps(command).encode())
                time.sleep(0.3)
            self.channels["console"].write(b"w")
            qmp.close()
        except OSError:
            pass

    def what_qemu_said(self):
        self.errors.seek(0)
        return self.errors.read().strip()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for channel in self.channels.values():
            channel.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    """For shell.sh: print the emulator's command for the root file system given, a word a
    line, then the kernel arguments, then the parameter that gives the HCAs their memory."""
    try:
        emulator = Emulator(sys.argv[1], os.environ.get("QEMU"))
    except LabError as error:
        print(f"uobjscope: {error}", file=sys.stderr)
        return 125
    for note in emulator.notes:
        print("note: " + note, file=sys.stderr)
    shape = Shape()
    for word in emulator.command + shape.options(emulator.accel):
        print(word)
    print(f"{shape.memmap()} {emulator.append}".rstrip())
    print(f"bar_phys={shape.window():#x}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
