"""The shapes in which rows run on a CPU: a call takes milliseconds, not minutes.

Arguments of the usual shape, the first one, exceed the caches where memory limits the work. The
second shape is no power of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .case import Shape

FAMILIES: Mapping[str, Sequence[Shape]] = {
    "activations": [(2048, 4096), (1500, 5504)],
    "norms": [(4096, 2048), (2000, 5120)],
    "losses": [(512, 16384), (200, 50257)],
    "rope": [(2048, 16, 128), (1000, 20, 128)],
    "attention": [(8, 2, 1024, 64), (5, 1, 777, 128)],
    "products": [(1024, 1024, 1024), (750, 1280, 720)],
    "quantized": [(1024, 1024, 1024), (752, 1280, 720)],
    "convolution": [(2, 1024, 2048), (1, 1250, 2560)],
    "scans": [(2048, 4096), (1500, 5000)],
    "reductions": [(2048, 8192), (2000, 10007)],
    "gathers": [(16000, 8192, 1024), (20000, 5000, 1280)],
    "stencils": [(4096, 4096), (2500, 4501)],
    "optimizers": [(1 << 23,), (5_000_003,)],
}
ROWS: Mapping[str, Sequence[Shape]] = {
    "dropout_add": [(1 << 23,), (5_000_003,)],
    "normal_numbers": [(1 << 23,), (5_000_003,)],
    "group_norm": [(16, 32, 16, 1024), (16, 32, 8, 784)],
    "softmax_wide": [(512, 32768), (200, 50257)],
    "log_softmax": [(4096, 4096), (2000, 5000)],
    "attention_decode": [(64, 8, 2048, 128), (40, 5, 1500, 128)],
    "attention_paged": [(8, 8, 8, 2048, 128), (6, 8, 5, 1500, 128)],
    "gemm_batched": [(256, 128, 128, 128), (300, 100, 120, 96)],
    "gemm_grouped": [(8, 4, 1024, 1024), (7, 5, 720, 960)],
    "gemm_split_k": [(64, 512, 8192), (100, 300, 5000)],
    "int8_weight_few": [(16, 4096, 4096), (16, 5504, 2048)],
    "int4_weight_few": [(16, 4096, 4096), (16, 5504, 2048)],
    "conv2d": [(4, 32, 32, 64, 64), (3, 28, 28, 96, 80)],
    "conv2d_depthwise": [(4, 64, 64, 256), (5, 28, 30, 480)],
    "cumsum_columns": [(2048, 4096), (1500, 5000)],
    "sort_rows": [(4096, 1024), (4096, 1000)],
    "topk_gate": [(32768, 256), (20000, 160)],
    "sum_middle": [(32, 512, 1024), (25, 499, 1000)],
    "sum_all": [(1 << 25,), (25_000_007,)],
    "combine_experts": [(2048, 8, 1024), (1000, 8, 1440)],
    "histogram": [(1 << 24,), (10_000_019,)],
    "take_columns": [(2048, 8192, 4096), (1250, 5000, 2500)],
    "swap_heads": [(2, 2048, 32, 128), (1, 2500, 40, 128)],
}


def cpu_shapes(name: str, family: str) -> Sequence[Shape]:
    """Return the shapes of a row, the usual one first."""
    return ROWS.get(name) or FAMILIES[family]
