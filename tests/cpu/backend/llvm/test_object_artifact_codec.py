"""Native code comes back from the disk as it went there, for the same code and CPU only."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from source_tree import SOURCES
from support.ir import Kernel, span_of
from tilewright.backend.cpu.stages import compile_func
from tilewright.backend.llvm import object as native_code
from tilewright.backend.llvm.object import CpuTarget, host_target
from tilewright.base.dtypes import f32
from tilewright.base.stage import Saved
from tilewright.ir.artifact import Artifact

CPU = host_target()


pytestmark = pytest.mark.usefixtures("sources_count_as_old")


def kernel(line=1, factor=2.0, name="scale"):
    """Loads, adds up its rows and stores; its lines are `line` and the two after it."""
    k = Kernel(name)
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2, (4, 4))
    k.span = span_of(line)
    a = k.load(x, (4, 4), k.block_id(0), k.block_id(1))
    k.span = span_of(line + 1)
    product = k.emit("mmaf", a, a, k.constant(0.0, f32, (4, 4)))
    k.span = span_of(line + 2)
    k.emit("check", k.i32(0), k.i32(1), tensor="x", axis=0)
    total = k.emit("mulf", product, k.constant(factor, f32, (4, 4)))
    k.store(total, z, k.block_id(0), k.block_id(1), tile=(4, 4))
    return k.finish()


def test_what_comes_back_is_what_was_made():
    func = kernel()
    made = compile_func(func, CPU)
    assert made.decisions
    assert native_code.restore(func, CPU, native_code.save(func, made)) == made


def test_every_field_is_saved_or_comes_from_the_function():
    """A new field of Artifact must be thought of here, or it would be lost on the way."""
    from_function = {"name", "target", "signature", "launch_checks", "sites", "obligations"}
    saved = {"code", "scratch_bytes", "together", "decisions"}
    of_gpus = {"occupancy", "cluster", "turned", "seconds", "choices", "candidates"}
    assert from_function | saved | of_gpus == {f.name for f in fields(Artifact)}


def test_places_are_those_of_the_function_at_hand():
    """The same code may stand elsewhere by now, in another file even."""
    old, new = kernel(line=5), kernel(line=1234)
    kept = native_code.save(old, compile_func(old, CPU))
    assert "kernel.py" not in str(kept.metadata)
    restored = native_code.restore(new, CPU, kept)
    fresh = compile_func(new, CPU)
    assert restored.decisions == fresh.decisions
    assert any("kernel.py:1235:1" in line for line in restored.decisions)
    assert [s.span.line for s in restored.sites] == [1236]
    assert restored == replace(fresh, code=restored.code)


def test_places_that_begin_alike_are_told_apart():
    places = {"k.py:1:1": 0, "k.py:1:12": 1, "k.py:11:1": 2}
    line = "kept (k.py:1:12) and (k.py:1:1) and (k.py:11:1) and (k.py:1:123)"
    parts = native_code._without_places(line, places)
    assert parts == ["kept (", 1, ") and (", 0, ") and (", 2, ") and (k.py:1:123)"]
    assert native_code._without_places(line, {}) == [line]


def test_ops_without_a_place():
    func = kernel()
    kept = native_code.save(func, compile_func(func, CPU))
    for op in func.walk():
        op.span = None
    assert any("no place" in line for line in native_code.restore(func, CPU, kept).decisions)


# What it depends on.


def test_the_same_code_has_the_same_facts():
    assert native_code.facts(kernel(line=5), CPU) == native_code.facts(kernel(line=99), CPU)


@pytest.mark.parametrize(
    ("func", "cpu", "changed"),
    [
        (kernel(factor=3.0), CPU, "ir"),
        (kernel(name="other"), CPU, "kernel"),
        (kernel(), replace(CPU, name="other"), "cpu"),
        (kernel(), replace(CPU, features=CPU.features + ",-avx2"), "features"),
        (kernel(), replace(CPU, triple="aarch64-unknown-linux-gnu"), "triple"),
        (kernel(), replace(CPU, scratch_limit=1), "scratch_limit"),
    ],
    ids=["ir", "kernel", "cpu", "features", "triple", "scratch_limit"],
)
def test_every_fact_about_the_code_is_named(func, cpu, changed):
    old, new = native_code.facts(kernel(), CPU), native_code.facts(func, cpu)
    assert old.keys() == new.keys()
    assert changed in {key for key in old if old[key] != new[key]}


@pytest.mark.parametrize(
    ("where", "name", "value", "fact"),
    [
        ("tilewright.backend.llvm.object.llvm", "llvm_version_info", (1, 2, 3), "llvm"),
        ("llvmlite", "__version__", "0.0.1", "llvmlite"),
        ("numpy", "__version__", "0.0.1", "numpy"),
        ("ml_dtypes", "__version__", "0.0.1", "ml_dtypes"),
        ("sys", "version_info", (3, 99, 0), "python"),
        ("tilewright.backend.llvm.object", "source_hash", lambda *f: "other", "sources"),
    ],
)
def test_every_fact_about_the_compiler_is_named(monkeypatch, where, name, value, fact):
    old = native_code.facts(kernel(), CPU)
    monkeypatch.setattr(f"{where}.{name}", value)
    native_code._fixed.cache_clear()
    new = native_code.facts(kernel(), CPU)
    assert {key for key in old if old[key] != new[key]} == {fact}


def test_all_that_the_backend_can_run_is_hashed():
    """Its own folder and those that the import table lets it use, standing below it."""
    assert set(native_code.SOURCES) == {
        "base", "ir", "analysis",
        "backend/llvm", "backend/libm", "backend/cpu", "backend/simt_cpu",
    }  # fmt: skip
    assert all((SOURCES / folder).is_dir() for folder in native_code.SOURCES)


def test_the_backend_does_not_look_at_constants():
    """They are left out of what is compared, since they are in the IR already."""
    for path in (SOURCES / "backend" / "llvm").rglob("*.py"):
        assert "signature.constants" not in path.read_text(), path


def test_unknown_sources_or_attributes_are_not_kept(monkeypatch):
    func = kernel()
    op = next(op for op in func.walk() if op.name == "check")
    op.attrs = {**op.attrs, "tensor": object()}
    assert native_code.facts(func, CPU) is None
    native_code._fixed.cache_clear()
    monkeypatch.setattr(native_code, "source_hash", lambda *folders: None)
    assert native_code.facts(kernel(), CPU) is None


# What is wrong.


GOOD = {
    "symbol": "scale", "scratch_bytes": 64, "together": 2, "decisions": [["a ", 0, " b"], []],
}  # fmt: skip


def test_this_is_good():
    restored = native_code.restore(kernel(), CPU, Saved(GOOD, b"code"))
    assert (restored.scratch_bytes, restored.together, restored.code) == (64, 2, b"code")
    assert restored.decisions == ("a kernel.py:1:1 b", "")


@pytest.mark.parametrize(
    "change",
    [
        {"symbol": "other"}, {"symbol": None}, {"symbol": ["scale"]},
        {"scratch_bytes": -1}, {"scratch_bytes": 64.0}, {"scratch_bytes": True},
        {"scratch_bytes": "64"}, {"scratch_bytes": None}, {"scratch_bytes": CPU.scratch_limit + 1},
        {"together": 0}, {"together": 1.0}, {"together": True}, {"together": "1"},
        {"decisions": None}, {"decisions": "text"}, {"decisions": ["text"]},
        {"decisions": [[None]]}, {"decisions": [[-1]]}, {"decisions": [[10_000]]},
        {"decisions": [[1.0]]}, {"decisions": [[True]]}, {"decisions": [[["a"]]]},
        {"decisions": {"a": 1}},
    ],
    ids=str,
)  # fmt: skip
def test_every_field_is_checked(change):
    with pytest.raises(ValueError, match="not "):
        native_code.restore(kernel(), CPU, Saved({**GOOD, **change}, b"code"))


@pytest.mark.parametrize("missing", GOOD)
def test_every_field_must_be_there(missing):
    metadata = {key: value for key, value in GOOD.items() if key != missing}
    with pytest.raises(ValueError, match="not "):
        native_code.restore(kernel(), CPU, Saved(metadata, b"code"))


def test_another_cpu_gets_code_of_its_own():
    plain = CpuTarget("x86-64", "", "x86_64-unknown-linux-gnu")
    func = kernel()
    assert compile_func(func, plain).target == "cpu x86-64"
    assert native_code.facts(func, plain) != native_code.facts(func, CPU)
