# SPDX-License-Identifier: GPL-2.0
"""What the kernel holds for RDMA's user objects, as drgn reads it.

Nothing of uobjscope.ko is used: memory comes from /proc/kcore, the place of each
member from the DWARF of the distribution's own debug symbols, and what it means from
the kernel's source.  vmlinux is not needed, since the symbols of a module describe
every structure that the module uses.

Records have the keys of a snapshot (Documentation/uobjscope.rst), with addresses in
place of ids and tokens.  No lock is taken: what is looked at must be at rest.
"""

import os
import struct

from drgn import Object, Program, cast, container_of
from drgn.helpers.linux.bitmap import bitmap_weight
from drgn.helpers.linux.bitops import test_bit
from drgn.helpers.linux.list import list_count_nodes, list_empty, list_for_each_entry
from drgn.helpers.linux.xarray import xa_for_each, xa_is_zero, xa_load

MODULES = ("ib_core", "ib_uverbs", "ib_uverbs_support", "mlx5_ib")
# The operations by which RDMA imports dma-bufs.
IMPORTERS = ("mlx5_ib_dmabuf_attach_ops", "ib_umem_dmabuf_attach_pinned_ops",
             "ib_umem_dmabuf_attach_pinned_revocable_ops")
SYMBOLS = "/usr/lib/debug/lib/modules"
PAGE_SHIFT = 12


class Unreadable(Exception):
    """This kernel cannot be read, why, and the way out."""


def symbols_of(module):
    """The file with the symbols of a module, or None."""
    for folder, _, files in os.walk(os.path.join(SYMBOLS, os.uname().release)):
        for name in (module + ".ko", module + ".ko.debug"):
            if name in files:
                return os.path.join(folder, name)
    return None


def build_id(module):
    """What tells whether symbols are those of the module that is loaded."""
    with open(f"/sys/module/{module}/notes/.note.gnu.build-id", "rb") as note:
        data = note.read()
    name_size, size, _ = struct.unpack_from("III", data)
    begin = 12 + (name_size + 3) // 4 * 4
    return data[begin:begin + size]


def sections(module):
    """Where the sections of a module are, by name."""
    folder = f"/sys/module/{module}/sections"
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="ascii") as address:
            found[name] = int(address.read(), 16)
    return found


def load(program, module):
    """drgn finds loaded modules by vmlinux's symbols only, so it is told of each."""
    if not os.path.isdir(f"/sys/module/{module}"):
        raise Unreadable(f"{module} is not loaded, or is no module: load it")
    path = symbols_of(module)
    if path is None:
        raise Unreadable(f"no symbols of {module} in {SYMBOLS}/{os.uname().release}: "
                         "install the debug symbols of this kernel (linux-image-*-dbg)")
    where = sections(module)
    loaded = program.relocatable_module(module, min(where.values()), create=True)
    loaded.build_id = build_id(module)
    for name, address in where.items():
        loaded.section_addresses[name] = address
    loaded.try_file(path)
    if loaded.wants_debug_file():
        raise Unreadable(f"{path} is not of the {module} that is loaded: "
                         "install the debug symbols of exactly this kernel")


def kref(counter):
    """kref_read()"""
    return counter.refcount.refs.counter.value_()


def file_count(file):
    """file_count(): a file_ref_t holds one less than there are references."""
    return file.f_ref.refcnt.counter.value_() + 1


def dev_name(device):
    """dev_name()"""
    name = device.init_name or device.kobj.name
    return name.string_().decode()


class Kernel:
    """The live kernel."""

    def __init__(self):
        self.program = Program()
        try:
            self.program.set_kernel()
            for module in MODULES:
                load(self.program, module)
        except OSError as error:
            raise Unreadable(f"{error}: the kernel must have /proc/kcore, and not be "
                             "locked down") from error
        self.closed = set()     # addresses of ufiles whose file was closed first
        self.types = dict(self.enum("uverbs_default_objects", "UVERBS_OBJECT_"))
        self.types.update((n, "MLX5_" + name)
                          for n, name in self.enum("mlx5_ib_objects", "MLX5_IB_OBJECT_"))
        self.kinds = dict(self.enum("mlx5_ib_mmap_type", "MLX5_IB_MMAP_TYPE_"))
        self.dm_types = {n: name.lower() for n, name in
                         self.enum("mlx5_ib_uapi_dm_type", "MLX5_IB_UAPI_DM_TYPE_")}

        self.importers = {}
        for name in IMPORTERS:
            try:
                self.importers[self.program.variable(name).address_] = name
            except LookupError:
                # Not every kernel has all of them.
                pass

    def enum(self, name, prefix):
        """The enumerators of an enum as (value, name without prefix)."""
        for e in self.program.type(f"enum {name}").enumerators:
            if e.name.startswith(prefix):
                yield e.value, e.name[len(prefix):]

    def records(self, unlisted):
        """Everything that the devices lead to, and the ufiles at the addresses given,
        which no device may lead to any more: lists of records by kind."""
        found = {kind: [] for kind in ("device", "ufile", "uobj", "mmap", "vma", "attach")}
        seen = set()
        client = self.program["uverbs_client"].client_id
        for _, pointer in xa_for_each(self.program["devices"].address_of_()):
            ibdev = cast("struct ib_device *", pointer)
            uverbs = cast("struct ib_uverbs_device *",
                          xa_load(ibdev.client_data.address_of_(), client))
            if not uverbs:
                continue
            ufiles = list(list_for_each_entry("struct ib_uverbs_file",
                                              uverbs.uverbs_file_list.address_of_(), "list"))
            found["device"].append(self.device(ibdev, uverbs))
            for ufile in ufiles:
                seen.add(ufile.value_())
                self.ufile(found, ufile)
        for address in unlisted:
            if address not in seen:
                self.ufile(found, Object(self.program, "struct ib_uverbs_file *", address))
        for device in found["device"]:
            device["ufiles"] = sum(u["device"] == device["name"] for u in found["ufile"])
        return found

    def device(self, ibdev, uverbs):
        """A device record, but for its ufiles."""
        dev = container_of(ibdev, "struct mlx5_ib_dev", "ib_dev")
        table = dev.var_table
        record = {"name": ibdev.name.string_().decode(), "uverbs": dev_name(uverbs.dev),
                  "pci": dev_name(ibdev.dev.parent)}
        for name, region in (("var", table.var_region), ("tlp_var", table.tlp_var_region)):
            if region.bitmap:
                entries = region.num_var_hw_entries
                record[name + "_used"] = bitmap_weight(region.bitmap, entries)
                record[name + "_entries"] = entries.value_()
        pages = dev.dm.memic_alloc_pages
        record["memic_pages_used"] = bitmap_weight(pages, pages.type_.length * 64)
        return record

    def ufile(self, found, ufile):
        """A ufile record, and those of all that it has."""
        uverbs = ufile.device
        ibdev = uverbs.ib_dev
        ucontext = ufile.ucontext
        listed = not list_empty(ufile.list.address_of_())
        record = {
            "ufile": ufile.value_(), "uverbs": dev_name(uverbs.dev), "listed": int(listed),
            "device": ibdev.name.string_().decode() if ibdev else "-", "ref": kref(ufile.ref),
            "umaps": list_count_nodes(ufile.umaps.address_of_()),
            "state": self.state(ufile.value_(), ucontext, ibdev, listed)}
        if ucontext:
            record["ctxn"] = ucontext.res.id.value_()
        self.vmas(found, ufile)
        if ucontext:
            self.mmaps(found, ufile, ucontext)
        reserved, uobjects = self.uobjects(found, ufile)
        record["uobjects"] = uobjects
        if reserved:
            record["reserved"] = reserved
        found["ufile"].append(record)

    def state(self, address, ucontext, ibdev, listed):
        """Once the device is gone, nothing in a ufile says whether its file was closed
        before; so that is remembered."""
        if ucontext or ibdev:
            self.closed.discard(address)
        if ucontext:
            return "live"
        if ibdev and listed:
            return "nocontext"
        if ibdev:
            self.closed.add(address)
        return "closed" if address in self.closed else "disassociated"

    def vmas(self, found, ufile):
        """The mappings of a ufile that are not zapped."""
        for priv in list_for_each_entry("struct rdma_umap_priv", ufile.umaps.address_of_(),
                                        "list"):
            vma = priv.vma
            found["vma"].append({
                "ufile": ufile.value_(), "pid": vma.vm_mm.owner.tgid.value_(),
                "start": vma.vm_start.value_(), "end": vma.vm_end.value_(),
                "entry": priv.entry.value_()})

    def mmaps(self, found, ufile, ucontext):
        """The mmap entries of a ufile; each is in the array once for each of its pages."""
        seen = set()
        for _, pointer in xa_for_each(ucontext.mmap_xa.address_of_()):
            entry = cast("struct rdma_user_mmap_entry *", pointer)
            if entry.value_() in seen:
                continue
            seen.add(entry.value_())
            mentry = container_of(entry, "struct mlx5_user_mmap_entry", "rdma_entry")
            kind = self.kinds[mentry.mmap_flag.value_()]
            record = {
                "ufile": ufile.value_(), "entry": entry.value_(), "kind": kind,
                "pgoff": entry.start_pgoff.value_(), "npages": entry.npages.value_(),
                "ref": kref(entry.ref), "driver_removed": int(entry.driver_removed.value_()),
                "dmabufs": list_count_nodes(entry.dmabufs.address_of_()),
                "vmas": sum(v["entry"] == entry.value_() for v in found["vma"]),
                "addr": mentry.address.value_()}
            if kind in ("VAR", "TLP_VAR"):
                record.update(self.page(ucontext.device, mentry, kind))
            elif kind.startswith("UAR"):
                record["page_id"] = mentry.page_idx.value_()
            elif kind == "MEMIC":
                record.update(self.memic(container_of(mentry, "struct mlx5_ib_dm_memic",
                                                      "mentry")))
            elif kind == "MEMIC_OP":
                op = container_of(mentry, "struct mlx5_ib_dm_op_entry", "mentry")
                record.update(self.memic(op.dm), op=op.op.value_())
            record.pop("dm_type", None)
            found["mmap"].append(record)

    @staticmethod
    def page(ibdev, mentry, kind):
        """A VAR's page, and its bit."""
        table = container_of(ibdev, "struct mlx5_ib_dev", "ib_dev").var_table
        region = table.var_region if kind == "VAR" else table.tlp_var_region
        return {"page_id": mentry.page_idx.value_(),
                "var_bit": int(test_bit(mentry.page_idx, region.bitmap))}

    def memic(self, memic):
        """Device memory."""
        dm = memic.base
        return {"length": dm.ibdm.length.value_(), "dm_users": dm.ibdm.usecnt.counter.value_(),
                "dm_type": self.dm_types[dm.type.value_()], "dev_addr": dm.dev_addr.value_(),
                "dm_size": dm.size.value_(), "dm_ref": kref(memic.ref),
                "ops": sum(1 for _ in xa_for_each(memic.ops.address_of_()))}

    def uobjects(self, found, ufile):
        """The uobjects of a ufile: handles that lead nowhere yet, and all others.  What
        is on the ufile's list and has no handle is of class fd."""
        reserved = 0
        handles = []
        for _, pointer in xa_for_each(ufile.idr.address_of_(), advanced=True):
            if xa_is_zero(pointer):
                reserved += 1
            else:
                handles.append(cast("struct ib_uobject *", pointer))
        known = {uobj.value_() for uobj in handles}
        others = [uobj for uobj in list_for_each_entry("struct ib_uobject",
                                                       ufile.uobjects.address_of_(), "list")
                  if uobj.value_() not in known]
        for which, uobjs in (("idr", handles), ("fd", others)):
            for uobj in uobjs:
                self.uobject(found, ufile, uobj, which)
        return reserved, len(handles) + len(others)

    def uobject(self, found, ufile, uobj, which):
        """A uobj record."""
        number = uobj.uapi_object.id.value_()
        alive = bool(uobj.object and uobj.context)
        usecnt = uobj.usecnt.counter.value_()
        record = {
            "ufile": ufile.value_(), "type": self.types[number], "type_id": number,
            "class": which, "ref": kref(uobj.ref), "usecnt": usecnt,
            "state": "dead" if not alive else
                     "committing" if which == "fd" and uobj.id else
                     "locked" if usecnt < 0 else "live",
            "object": int(bool(uobj.object))}
        if which == "idr":
            record["handle"] = uobj.id.value_()
        read = {"PD": self.pd, "CQ": self.cq, "QP": self.qp, "MR": self.mr, "DM": self.dm,
                "MLX5_VAR": self.var, "MLX5_UAR": self.uar}.get(record["type"])
        if read and alive:
            record.update(read(ufile, uobj.object))
        if record["type"] == "DMABUF":
            record.update(self.dmabuf(found, ufile, uobj))
        found["uobj"].append(record)

    @staticmethod
    def pd(_, pointer):
        """Protection domain"""
        pd = cast("struct ib_pd *", pointer)
        return {"pdn": pd.res.id.value_(), "users": pd.usecnt.counter.value_()}

    @staticmethod
    def cq(_, pointer):
        """Completion queue"""
        cq = cast("struct ib_cq *", pointer)
        return {"cqn": cq.res.id.value_(), "cqe": cq.cqe.value_(),
                "users": cq.usecnt.counter.value_()}

    @staticmethod
    def qp(_, pointer):
        """Queue pair"""
        qp = cast("struct ib_qp *", pointer)
        return {"lqpn": qp.qp_num.value_(), "pdn": qp.pd.res.id.value_()}

    @staticmethod
    def mr(_, pointer):
        """Memory region"""
        mr = cast("struct ib_mr *", pointer)
        record = {"mrn": mr.res.id.value_(), "lkey": mr.lkey.value_(),
                  "mrlen": mr.length.value_(), "pdn": mr.pd.res.id.value_()}
        if mr.dm:
            memic = container_of(mr.dm, "struct mlx5_ib_dm_memic", "base.ibdm")
            record["dm"] = memic.mentry.rdma_entry.address_of_().value_()
        umem = container_of(mr, "struct mlx5_ib_mr", "ibmr").umem
        if umem and umem.is_dmabuf:
            attached = container_of(umem, "struct ib_umem_dmabuf", "umem").attach
            record["dmabuf_ino"] = attached.dmabuf.file.f_inode.i_ino.value_()
        return record

    def dm(self, _, pointer):
        """Device memory; MEMIC is all that is made here"""
        memic = container_of(cast("struct ib_dm *", pointer), "struct mlx5_ib_dm_memic",
                             "base.ibdm")
        return {"entry": memic.mentry.rdma_entry.address_of_().value_(), **self.memic(memic)}

    def var(self, ufile, pointer):
        """Doorbell page"""
        mentry = cast("struct mlx5_user_mmap_entry *", pointer)
        kind = self.kinds[mentry.mmap_flag.value_()]
        return {"entry": mentry.rdma_entry.address_of_().value_(),
                **self.page(ufile.ucontext.device, mentry, kind)}

    @staticmethod
    def uar(_, pointer):
        """User access region"""
        mentry = cast("struct mlx5_user_mmap_entry *", pointer)
        return {"entry": mentry.rdma_entry.address_of_().value_(),
                "page_id": mentry.page_idx.value_()}

    def dmabuf(self, found, ufile, uobj):
        """DMABUF and, since it is on the list, its dma-buf with all attachments."""
        file = container_of(uobj, "struct ib_uverbs_dmabuf_file", "uobj")
        record = {"kref": kref(file.kref), "revoked": file.revoked.value_(),
                  "entry": file.mmap_entry.value_()}
        dmabuf = file.dmabuf
        if not dmabuf:
            return record
        ino = dmabuf.file.f_inode.i_ino.value_()
        for attachment in list_for_each_entry("struct dma_buf_attachment",
                                              dmabuf.attachments.address_of_(), "node"):
            found["attach"].append({"ufile": ufile.value_(), "ino": ino,
                                    **self.attachment(attachment)})
        record.update(ino=ino, file_ref=file_count(dmabuf.file), size=dmabuf.size.value_())
        return record

    def attachment(self, attachment):
        """An attachment by ib_core's importer, whose MR is mlx5_ib's."""
        ops = attachment.importer_ops
        umem = cast("struct ib_umem_dmabuf *", attachment.importer_priv)
        mr = cast("struct mlx5_ib_mr *", umem.private).ibmr
        return {
            "device": dev_name(attachment.dev), "peer2peer": int(attachment.peer2peer.value_()),
            "invalidate": int(bool(ops.invalidate_mappings)),
            "importer": self.importers.get(ops.value_()), "umem": 1,
            "ibdev": dev_name(umem.umem.ibdev.dev), "mapped": int(bool(umem.sgt)),
            "pinned": umem.pinned.value_(), "revoked": umem.revoked.value_(),
            "offset": umem.umem.address.value_(), "length": umem.umem.length.value_(),
            "mrn": mr.res.id.value_(), "lkey": mr.lkey.value_()}
