"""Compiles single functions of the library and runs them over NumPy arrays; measures ulps."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from support.numbers import fresh_rng
from tilewright.backend.libm import BOUNDS, FUNCTIONS, Library
from tilewright.backend.libm.conversion import ELEMENT
from tilewright.backend.llvm.builder import vector
from tilewright.backend.llvm.object import host_target
from tilewright.devices.cpu.native import load

Array = np.ndarray[Any, Any]

CARRIER = {
    "double": np.float64, "float": np.float32, "i64": np.int64, "i32": np.int32, "i16": np.int16,
    "i8": np.int8,
}  # fmt: skip


@cache
def target_machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3)


def module_text(
    symbol: str, source: str, target: str, arity: int, lanes: int, library: Library
) -> str:
    """A function `run(in0, in1, out, n)` that applies the symbol to n groups of lanes."""
    s, t = vector(source, lanes), vector(target, lanes)
    loads = [
        f"  %p{i} = getelementptr {source}, ptr %in{i}, i64 %at\n"
        f"  %x{i} = load {s}, ptr %p{i}, align 1\n"
        for i in range(arity)
    ]
    arguments = ", ".join(f"{s} %x{i}" for i in range(arity))
    return f"""{library.text()}
define void @run(ptr %in0, ptr %in1, ptr %out, i64 %n) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %at = mul i64 %i, {lanes}
{"".join(loads)}  %y = call {t} {symbol}({arguments})
  %q = getelementptr {target}, ptr %out, i64 %at
  store {t} %y, ptr %q, align 1
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}}
"""


@cache
def compile_text(text: str) -> tuple[Any, Any, str]:
    """What keeps the code, the function `run` and the assembly text."""
    machine = target_machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    code = machine.emit_object(module)
    loaded = load(code, "run")
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return loaded, kind(loaded.address), machine.emit_assembly(module)


def run_symbol(
    library: Library, symbol: str, source: str, target: str, lanes: int, arrays: tuple[Array, ...]
) -> Array:
    text = module_text(symbol, source, target, len(arrays), lanes, library)
    _kept, function, _ = compile_text(text)
    n = -(-arrays[0].size // lanes)
    padded = [np.zeros(n * lanes, CARRIER[source]) for _ in arrays]
    for whole, array in zip(padded, arrays, strict=True):
        whole[: array.size] = array
    out = np.full(n * lanes, 123, CARRIER[target])
    function(padded[0].ctypes.data, padded[-1].ctypes.data, out.ctypes.data, n)
    return out[: arrays[0].size]


def apply(name: str, dtype: str, *arrays: Array, lanes: int = 8) -> Array:
    """Run an elementary function over arrays; all ways of writing it must agree bit for bit."""
    assert len(arrays) == FUNCTIONS[name].arity
    results: list[Array] = []
    for scales in {False, host_target().scales}:
        library = Library(scales=scales)
        symbol = library.use(name, dtype, lanes)
        kind = ELEMENT[dtype]
        results.append(run_symbol(library, symbol, kind, kind, lanes, arrays))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    return results[0]


def convert(source: str, target: str, array: Array, lanes: int = 8) -> Array:
    """Run a conversion over an array of carriers (bits, for small floats)."""
    library = Library()
    symbol = library.convert(source, target, lanes)
    return run_symbol(library, symbol, ELEMENT[source], ELEMENT[target], lanes, (array,))


def ulps(got: Array, exact: Array) -> Array:
    """The error in units of the last place of the exact value's binade, in got's type.

    Agreement on NaN, infinities and signs of zero counts as 0, disagreement as infinity. `exact`
    has more precision than `got`.
    """
    info = np.finfo(got.dtype)
    wide = exact.dtype.type
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        _, exponent = np.frexp(np.abs(exact))
        least = info.minexp - info.nmant
        place = np.ldexp(wide(1), np.maximum(exponent - 1 - info.nmant, least))
        error = np.abs(got.astype(wide) - exact) / place
        # Beyond the largest number, count as if the binade went on.
        clash = np.isinf(got) != np.isinf(rounded)
        near = clash & np.isinf(got) & (np.abs(exact) < float(info.max) * (1 + 2 * float(info.eps)))
        beside = clash & np.isinf(rounded) & (np.abs(got) == info.max)
        error = np.where(np.isinf(rounded) & np.isinf(got), 0, error)
        error = np.where(clash, np.where(near | beside, 1, np.inf), error)
        error = np.where(np.isnan(got) | np.isnan(exact), np.inf, error)
        error = np.where(np.isnan(got) & np.isnan(exact), 0, error)
        zero = (exact == 0) | (got == 0)
        return np.where(zero & (np.signbit(got) != np.signbit(exact)), np.inf, error)


CARRIER_OF = {"f32": np.float32, "f64": np.float64}
SPECIAL = (
    0.0, 1.0, 0.5, 2.0, 3.0, 4.0, 5.0, 7.0, 0.75, 1.5, 2.5, 10.0, 100.0, 2.0**-24, 2.0**-60,
    1e-45, 3e-45, 1e-40, 2.0**-126, 2.0**-127, 3.4e38, 5e-324, 1e-310, 2.0**-1022, 1.7e308,
    np.pi, np.pi / 2, np.pi / 4, 2.0**23, 2.0**24 + 2, 2.0**52, 2.0**53 + 2, 2.0**62, 1e10, 1e30,
    88.72, 88.73, 87.34, 103.97, 103.98, 127.9, 128.0, 149.0, 150.0, 89.41, 89.42, 1073.9, 1074.0,
    1075.0, 1023.9, 1024.0, 709.78, 709.79, 710.47, 710.48, 745.13, 745.14, np.inf, np.nan,
)  # fmt: skip
"""Where something changes in one of the functions; used with both signs."""


def specials(dtype: str) -> Array:
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL).astype(CARRIER_OF[dtype])
        ends = [np.nextafter(values, values.dtype.type(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([values, -values, *ends, *(-end for end in ends)])


def samples(dtype: str, rng: np.random.Generator, count: int = 10_000) -> Array:
    """Special values, random bits, and numbers of every usual size."""
    kind = CARRIER_OF[dtype]
    wide = np.dtype(kind).itemsize * 8
    bits = rng.integers(0, 2**wide, count, dtype=f"u{wide // 8}").view(kind)
    usual = rng.standard_normal(count)
    sizes = np.concatenate([usual, usual * 10, usual * 100, usual * 700, 1 + usual * 1e-3])
    return np.concatenate([specials(dtype), bits, sizes.astype(kind)])


def check(name: str, dtype: str, arrays: tuple[Array, ...], exact: Array, lanes: int = 8) -> None:
    """The function must be within its documented bound of the exact values."""
    got = apply(name, dtype, *arrays, lanes=lanes)
    assert got.dtype == arrays[0].dtype
    error = ulps(got, exact)
    worst = int(np.argmax(error))
    inputs = ", ".join(float(a[worst]).hex() for a in arrays)
    text = f"{name}({inputs}) = {got[worst]!r}, exactly {exact[worst]!r}: {error[worst]} ulp"
    assert error[worst] <= BOUNDS[name][dtype], text


def check_unary(name: str, dtype: str, reference: Callable[[Array], Array], lanes: int) -> None:
    """Compare with a function of NumPy computed in more precision."""
    x = samples(dtype, fresh_rng())
    with np.errstate(all="ignore"):
        check(name, dtype, (x,), reference(x.astype(np.longdouble)), lanes)


def values_at(name: str, dtype: str, *points: tuple[float, ...]) -> list[float]:
    """The function at a few points, as Python floats."""
    columns = [np.array(column, CARRIER_OF[dtype]) for column in zip(*points, strict=True)]
    return [float(v) for v in apply(name, dtype, *columns)]


def assert_same(got: list[float], expected: list[float]) -> None:
    """Equal, signs of zero and NaN included."""
    assert [str(v) for v in got] == [str(v) for v in expected]
