"""Products of quantized matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..case import Data, Row, Shape, Tensor, settings
from ..data import dtype, empty, integers, nbytes, normal, torch, wider
from .products import FEW_ROWS, FEW_TRITON, HALVES, OURS, SHAPES, TRITON

SMALL = (75, 96, 160)
LONG = settings(tile=[(128, 128), (128, 256), (64, 128)], step=(128, 128, 128))
LONG_TRITON = settings(
    BM=(128, 128, 128, 64), BN=(128, 256, 128, 128), BK=(128, 128, 64, 128),
    num_warps=(4, 8, 4, 4), num_stages=(3, 3, 4, 4),
)  # fmt: skip


def _make_int8_weight(shape: Shape, kind: str, device: str) -> Data:
    m, n, k = shape
    few = m <= 16
    x, w = normal(device, kind, m, k), integers(device, -127, 128, k, n, kind="int8")
    scale = (normal(device, "float32", n).abs() / 127 * k**-0.5).to(dtype(kind))
    out = empty(device, kind, m, n)
    return Data(
        (x, w, scale), (out,), moved=nbytes(x, w, scale, out) if few else 0.0,
        flops=0.0 if few else 2.0 * m * n * k, ours=FEW_ROWS if few else OURS,
        triton=FEW_TRITON if few else TRITON,
    )  # fmt: skip


def _int8_weight(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    return (x @ w.to(x.dtype)) * scale


def _make_int4_weight(shape: Shape, kind: str, device: str) -> Data:
    m, n, k = shape
    x, w = normal(device, kind, m, k), integers(device, 0, 256, k // 2, n, kind="uint8")
    scale = (normal(device, "float32", n).abs() / 8 * k**-0.5).to(dtype(kind))
    out = empty(device, kind, m, n)
    return Data(
        (x, w, scale), (out,), moved=nbytes(x, w, scale, out), ours=FEW_ROWS, triton=FEW_TRITON
    )


def _int4_weight(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    both = torch.stack(((w & 15).to(torch.int8) - 8, (w >> 4).to(torch.int8) - 8), 1)
    return (x @ both.reshape(-1, w.shape[1]).to(x.dtype)) * scale


def _scales(shape: Shape, device: str, by: float) -> tuple[Tensor, Tensor]:
    rows, columns = normal(device, "float32", shape[0], 1), normal(device, "float32", 1, shape[1])
    return rows.abs() * by, columns.abs() * by


def _make_fp8(shape: Shape, kind: str, device: str) -> Data:
    m, n, k = shape
    x, w = (normal(device, "float32", rows, k).to(dtype("float8_e4m3fn")) for rows in (m, n))
    return Data(
        (x, w, *_scales(shape, device, k**-0.25)), (empty(device, kind, m, n),),
        flops=2.0 * m * n * k, ours=LONG, triton=LONG_TRITON,
    )  # fmt: skip


def _fp8(x: Tensor, w: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """By cuBLAS, which has products of 8-bit floats; on the CPU by f32."""
    if x.device.type == "cpu" or x.dtype != torch.float8_e4m3fn or x.shape[0] % 16:
        return (wider(x) @ wider(w).T) * rows * columns
    return torch._scaled_mm(x, w.T, scale_a=rows, scale_b=columns, out_dtype=torch.bfloat16)


def _make_int8(shape: Shape, kind: str, device: str) -> Data:
    m, n, k = shape
    x, w = (integers(device, -127, 128, rows, k, kind="int8") for rows in (m, n))
    return Data(
        (x, w, *_scales(shape, device, k**-0.25 / 127)), (empty(device, kind, m, n),),
        flops=2.0 * m * n * k, ours=LONG, triton=LONG_TRITON,
    )  # fmt: skip


def _int8(x: Tensor, w: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    whole = x.shape[0] > 16 and not (x.shape[1] % 8 or w.shape[0] % 8)
    if x.device.type == "cuda" and whole:
        return (torch._int_mm(x, w.T) * rows * columns).to(torch.bfloat16)
    return (x.double() @ w.double().T) * rows * columns


def _check_fp8(found: Sequence[Tensor], inputs: Sequence[Any]) -> float:
    """Against f32; tensor cores of 8-bit floats add with fewer bits than f32 has."""
    x, w, rows, columns = inputs
    expected = (x.float() @ w.float().T) * rows * columns
    return float((found[0].float() - expected).abs().max() / expected.abs().max())


FEW = [(16, 4096, 4096), (16, 8192, 8192), (16, 11008, 4096)]
ROWS = [
    Row("int8_weight", "quantized", SHAPES, HALVES, SMALL, _make_int8_weight, _int8_weight),
    Row(
        "int8_weight_few", "quantized", FEW, HALVES, (16, 96, 160), _make_int8_weight, _int8_weight
    ),
    Row(
        "int4_weight_few", "quantized", FEW, HALVES, (16, 96, 160), _make_int4_weight, _int4_weight
    ),
    Row(
        "fp8_gemm", "quantized", [(2048, 2048, 2048), (8192, 8192, 8192), (3008, 5120, 2880)],
        ["bfloat16"], SMALL, _make_fp8, _fp8, check=_check_fp8,
    ),
    Row("int8_gemm", "quantized", SHAPES, ["bfloat16"], SMALL, _make_int8, _int8, wide=False),
]  # fmt: skip
