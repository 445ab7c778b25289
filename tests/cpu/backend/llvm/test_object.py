"""Object files: self-contained, refused when the text is wrong, and made for other machines too."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from support.ir import Kernel
from support.native import Dense, Native
from support.numbers import fresh_rng
from support.plans import add, gemm, others, several, softmax
from support.tiles import tile_arguments, tile_program
from tilewright.backend.cpu.stages import compile_func
from tilewright.backend.llvm.object import CpuTarget, assembly, compile_module, host_target
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import FLOATS, INTS, bool_, f8e4m3fn, f32
from tilewright.base.errors import InternalError
from tilewright.ir.ops.elementwise import MATH_OPS

AVX512_AND_LATER = ("avx512", "avx10", "amx", "gfni", "vaes", "vpclmul")


def narrowed(name: str, *without: str) -> CpuTarget:
    """This machine without some features."""
    host = host_target()
    features = [
        "-" + f[1:] if f[1:].startswith(without) else f for f in host.features.split(",") if f
    ]
    return CpuTarget(name, ",".join(features), host.triple)


def undefined(code: bytes) -> list[str]:
    """The symbols an ELF object needs from elsewhere."""
    assert code[:5] == b"\x7fELF\x02", "a 64-bit ELF file"
    offset, size, count = (
        *struct.unpack_from("<Q", code, 40),
        *struct.unpack_from("<HH", code, 58),
    )
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, offset + i * size) for i in range(count)]
    found = []
    for header in headers:
        if header[1] != 2:  # not a symbol table
            continue
        names = headers[header[6]]
        for at in range(header[4], header[4] + header[5], 24):
            name, _, _, section = struct.unpack_from("<IBBH", code, at)
            if section == 0 and name:
                start = names[4] + name
                found.append(code[start : code.index(b"\0", start)].decode())
    return found


def everything() -> Kernel:
    """A kernel with every function and conversion there is."""
    k = Dense()
    for dtype in FLOATS:
        x = k.load(k.tensor(f"x{dtype.name}", dtype, 1), (32,))
        for op in MATH_OPS:
            value = k.emit(op.name, *[x] * len(op.operands))
            k.store(value, k.output(f"{op.name}_{dtype.name}", dtype, 1))
        for to in (*INTS, f8e4m3fn):
            word = "ftof" if to.is_float else "ftoi"
            k.store(k.emit(word, x, to=to), k.output(f"{to.name}_{dtype.name}", to, 1))
        k.store(k.emit("remf", x, x), k.output(f"remf_{dtype.name}", dtype, 1))
    return k


needs_linux = pytest.mark.skipif("linux" not in host_target().triple, reason="reads ELF files")


@needs_linux
@pytest.mark.parametrize("func", [softmax, gemm, others, lambda: everything().finish()])
def test_nothing_is_called_from_outside(func):
    """No libm, no compiler runtime, no memcpy: an object can be loaded anywhere."""
    assert undefined(compile_func(func()).code) == []


@needs_linux
def test_unrolled_zeros_do_not_become_memset():
    k = Dense()
    zero = k.constant(0.0, f32, (4096,))
    k.store(zero, k.output("z", f32, 1))
    flags = k.load(k.tensor("x", bool_, 1), (4096,))
    k.store(flags, k.output("y", bool_, 1))
    assert undefined(compile_func(k.finish()).code) == []


def test_wrong_text_is_an_error_not_an_abort():
    for text in (
        "define void @f() { ret i32 0 }",
        "nonsense",
        "define void @f() {\n  br label %x\n}",
    ):
        with pytest.raises(InternalError, match="LLVM rejects"):
            compile_module(text, host_target())


def test_assembly_is_for_people():
    text = assembly("define void @f() {\n  ret void\n}", host_target())
    assert "f:" in text


OTHERS = [
    CpuTarget("neoverse-v1", "+neon", "aarch64-unknown-linux-gnu"),
    CpuTarget("apple-m1", "+neon", "arm64-apple-macosx13.0"),
    CpuTarget("haswell", "+avx2,+fma,+f16c", "x86_64-unknown-linux-gnu"),
    CpuTarget(
        "sapphirerapids", "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c",
        "x86_64-unknown-linux-gnu",
    ),
    CpuTarget(
        "znver4", "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx2,+fma,+f16c",
        "x86_64-unknown-linux-gnu",
    ),
    CpuTarget("x86-64", "+sse2", "x86_64-unknown-linux-gnu"),
]  # fmt: skip


@pytest.mark.thinned(3)
@pytest.mark.parametrize("cpu", OTHERS, ids=lambda cpu: cpu.name)
def test_other_machines_compile(cpu):
    for func in (add(), softmax(), gemm(), several(), others()):
        assert len(compile_func(func, cpu).code) > 500


@pytest.mark.skipif(not host_target().has("+avx2"), reason="runs code for x86 with AVX2")
def test_narrower_vectors_give_the_same_answers():
    cpu = narrowed("haswell", *AVX512_AND_LATER)
    assert cpu.vector_bytes == 32
    for seed in map(int, fresh_rng().integers(0, 2**31, 10)):
        func = tile_program(seed, Dense)
        ours, theirs = tile_arguments(seed), tile_arguments(seed)
        Native(func, cpu)(ours, (1, 1, 1))
        run(func, theirs, (1, 1, 1))
        for a, b in zip(ours, theirs, strict=True):
            assert np.array_equal(a, b), f"seed {seed}"
