#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What the modules' Kbuild files ask of a kernel's source, each question in both directions:
of small trees that have what newer kernels have, and what 6.12 has in its place."""

import os
import re
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODULES = ("importer", "uobjscope", "vhca")
PRIVATE = "drivers/infiniband/"

# For each question: who asks, what the answer defines or compiles, the file that is asked,
# its text where the answer is yes, and where it is no.
PROBES = (
    ("vhca", "-DVHCA_HAVE_TLP_VAR", "include/linux/mlx5/mlx5_ifc.h",
     "\tu8         tlp_device_emulation_manager[0x1];", "\tu8         reserved_at_1c0[0x1];"),
    ("vhca", "cmd_caps_tlp.o", "include/linux/mlx5/mlx5_ifc.h",
     "\tu8         tlp_device_emulation_manager[0x1];", ""),
    ("vhca", "-DVHCA_HAVE_ORDERING", "include/linux/mlx5/mlx5_ifc.h",
     "\tu8         dp_ordering_ooo_all_rc[0x1];", "\tu8         dp_ordering_ooo_all[0x1];"),
    ("vhca", "cmd_caps_ordering.o", "include/linux/mlx5/mlx5_ifc.h",
     "\tu8         dp_ordering_ooo_all_rc[0x1];", ""),
    ("vhca", "-DVHCA_HAVE_PARENT_DOMAIN", "include/linux/msi.h",
     "struct irq_domain *msi_create_parent_irq_domain(struct irq_domain_info *info,",
     "struct irq_domain *msi_create_irq_domain(struct fwnode_handle *fwnode,"),
    ("vhca", "-DVHCA_HAVE_HRTIMER_SETUP", "include/linux/hrtimer.h",
     "extern void hrtimer_setup(struct hrtimer *timer,",
     "extern void hrtimer_init(struct hrtimer *timer,\n\t\t  hrtimer_setup_sleeper)"),
    ("importer", "-DIMPORTER_HAVE_INVALIDATE_MAPPINGS", "include/linux/dma-buf.h",
     "\tvoid (*invalidate_mappings)(struct dma_buf_attachment *attach);",
     "\tvoid (*move_notify)(struct dma_buf_attachment *attach);"),
    ("importer", "-DIMPORTER_HAVE_INLINE_FENCE_LOCK", "include/linux/dma-fence.h",
     "\t\tspinlock_t inline_lock;", "\tspinlock_t *lock;"),
    ("importer", "-DIMPORTER_NAMESPACE_IS_NO_STRING", "include/linux/module.h",
     "#define MODULE_IMPORT_NS(ns)\tMODULE_INFO(import_ns, __stringify(ns))",
     "#define MODULE_IMPORT_NS(ns)\tMODULE_INFO(import_ns, ns)"),
    ("uobjscope", "-DSCOPE_NAMESPACE_IS_NO_STRING", "include/linux/module.h",
     "#define MODULE_IMPORT_NS(ns)\tMODULE_INFO(import_ns, __stringify(ns))",
     "#define MODULE_IMPORT_NS(ns)\tMODULE_INFO(import_ns, ns)"),
    ("uobjscope", "-DSCOPE_HAVE_TRY_LOCK_OBJECT", "include/rdma/uverbs_types.h",
     "int uverbs_try_lock_object(struct ib_uobject *uobj, enum rdma_lookup_mode mode);",
     " *   lookup_get(exclusive=false) & uverbs_try_lock_object"),
    ("uobjscope", "-DSCOPE_HAVE_RELEASE_FILE", PRIVATE + "core/rdma_core.c",
     'EXPORT_SYMBOL_NS_GPL(ib_uverbs_release_file, "rdma_core");',
     "void ib_uverbs_release_file(struct kref *ref)"),
    ("uobjscope", "-DSCOPE_HAVE_DMABUF", PRIVATE + "core/uverbs.h",
     "struct ib_uverbs_dmabuf_file {", "struct ib_uverbs_event_file {"),
    ("uobjscope", "objects_dmabuf.o", PRIVATE + "core/uverbs.h",
     "struct ib_uverbs_dmabuf_file {", ""),
    ("uobjscope", "-DSCOPE_HAVE_TLP_VAR", "include/linux/mlx5/mlx5_ifc.h",
     "\tu8         tlp_device_emulation_manager[0x1];", "\tu8         reserved_at_1c0[0x1];"),
    ("uobjscope", "-DSCOPE_HAVE_FILE_REF", "include/linux/file_ref.h",
     "static __always_inline bool file_ref_get(file_ref_t *ref)", None),
    ("uobjscope", "-DSCOPE_HAVE_FGET_TASK_NEXT", "include/linux/file.h",
     "extern struct file *fget_task_next(struct task_struct *task, unsigned int *fd);",
     "extern struct file *fget_task(struct task_struct *task, unsigned int fd);"),
    ("uobjscope", "-DSCOPE_HAVE_DEBUGFS_CHANGE_NAME", "include/linux/debugfs.h",
     "int debugfs_change_name(struct dentry *dentry, const char *fmt, ...) __printf(2, 3);",
     "struct dentry *debugfs_rename(struct dentry *old_dir, struct dentry *old_dentry,"),
    ("uobjscope", "-DSCOPE_HAVE_DMAH", "include/rdma/ib_verbs.h",
     "struct ib_dmah {", "struct ib_dm {"),
    ("uobjscope", "-DSCOPE_HAVE_FPROBE_FTRACE_REGS", "include/linux/fprobe.h",
     "\t\t\t       unsigned long ret_ip, struct ftrace_regs *regs,",
     "\t\t\t       unsigned long ret_ip, struct pt_regs *regs,"),
    ("uobjscope", "-DSCOPE_HAVE_FPROBE_MAXACTIVE", "include/linux/fprobe.h",
     "\tint\t\t\tnr_maxactive;", "\tint\t\t\tnmissed;"),
    ("uobjscope", "-DSCOPE_HAVE_COMP_CNTR", "include/uapi/rdma/ib_user_ioctl_cmds.h",
     "\tUVERBS_OBJECT_COMP_CNTR,", "\tUVERBS_OBJECT_ASYNC_EVENT,"),
    ("uobjscope", "-DSCOPE_HAVE_CONST_MATCH", "include/linux/device.h",
     "struct device *device_find_child(struct device *parent, const void *data,",
     "struct device *device_find_child(struct device *dev, void *data,"),
)
# What is compiled only where there is nothing of the kernel's own.
OPPOSITES = (("uobjscope", "release.o"),)
# What each cannot do without.
NEEDS = (
    ("vhca", "include/linux/slab.h", "kzalloc_obj"),
    ("vhca", "include/linux/msi.h", "msi_parent_ops"),
    ("vhca", "include/linux/irqdomain.h", "irq_domain_instantiate"),
    ("vhca", "include/linux/mlx5/device.h", "MLX5_CMD_STAT_NOT_READY"),
    ("importer", "include/linux/dma-buf.h", "dma_buf_dynamic_attach"),
    ("importer", "include/linux/dma-buf.h", "dma_buf_map_attachment"),
    ("uobjscope", "include/linux/slab.h", "kzalloc_obj"),
    ("uobjscope", PRIVATE + "core/uverbs.h", "disassociate_srcu"),
    ("uobjscope", PRIVATE + "core/uverbs.h", "uverbs_file_list"),
    ("uobjscope", PRIVATE + "core/rdma_core.h", "uverbs_api"),
    ("uobjscope", PRIVATE + "core/restrack.h", "rdma_restrack_root"),
    ("uobjscope", PRIVATE + "core/core_priv.h", "rdma_umap_priv"),
    ("uobjscope", PRIVATE + "hw/mlx5/mlx5_ib.h", "mlx5_var_table"),
    ("uobjscope", PRIVATE + "hw/mlx5/dm.h", "mlx5_ib_dm_op_entry"),
)
NAMES = {"vhca": "mlx5_vhca.ko", "importer": "dmabuf_importer.ko", "uobjscope": "uobjscope.ko"}


def kbuild(module):
    with open(os.path.join(TOP, "kernel", module, "Kbuild"), encoding="utf-8") as text:
        return text.read().replace("\\\n", " ")


class Tree:
    """A source tree with what the modules need, and with these lines."""

    def __init__(self, where, *lines, without=None, with_needs=True):
        self.where = where
        for module, name, word in NEEDS if with_needs else ():
            if (module, name, word) != without:
                self.add(name, f"struct {word} {{ }};")
        for name, text in lines:
            self.add(name, text)

    def add(self, name, text):
        path = os.path.join(self.where, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8") as out:
            out.write(text + "\n")

    def asked(self, module, makefile="Makefile.build"):
        """(what of a module is compiled and defined, what make complains of)."""
        # As the kernel's make has it when it reads a Kbuild file.
        name = os.path.join(self.where, makefile)
        with open(name, "w", encoding="utf-8") as out:
            out.write(f"comma := ,\nsrctree := {self.where}\nKSRC := {self.where}\n"
                      f"src := {TOP}/kernel/{module}\ninclude {TOP}/kernel/{module}/Kbuild\n"
                      "show:\n\t@echo ' $(ccflags-y) $($(obj-m:.o=)-y) '\n")
        done = subprocess.run(["make", "-s", "-f", name, "show"], check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"]})
        return done.stdout.split(), done.stderr


class Probes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.newer = cls.answers([(name, there) for _, _, name, there, _ in PROBES])
        cls.older = cls.answers([(name, missing) for *_, name, _, missing in PROBES
                                 if missing is not None])

    @staticmethod
    def answers(lines):
        """What of each module is compiled and defined for a tree with these lines."""
        with tempfile.TemporaryDirectory() as where:
            tree = Tree(where, *lines)
            return {module: tree.asked(module) for module in MODULES}

    def test_nothing_is_wrong_with_the_trees(self):
        for said in (self.newer, self.older):
            for module in MODULES:
                self.assertEqual(said[module][1], "")

    def test_each_answer_in_both_directions(self):
        for module, answer, *_ in PROBES:
            with self.subTest(f"{module} {answer}"):
                self.assertIn(answer, self.newer[module][0])
                self.assertNotIn(answer, self.older[module][0])

    def test_what_stands_in_for_the_kernels_own(self):
        for module, answer in OPPOSITES:
            self.assertNotIn(answer, self.newer[module][0])
            self.assertIn(answer, self.older[module][0])

    def test_no_question_is_forgotten(self):
        for module in MODULES:
            asked = set(re.findall(r"(?:-D|,)((?:VHCA|IMPORTER|SCOPE)_(?:HAVE|NAMESPACE)"
                                   r"_\w+)", kbuild(module)))
            self.assertEqual(asked, {a[2:] for m, a, *_ in PROBES
                                     if m == module and a.startswith("-D")}, module)

    def test_no_answer_is_without_a_reader(self):
        for module in MODULES:
            text = ""
            folder = os.path.join(TOP, "kernel", module)
            for name in os.listdir(folder):
                if name.endswith((".c", ".h")):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        text += file.read()
            for _, answer, *_ in (p for p in PROBES if p[0] == module and p[1][0] == "-"):
                self.assertRegex(text, rf"\b{answer[2:]}\b")


class Needs(unittest.TestCase):
    def test_a_kernel_with_all(self):
        with tempfile.TemporaryDirectory() as where:
            tree = Tree(where)
            for module in MODULES:
                self.assertEqual(tree.asked(module)[1], "")

    def test_all_that_is_missing_is_in_one_line(self):
        with tempfile.TemporaryDirectory() as where:
            tree = Tree(where, with_needs=False)
            for module in MODULES:
                said, wrong = tree.asked(module)
                self.assertEqual(said, [])
                self.assertEqual(wrong.count("\n"), 1, wrong)
                lacks = wrong.partition(f"{NAMES[module]} needs what this kernel lacks: ")[2]
                self.assertEqual(lacks.removesuffix(".  Stop.\n").split(),
                                 [f"{name}:{word}" for m, name, word in NEEDS if m == module])

    def test_one_that_is_missing_is_the_only_one_named(self):
        for module in MODULES:
            need = next(n for n in NEEDS if n[0] == module and n[2] != "kzalloc_obj")
            with tempfile.TemporaryDirectory() as where:
                wrong = Tree(where, without=need).asked(module)[1]
                self.assertIn(f"lacks: {need[1]}:{need[2]}.", wrong)

    def test_who_cleans_needs_nothing(self):
        with tempfile.TemporaryDirectory() as where:
            tree = Tree(where, with_needs=False)
            for module in MODULES:
                self.assertEqual(tree.asked(module, "Makefile.clean")[1], "")

    def test_no_need_is_forgotten(self):
        for module in MODULES:
            asked = re.findall(r"\$\(call \w+-(?:need|private),([^,]+),(\w+)\)", kbuild(module))
            ours = [(name, word) for m, name, word in NEEDS if m == module]
            asked = [(n, w) for n, w in asked if w != "$(2)" and not n.endswith("$(1)")]
            self.assertEqual([w for _, w in asked], [w for _, w in ours])
            for (theirs, _), (name, _) in zip(asked, ours):
                self.assertTrue(name.endswith(theirs.removeprefix("$(KSRC)/")), theirs)


if __name__ == "__main__":
    unittest.main()
