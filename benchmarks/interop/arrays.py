"""Kernels of ours as operators of PyTorch and functions of JAX, and those they compete with."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

from ..case import NotAvailable
from ..data import random
from ..host.probes import Probe, repeated
from ..host.work import SMALL

OURS, IN_PYTHON, THEIRS = "tilewright", "custom_op in Python", "the framework's own"
FACTOR = 2.5


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    """The product with a number."""
    z.store(tl.load_tile_like(x, z) * factor)


def checked(found: Any, given: Any) -> None:
    """Raise if an answer is wrong."""
    error = float(np.abs(np.asarray(found) - np.float32(FACTOR) * np.asarray(given)).max())
    if not error <= 1e-6:
        raise ValueError(f"its error is {error:.3g}")


def started(call: Callable[[], object], wait: Callable[[], object]) -> Probe:
    """A probe that clocks calls; waiting for what they put on streams is not counted."""

    def probe(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        end = time.perf_counter()
        wait()
        return end - begin

    return probe


def torch_makers(device: str) -> Mapping[str, Mapping[str, Callable[[], Probe]]]:
    """Who takes part in calls of operators."""
    ways = {OURS: _our_operator, IN_PYTHON: _operator_in_python, THEIRS: _torch_itself}
    return {"a call": {name: partial(_torch_probe, make, device) for name, make in ways.items()}}


def _torch_probe(make: Callable[[Any, str], Callable[[Any], Any]], device: str) -> Probe:
    torch: Any = importlib.import_module("torch")
    x = torch.from_numpy(random((SMALL,))).to(device)
    call = make(torch, device)
    for _ in range(3):
        checked(call(x).cpu(), x.cpu())
    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    return started(lambda: call(x), wait)


def _our_operator(torch: Any, device: str) -> Callable[[Any], Any]:
    wrapping: Any = importlib.import_module("tilewright.interop.torch")
    name = f"tilewright_bench::scale_{device}"
    op = wrapping.custom_op(name, scale, tiles=(1024,), outputs="x")
    return lambda x: op(x, FACTOR)


def _operator_in_python(torch: Any, device: str) -> Callable[[Any], Any]:
    run = _times_in_triton() if device == "cuda" else torch.mul

    def times(x: Any, factor: float) -> Any:
        out = x.new_empty(x.shape)
        run(x, factor, out=out)
        return out

    name, schema = f"tilewright_bench::plain_{device}", "(Tensor x, float factor) -> Tensor"
    op = torch.library.custom_op(name, times, mutates_args=(), schema=schema)
    return lambda x: op(x, FACTOR)


def _times_in_triton() -> Callable[..., None]:
    kernels: Any = importlib.import_module("benchmarks.interop.triton_kernels")

    def run(x: Any, factor: float, out: Any) -> None:
        kernels.scale_kernel[(1,)](x, out, x.numel(), factor, BLOCK=1024)

    return run


def _torch_itself(torch: Any, device: str) -> Callable[[Any], Any]:
    return lambda x: x * FACTOR


def jax_makers(device: str) -> Mapping[str, Mapping[str, Callable[[], Probe]]]:
    """Who takes part in calls of functions."""
    ways = {OURS: _our_function, THEIRS: _jax_itself}
    return {"a call": {name: partial(_jax_probe, make, device) for name, make in ways.items()}}


def _jax_probe(make: Callable[[], Callable[[Any], Any]], device: str) -> Probe:
    jax: Any = importlib.import_module("jax")
    if jax.default_backend() != {"cuda": "gpu"}.get(device, device):
        raise NotAvailable(f"JAX uses {jax.default_backend()} here")
    x = jax.numpy.asarray(random((SMALL,)))
    call = jax.jit(make())
    for _ in range(3):
        checked(call(x), x)
    return repeated(lambda: call(x).block_until_ready())


def _our_function() -> Callable[[Any], Any]:
    wrapping: Any = importlib.import_module("tilewright.interop.jax")
    op = wrapping.custom_op(scale, tiles=(1024,), outputs="x")
    return lambda x: op(x, FACTOR)


def _jax_itself() -> Callable[[Any], Any]:
    return lambda x: x * FACTOR
