"""The pipeline runs the front end, the passes and a backend's stages, in that order."""

from __future__ import annotations

import inspect

import pytest

import tilewright.lang as tl
from source_tree import SOURCES, code_lines
from tilewright.backend.llvm.object import host_target
from tilewright.base.config import Config, override
from tilewright.base.dtypes import f32
from tilewright.base.errors import CompileError
from tilewright.compile.pipeline import CUDA_PASSES, PASSES, compile_kernel, stages
from tilewright.compile.runner import Runner
from tilewright.frontend.capture.annotations import capture
from tilewright.ir.artifact import Artifact
from tilewright.ir.core import Func
from tilewright.ir.signature import OutputSpec, Signature, TensorSpec
from tilewright.ir.verify import verify

SIGNATURE = Signature(
    (OutputSpec("z", f32, (None,), (1,), (4,)), TensorSpec("x", f32, (None,), (1,))),
    (("K", 3),),
)
SCALE = 2


def scale(z: tl.TensorMut, x: tl.Tensor, *, K: tl.Const[int]) -> None:
    assert x.shape[0] >= 4
    z.store(tl.load_tile_like(x, z) * (K * SCALE))


def wrong(z: tl.TensorMut, x: tl.Tensor, *, K: tl.Const[int]) -> None:
    z.store(nothing)  # noqa: F821


def test_the_map_stays_small():
    assert len(code_lines(SOURCES / "compile" / "pipeline.py")) <= 132


def test_from_a_kernel_to_an_artifact():
    run = Runner("scale", Config())
    artifact, built = compile_kernel(capture(scale), SIGNATURE, "reference", run)
    assert isinstance(artifact, Artifact)
    assert (artifact.name, artifact.target) == ("scale", "reference")
    assert artifact.signature == SIGNATURE
    assert isinstance(artifact.code, Func)
    verify(artifact.code, "test")
    assert artifact.launch_checks == artifact.code.launch_checks != ()
    assert ("SCALE", 2) in [(c.name, c.value) for c in built.captured]


def test_the_order_of_steps():
    run = Runner("scale", Config(), keep=True)
    compile_kernel(capture(scale), SIGNATURE, "reference", run)
    once = list(dict.fromkeys(p.__name__ for p in PASSES))
    assert list(run.times) == ["frontend", *once, "interpret"]
    assert list(run.shown) == ["frontend", *once, "passes", "interpret"]
    assert run.shown["passes"] == run.shown["dce"]


def test_an_error_of_the_kernel_comes_out():
    with pytest.raises(CompileError, match="nothing"):
        compile_kernel(capture(wrong), SIGNATURE, "reference", Runner("wrong", Config()))


def test_the_reference_is_never_kept(tmp_path):
    assert [s.codec for s in stages("reference")] == [None]
    with override(cache_dir=str(tmp_path / "cache")):
        compile_kernel(capture(scale), SIGNATURE, "reference")
    assert list(tmp_path.iterdir()) == []


def test_the_stages_of_the_cpu():
    found = stages("cpu")
    assert [s.name for s in found] == ["plan", "llvm", "object"]
    assert [s.codec is not None for s in found] == [True, False, False]


def test_settings_reach_the_target():
    with override(scratch_limit=12345):
        assert host_target().scratch_limit == 12345


def test_passes_take_and_give_functions():
    for pass_ in (*PASSES, *CUDA_PASSES):
        assert list(inspect.signature(pass_).parameters) == ["func"]
