"""What is said where the package has no such name: how it is called here.

The words are those of NumPy, PyTorch, JAX, Triton and of the Rust library.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from . import lang, ops
from .base import dtypes
from .lang import synonyms

WORDS: dict[str, str] = {
    "array": "tw.asarray(a), which shares the memory, or tw.from_numpy(a).sync(), a copy",
    "tensor": "tw.asarray(a), which shares the memory, or tw.from_numpy(a).sync(), a copy",
    "as_tensor": "tw.asarray(a)",
    "from_dlpack": "tw.asarray(a)",
    "frombuffer": "tw.asarray(np.frombuffer(...))",
    "ndarray": "tw.Tensor",
    "Array": "tw.Tensor",
    "dtype": "tw.DType",
    "jit": "@tw.entry",
    "module": "a Python module; kernels are functions under @tw.entry",
    "constexpr": "a keyword-only parameter, `*, N: tl.Const[int]`",
    "Constexpr": "a keyword-only parameter, `*, N: tl.Const[int]`",
    "cuda": 'tw.device("cuda") for the device, tilewright.interop.cuda for CUDA C++ kernels',
    "torch": "tilewright.interop.torch",
    "jax": "tilewright.interop.jax",
    "numpy": "the method t.to_numpy()",
    "asnumpy": "the method t.to_numpy()",
    "to_numpy": "the method t.to_numpy()",
    "sync": "the method op.sync()",
    "start": "the method op.start()",
    "launch": "a call, kernel(...).sync()",
    "then": "the method op.then(f)",
    "partition": "the method t.partition(shape) or t.partition_mut(shape)",
    "grid": "the method kernel(...).grid((x, y, z)); without it the grid follows from the output",
    "stream": "op.sync_on(stream); tw.Stream is the type",
    "Event": "not needed: memory knows the work that uses it",
    "manual_seed": "an argument: tw.rand(shape, seed=...)",
    "seed": "an argument: tw.rand(shape, seed=...)",
    "no_grad": "not needed: kernels record no gradients; tw.function(backward=...) gives one",
    "grad": "tw.function(kernel, outputs=..., backward=...)",
    "vmap": "the function of JAX or torch, over a kernel as their operator",
    "device_synchronize": "tw.synchronize()",
    "cat": "np.concatenate on the host, tl.cat in kernels",
    "stack": "np.stack on the host, tl.stack in kernels",
    "empty_strided": "tw.empty(shape)",
    "memcpy_async": "tw.memcpy(target, source)",
    "malloc": "tw.empty(shape)",
    "init": "not needed",
    "api": "tw itself: tw.zeros, tw.ones, tw.rand",
    "clone": "the method t.dup()",
    "copy": "the method t.dup()",
}

ELEMENT_TYPES = {
    "half": "f16", "float": "f32", "double": "f64", "bool": "bool_", "byte": "u8", "short": "i16",
    "int": "i32", "long": "i64", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2",
    "float8_e8m0fnu": "f8e8m0fnu", "float4_e2m1fn": "f4e2m1fn",
}  # fmt: skip


def hint(name: str, known: Collection[str]) -> str | None:
    """Return how something is called here that others call so; None: that is not known."""
    if name in WORDS:
        return f"here it is {WORDS[name]}"
    ours = ELEMENT_TYPES.get(name) or synonyms.ELEMENT_TYPES.get(name)
    if ours is not None and hasattr(dtypes, ours):
        return f"here it is tw.{ours}"
    stem, _, dtype = name.rpartition("_")
    if stem in known and hasattr(dtypes, dtype):
        return f"here it is tw.{stem}(shape, tw.{dtype})"
    in_ops, in_kernels = name in ops.__all__, name in lang.__all__
    if in_ops or in_kernels:
        places = [f"tw.ops.{name}"] * in_ops + [f"tl.{name} in kernels"] * in_kernels
        return f"here it is {', and '.join(places)}"
    if name in synonyms.SYNONYMS:
        return f"in kernels it is {synonyms.SYNONYMS[name]}"
    near = get_close_matches(name, known, 1, cutoff=0.7)
    return f"did you mean tw.{near[0]}?" if near else None
