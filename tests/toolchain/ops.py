"""The probes: every op of the IR with every element type it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from support.probes import Bench, Probe, probe
from tilewright.backend.tileir.target import DTYPES_SINCE
from tilewright.base.dtypes import (
    ALL,
    FLOATS,
    INTS,
    AnyDType,
    bf16,
    bool_,
    f4e2m1fn,
    f4e2m1fnx2,
    f8e4m3fn,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    tf32,
    u8,
)  # fmt: skip
from tilewright.ir.attrs import AtomicMode, Ordering, Overflow, Predicate, Rounding, Scope
from tilewright.ir.ops.elementwise import ARITHMETIC_OPS as ARITHMETIC
from tilewright.ir.ops.elementwise import BITWISE_OPS as BITWISE
from tilewright.ir.ops.elementwise import MATH_OPS as MATH
from tilewright.ir.ops.matmul import FLOAT_ACCUMULATORS, SCALE_BLOCKS
from tilewright.ir.types import PtrType, TileType

N = 32
DIRECTED = (Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF)
VALUES = [d for d in ALL if d is not f4e2m1fnx2]


def row(dtype: AnyDType, *shape: int) -> TileType:
    return TileType(dtype, shape or (N,))


def since(*dtypes: AnyDType) -> int:
    return max(DTYPES_SINCE.get(d, 80) for d in dtypes)


def one(op: str, dtype: AnyDType, arity: int, tag: str = "", **attrs: Any) -> Probe:
    name = f"{op}_{dtype.name}{tag and '_' + tag}"
    return probe(name, op, [row(dtype)] * arity, since=since(dtype), **attrs)


def arithmetic() -> Iterator[Probe]:
    for defn in (*ARITHMETIC, *MATH):
        floating = defn.name.endswith("f") or defn in MATH or defn.name == "fma"
        for dtype in FLOATS if floating else INTS:
            yield one(defn.name, dtype, len(defn.operands))
    for op in ("addf", "subf", "mulf", "divf"):
        for dtype in (f32, f64):
            for mode in DIRECTED:
                yield one(op, dtype, 2, mode.value, rounding=mode)
        yield one(op, f32, 2, "ftz", ftz=True)
    for dtype in (f32, f64):
        for mode in DIRECTED:
            yield one("sqrt", dtype, 1, mode.value, rounding=mode)
    yield one("divf", f32, 2, "full", rounding=Rounding.FULL)
    yield one("divf", f32, 2, "approx", rounding=Rounding.APPROX)
    yield one("sqrt", f32, 1, "approx", rounding=Rounding.APPROX)
    yield one("exp", f32, 1, "approx", rounding=Rounding.APPROX)
    yield one("tanh", f32, 1, "approx", rounding=Rounding.APPROX)
    for op in ("exp2", "rsqrt", "sqrt"):
        yield one(op, f32, 1, "ftz", ftz=True)
    yield one("fma", f32, 3, "ftz", ftz=True)
    for op in ("maxf", "minf"):
        yield one(op, f32, 2, "lose", nan=False, ftz=True)
    for dtype in INTS:
        yield one("divi", dtype, 2, "up", rounding=Rounding.POS_INF)
        yield one("divi", dtype, 2, "down", rounding=Rounding.NEG_INF)
        yield one("remi", dtype, 2, "down", rounding=Rounding.NEG_INF)
    for promise in Overflow:
        for op in ("addi", "subi", "muli"):
            yield one(op, i32, 2, promise.value, overflow=promise)


def bitwise() -> Iterator[Probe]:
    for defn in BITWISE:
        shifts = defn.name.startswith("sh")
        for dtype in INTS if shifts else (*INTS, bool_):
            yield one(defn.name, dtype, len(defn.operands))


def comparison() -> Iterator[Probe]:
    for dtype in (*INTS, bool_):
        yield one("cmpi", dtype, 2, predicate=Predicate.LT)
    for dtype in FLOATS:
        yield one("cmpf", dtype, 2, predicate=Predicate.LT)
    for predicate in Predicate:
        yield one("cmpi", i32, 2, predicate.value, predicate=predicate)
        yield one("cmpf", f32, 2, predicate.value, predicate=predicate)
        yield one("cmpf", f32, 2, f"{predicate.value}_nan", predicate=predicate, unordered=True)
    for dtype in VALUES:
        kinds = [row(bool_), row(dtype), row(dtype)]
        yield probe(f"select_{dtype.name}", "select", kinds, since=since(dtype))


def conversion() -> Iterator[Probe]:
    floats = [d for d in VALUES if d.is_float]
    for a in VALUES:
        for b in VALUES:
            if a is b or b.is_bool:
                continue
            op = _conversion(a, b)
            if op is not None:
                yield probe(f"{op}_{a.name}_{b.name}", op, [row(a)], since=since(a, b), to=b)
            if a.bits == b.bits and not b.is_bool and a.bits > 1:
                name = f"bitcast_{a.name}_{b.name}"
                yield probe(name, "bitcast", [row(a)], since=since(a, b), to=b)
    assert len(floats) == 9
    yield probe("unpack_f4", "unpack", [row(f4e2m1fnx2, 4, 16)], since=100)
    yield probe("pack_f4", "pack", [row(f4e2m1fn, 4, 16)], since=100)


def _conversion(a: AnyDType, b: AnyDType) -> str | None:
    if a.is_float:
        return "ftof" if b.is_float else "ftoi"
    if b.is_float:
        return "itof"
    return "exti" if b.bits > a.bits else "trunci" if b.bits < a.bits else None


def layout() -> Iterator[Probe]:
    for dtype in VALUES:
        first, d = since(dtype), dtype
        yield probe(f"reshape_{d.name}", "reshape", [row(d, 4, 8)], shape=(8, 4), since=first)
        yield probe(f"broadcast_{d.name}", "broadcast", [row(d, 1, 8)], shape=(4, 8), since=first)
        yield probe(f"permute_{d.name}", "permute", [row(d, 4, 8)], order=(1, 0), since=first)
        yield probe(f"cat_{d.name}", "cat", [row(d, 4, 8)] * 2, axis=1, since=first)
        index = [TileType(i32), TileType(i32)]
        yield probe(
            f"extract_{d.name}", "extract", [row(d, 4, 8), index], shape=(2, 4), since=first
        )


def creation() -> Iterator[Probe]:
    for dtype in VALUES:
        value: Any = True if dtype.is_bool else 1.0 if dtype.is_float else 1
        attrs: dict[str, Any] = {"value": value, "dtype": dtype, "shape": (4, 8)}
        yield probe(f"constant_{dtype.name}", "constant", [], since=since(dtype), **attrs)
    for dtype in INTS:
        yield probe(f"iota_{dtype.name}", "iota", [], size=64, dtype=dtype)
    yield probe("iota_wraps", "iota", [], size=512, dtype=u8)


def reduction() -> Iterator[Probe]:
    for op in ("reduce", "scan"):
        for dtype in (*INTS, *FLOATS, bool_):
            add = "addf" if dtype.is_float else "ori" if dtype.is_bool else "addi"
            start: Any = False if dtype.is_bool else -0.0 if dtype.is_float else 0
            for axis in (0, 1):
                yield probe(
                    f"{op}_{dtype.name}_{axis}", op, [[row(dtype, 8, 16)]],
                    lambda b, x, a, add=add: [b.emit(add, a, x)], axis=axis, identities=(start,),
                )  # fmt: skip
        for dtype in FLOATS:
            yield probe(
                f"{op}_max_{dtype.name}", op, [[row(dtype, 8, 16)]],
                lambda b, x, a: [b.emit("maxf", a, x)], axis=1, identities=(float("-inf"),),
            )  # fmt: skip
        yield probe(f"{op}_where", op, [[row(f32, 64), row(i32, 64)]], _greatest, axis=0,
                    identities=(float("-inf"), 0))  # fmt: skip
    yield probe("scan_reverse", "scan", [[row(f64, 64)]],
                lambda b, x, a: [b.emit("mulf", a, x)], axis=0, identities=(1.0,),
                reverse=True)  # fmt: skip


def _greatest(b: Any, x: Any, a: Any, i: Any, j: Any) -> list[Any]:
    more = b.emit("cmpf", x, a, predicate=Predicate.GT)
    return [b.emit("select", more, x, a), b.emit("select", more, i, j)]


def matmul() -> Iterator[Probe]:
    for dtype, totals in FLOAT_ACCUMULATORS.items():
        for acc in totals:
            for batch in ((), (2,)):
                kinds = [row(dtype, *batch, 32, 16), row(dtype, *batch, 16, 32),
                         row(acc, *batch, 32, 32)]  # fmt: skip
                name = f"mmaf_{dtype.name}_{acc.name}_{len(batch)}"
                yield probe(name, "mmaf", kinds, since=since(dtype))
    for dtype in (f8e4m3fn, f8e5m2):
        kinds = [row(dtype, 32, 32), row(dtype, 32, 32), row(f32, 32, 32)]
        yield probe(f"mmaf_{dtype.name}_fast", "mmaf", kinds, since=90, fast_acc=True)
    for a in (i8, u8):
        for b in (i8, u8):
            kinds = [row(a, 32, 32), row(b, 32, 32), row(i32, 32, 32)]
            yield probe(f"mmai_{a.name}_{b.name}", "mmai", kinds)
    for (dtype, scale), runs in SCALE_BLOCKS.items():
        for n in runs:
            kinds = [row(dtype, 128, 64), row(dtype, 64, 128), row(f32, 128, 128),
                     row(scale, 128, 64 // n), row(scale, 64 // n, 128)]  # fmt: skip
            yield probe(f"scaled_{dtype.name}_{scale.name}_{n}", "mmaf_scaled", kinds, since=100)


def pointer() -> Iterator[Probe]:
    for dtype in VALUES:
        if dtype in (f4e2m1fn, tf32):
            continue
        to, mask = TileType(PtrType(dtype), (N,)), row(bool_)
        name, first = dtype.name, since(dtype)
        yield probe(f"load_ptr_{name}_masked", "load_ptr", [to, mask], since=first)
        yield probe(f"load_ptr_{name}_padded", "load_ptr", [to, mask, row(dtype)], since=first)
        yield probe(f"store_ptr_{name}_masked", "store_ptr", [to, row(dtype), mask], since=first)
    for dtype in INTS:
        yield probe(f"offset_{dtype.name}", "offset", [TileType(PtrType(f32), (N,)), row(dtype)])
    to = TileType(PtrType(f32), (N,))
    yield probe("load_ptr_acquire", "load_ptr", [to], ordering=Ordering.ACQUIRE, latency=2)
    yield probe("store_ptr_release", "store_ptr", [to, row(f32)], ordering=Ordering.RELEASE,
                scope=Scope.SYSTEM)  # fmt: skip
    yield probe("ptr_to_int", "ptr_to_int", [to])
    yield probe("int_to_ptr", "int_to_ptr", [row(i64)], to=f16)
    yield probe("ptr_to_ptr", "ptr_to_ptr", [to], to=bf16)


def atomics() -> Iterator[Probe]:
    bits = (AtomicMode.AND, AtomicMode.OR, AtomicMode.XOR)
    for dtype in (*INTS, *FLOATS, bool_):
        to = TileType(PtrType(dtype), (N,))
        for mode in AtomicMode:
            logical = dtype.is_int or dtype.is_bool
            if (
                (mode in bits and not logical)
                or (mode is AtomicMode.ADD and not dtype.has_arithmetic)
                or (mode in (AtomicMode.MAX, AtomicMode.MIN) and not dtype.is_int)
            ):
                continue
            name = f"atomic_{mode.value}_{dtype.name}"
            yield probe(name, "atomic_rmw", [to, row(dtype), row(bool_)], mode=mode)
        yield probe(f"cas_{dtype.name}", "atomic_cas", [to, row(dtype), row(dtype)])
    scalar = TileType(PtrType(f16))
    yield probe("atomic_add_one_f16", "atomic_rmw", [scalar, TileType(f16)], mode=AtomicMode.ADD)
    for ordering in Ordering:
        yield probe(f"atomic_{ordering.value}", "atomic_rmw",
                    [TileType(PtrType(i32), (N,)), row(i32)], ordering=ordering)  # fmt: skip


def debug() -> Iterator[Probe]:
    for dtype in VALUES:
        bench = Bench()
        bench.builder.op("print", [bench.load(row(dtype, 4, 8))], template=((0, ""),))
        yield Probe(f"print_{dtype.name}", bench.func(f"print_{dtype.name}"), since(dtype))
    bench = Bench()
    bench.builder.op("print", [bench.load(TileType(PtrType(f32), (4,)))], template=((0, ""),))
    bench.builder.op("assert", bench.load(TileType(bool_)), message="no")
    yield Probe("print_and_assert", bench.func("print_and_assert"))
    bench = Bench()
    index, extent = bench.load(TileType(i32)), bench.load(TileType(i32))
    bench.keep(bench.builder.emit("check", index, extent, tensor="x"))
    yield Probe("check", bench.func("check"))


FAMILIES = {
    f.__name__: f
    for f in (arithmetic, bitwise, comparison, conversion, layout, creation, reduction, matmul,
              pointer, atomics, debug)
}  # fmt: skip


def probes() -> list[Probe]:
    found = [p for family in FAMILIES.values() for p in family()]
    names = [p.name for p in found]
    assert len(set(names)) == len(names)
    return found
