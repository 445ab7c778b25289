"""The library: names, dependencies, no calls to anything outside, the same result for any lanes."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from cpu.backend.libm.harness import CARRIER_OF, apply, samples
from support.numbers import fresh_rng
from tilewright.backend.libm import BOUNDS, FUNCTIONS, Library
from tilewright.backend.libm.conversion import ELEMENT, FLOATS
from tilewright.backend.llvm.builder import vector

NAMES = "sin cos tan sinh cosh tanh exp expm1 exp2 log log1p log2 rsqrt cbrt erf pow atan2 remf"


def test_all_functions_are_there():
    assert set(FUNCTIONS) == set(NAMES.split())
    for name in FUNCTIONS:
        assert set(BOUNDS[name]) == set(FUNCTIONS[name].write) == {"f32", "f64"}


def test_bounds_keep_the_promise():
    assert all(bound["f32"] <= 2 and bound["f64"] <= 4 for bound in BOUNDS.values())


def test_a_function_is_defined_once():
    library = Library()
    assert library.use("exp", "f32", 16) == library.use("exp", "f32", 16) == "@tw_exp_f32_x16"
    assert library.use("exp", "f32", 1) == "@tw_exp_f32_x1"
    text = library.text()
    assert text.count("define internal <16 x float> @tw_exp_f32_x16(<16 x float>") == 1
    assert text.count("define internal float @tw_exp_f32_x1(float") == 1


def test_helpers_are_shared():
    library = Library()
    for name in ("sin", "cos"):
        for lanes in (1, 8):
            library.use(name, "f64", lanes)
    assert library.definitions().count("define internal { double, double, i64 }") == 1


def test_declarations_are_apart():
    library = Library()
    library.use("exp", "f64", 4)
    fma = "declare <4 x double> @llvm.fma.v4f64(<4 x double>, <4 x double>, <4 x double>)"
    assert fma in library.declarations()
    assert "declare" not in library.definitions()
    assert library.text().count(fma) == 1


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda lib: lib.use("erfc", "f32", 8), "no function erfc of f32"),
        (lambda lib: lib.use("exp", "f16", 8), "no function exp of f16"),
        (lambda lib: lib.convert("f32", "i8", 8), "no conversion from f32 to i8"),
        (lambda lib: lib.convert("f99", "f32", 8), "no conversion from f99 to f32"),
    ],
)
def test_unknown_names(ask, error):
    with pytest.raises(KeyError, match=error):
        ask(Library())


@pytest.mark.parametrize("lanes", [0, -1, 65])
def test_lanes_out_of_range(lanes):
    with pytest.raises(ValueError, match="lanes must be in 1"):
        Library().use("exp", "f32", lanes)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_result_does_not_depend_on_lanes(name, dtype):
    rng = fresh_rng()
    arrays = [rng.permutation(samples(dtype, rng, 30)) for _ in range(FUNCTIONS[name].arity)]
    kind = "u4" if CARRIER_OF[dtype] is np.float32 else "u8"
    expected = apply(name, dtype, *arrays, lanes=1)
    nan = np.isnan(expected)
    for lanes in (2, 4, 16, 32):
        got = apply(name, dtype, *arrays, lanes=lanes)
        assert np.array_equal(np.isnan(got), nan)
        assert np.array_equal(got.view(kind)[~nan], expected.view(kind)[~nan])


def everything(lanes: int) -> str:
    """A module with one visible function around each function and conversion."""
    library, callers = Library(), []

    def caller(symbol: str, source: str, target: str, arity: int) -> None:
        s, t = vector(source, lanes), vector(target, lanes)
        arguments = ", ".join(f"{s} %x{i}" for i in range(arity))
        callers.append(
            f"define void @call{len(callers)}(ptr %out, {arguments}) {{\n"
            f"  %y = call {t} {symbol}({arguments})\n  store {t} %y, ptr %out\n  ret void\n}}\n"
        )

    for name, function in FUNCTIONS.items():
        for dtype in function.write:
            elem = ELEMENT[dtype]
            caller(library.use(name, dtype, lanes), elem, elem, function.arity)
    for source in ELEMENT:
        for target in FLOATS:
            symbol = library.convert(source, target, lanes)
            caller(symbol, ELEMENT[source], ELEMENT[target], 1)
    return library.text() + "".join(callers)


@pytest.mark.parametrize(
    ("triple", "cpu"),
    [
        ("x86_64-unknown-linux-gnu", "haswell"),
        ("x86_64-unknown-linux-gnu", "sapphirerapids"),
        ("aarch64-unknown-linux-gnu", "neoverse-v1"),
    ],
)
def test_nothing_outside_is_called(triple, cpu):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3)
    module = llvm.parse_assembly(everything(8))
    module.triple = triple
    module.data_layout = str(machine.target_data)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    assembly = machine.emit_assembly(module)
    called = re.findall(r"^\s+(?:callq?|bl|b|jmp|movabsq)\s+\$?([A-Za-z_][\w@.]*)", assembly, re.M)
    assert set(called) == {"tw_reduce_large"}
