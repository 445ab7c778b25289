"""Loads kernels through CuPy, ours and CUDA C++ alike, so that nothing but the kernel differs."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tilewright as tw

from ... import peers
from ...case import NotAvailable
from ..case import Tensor

SOURCE = Path(__file__).with_name("kernels.cu")
RECORD_WORDS = 1 << 10
DTYPES = {"torch.float32": tw.f32, "torch.int32": tw.i32}
Run = Callable[[], None]


@cache
def _cupy() -> Any:
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        raise NotAvailable(f"cupy cannot be imported: {error}") from None


@cache
def arch() -> str:
    """The GPU at hand."""
    major, minor = peers.torch().cuda.get_device_capability()
    return f"sm_{major}{minor}"


@cache
def _cuda_module() -> Any:
    """The CUDA C++ kernels, by nvcc."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise NotAvailable("nvcc is not on the path")
    out = Path(tempfile.mkdtemp()) / "kernels.cubin"
    subprocess.run([nvcc, "-O3", f"-arch={arch()}", "-cubin", "-o", out, SOURCE], check=True)
    return _cupy().RawModule(path=str(out))


def cuda(name: str, grid: Sequence[int], block: Sequence[int], *args: Any) -> Run:
    """A launch of a CUDA C++ kernel; tensors go as pointers."""
    kernel = _cuda_module().get_function(name)
    given = tuple(_pointer(a) if hasattr(a, "data_ptr") else a for a in args)
    return lambda: kernel(tuple(grid), tuple(block), given)


def ours(kernel: Any, grid: Sequence[int], *args: Any) -> Run:
    """A launch of a kernel of ours, which says its block; its first tensor is written."""
    tensors = [a for a in args if hasattr(a, "data_ptr")]
    metas = [tw.meta(tuple(t.shape), DTYPES[str(t.dtype)]) for t in tensors]
    known: list[Any] = [metas[0].borrow_mut(), *metas[1:]]
    numbers = [a for a in args if not hasattr(a, "data_ptr")]
    artifact = kernel.compile_for(arch(), *known, *[n.item() for n in numbers])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_bytes(artifact.code)
        function = _cupy().RawModule(path=str(path)).get_function(artifact.name)
    given: list[Any] = [w for t in tensors for w in (_pointer(t), np.int64(t.numel()))]
    given += numbers
    record = peers.torch().zeros(RECORD_WORDS, dtype=peers.torch().int64, device="cuda")
    if artifact.sites:
        given.append(_pointer(record))
    block = artifact.signature.block_dims

    def run(record: Tensor = record) -> None:
        function(tuple(grid), block, tuple(given))

    return run


def _pointer(tensor: Tensor) -> np.uint64:
    return np.uint64(tensor.data_ptr())
