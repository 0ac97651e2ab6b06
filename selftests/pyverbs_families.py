# SPDX-License-Identifier: GPL-2.0
"""rdma-core's own Python tests by family: which of them belong together."""

from fnmatch import fnmatchcase

# In this order the first pattern that fits a test's name, MODULE.CLASS.METHOD, decides.
PATTERNS = (
    ("VAR", "test_mlx5_var.*"),
    ("DMABUF", "test_*dmabuf*.*"),
    ("DMABUF", "test_mlx5_cuda_umem.*"),
    ("DMABUF", "test_mr.DmaBuf*"),
    ("DMABUF", "*_export_dmabuf_fd"),
    ("DM", "test_mlx5_dm_ops.*"),
    ("DM", "test_mr.DeviceMemory*"),
    ("DM", "test_device.DMTest.*"),
    ("DM", "*_alloc_dm*"),
    ("UAR", "test_mlx5_uar.*"),
    ("memory windows", "test_mr.MW*"),
    ("memory regions", "test_mr.*"),
    ("memory regions", "test_buf.*"),
    ("memory regions", "test_fork.*"),
    ("memory regions", "test_relaxed_ordering.*"),
    ("memory regions", "test_mlx5_huge_page.*"),
    ("memory regions", "test_dmah.*"),
    ("on-demand paging", "test_odp.*"),
    ("memory keys", "test_mlx5_mkey.*"),
    ("memory keys", "test_mlx5_crypto.*"),
    ("device and port", "test_device.*"),
    ("device and port", "test_mlx5_query_port.*"),
    ("protection domains", "test_pd.*"),
    ("protection domains", "test_shared_pd.*"),
    ("protection domains", "test_parent_domain.*"),
    ("addresses", "test_addr.*"),
    ("completion queues", "test_cq*.*"),
    ("completion queues", "test_mlx5_cq.*"),
    ("completion queues", "test_*timestamp.*"),
    ("shared receive queues", "test_srq.*"),
    ("shared receive queues", "test_tag_matching.*"),
    ("queue pairs", "test_qp*.*"),
    ("queue pairs", "test_atomic.*"),
    ("queue pairs", "test_mlx5_raw_wqe.*"),
    ("queue pairs", "test_mlx5_ooo_qp.*"),
    ("queue pairs", "test_mlx5_udp_sport.*"),
    ("queue pairs", "test_mlx5_lag_affinity.*"),
    ("queue pairs", "test_mlx5_rdma_ctrl.*"),
    ("queue pairs", "test_mlx5_dma_memcpy.*"),
    ("dynamic connections", "test_mlx5_dc.*"),
    ("DEVX", "test_mlx5_devx*.*"),
    ("scheduling", "test_mlx5_pp.*"),
    ("scheduling", "test_mlx5_sched.*"),
    ("steering", "test_flow.*"),
    ("steering", "test_mlx5_flow.*"),
    ("steering", "test_mlx5_dr.*"),
    ("steering", "test_rss_traffic.*"),
    ("connection manager", "test_rdmacm.*"),
    ("connection manager", "test_mlx5_rdmacm.*"),
    ("VFIO", "test_mlx5_vfio.*"),
    ("other vendors", "test_efa*.*"),
)

# What this project is about: none of their tests may be skipped unless it is named.
NEVER_SKIPPED = ("VAR", "DM", "UAR", "DMABUF")


def family_of(name):
    """The family of the test MODULE.CLASS.METHOD."""
    return next((family for family, pattern in PATTERNS if fnmatchcase(name, pattern)), "other")
