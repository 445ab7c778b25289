"""What an import loads: the run half. The compiler, and our own kernels, come when first needed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from source_tree import PACKAGE, modules

MOST_MODULES = 170
"""Of our own, that `import tilewright` loads."""

LEFT_OUT = {
    "import": (
        "analysis", "backend", "compile", "frontend", "functions", "interop", "ir", "jit_cache",
        "kernels", "lang", "launch", "ops", "passes", "simt", "testing", "tools",
    ),
    "definition": (
        "analysis", "backend", "compile.pipeline", "compile.store", "frontend.interp",
        "frontend.rules", "functions", "interop", "ir.core", "ir.ops", "jit_cache", "kernels",
        "launch.run", "launch.simt", "ops", "passes", "simt", "testing", "tools",
    ),
}  # fmt: skip
"""What is not loaded by a step, nor by those before it: the import, and the first definition."""
LIGHT = (
    "backend", "backend.tileir", "backend.tileir.bytecode",
    "backend.tileir.bytecode.enums", "backend.tileir.target",
)  # fmt: skip
"""Small modules that say what options and parameters the kernels of a GPU have."""
OTHERS = (
    "asyncio", "concurrent.futures", "difflib", "email", "html", "importlib.metadata", "json",
    "llvmlite", "logging", "socket", "subprocess",
)  # fmt: skip
"""What is not ours, and takes its time."""

PROGRAM = """
import sys

import numpy
steps = {"numpy": set(sys.modules)}
import tilewright as tw
steps["import"] = set(sys.modules)
import tilewright.lang as tl

@tw.entry
def double(y: tl.TensorMut, x: tl.Tensor) -> None:
    y.store(tl.load_tile_like(x, y) * 2.0)

steps["definition"] = set(sys.modules)
y = tw.zeros((64,), tw.f32, device="cpu").sync().partition((16,))
double(y, numpy.ones(64, "f4")).sync()
steps["launch"] = set(sys.modules)

import json
print(json.dumps({name: sorted(found) for name, found in steps.items()}))
"""


def run(program: str, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The modules that are there after each step of a program, without those before it."""
    file = tmp_path_factory.mktemp("loading") / "program.py"
    file.write_text(PROGRAM)
    steps = json.loads(run(str(file)))
    return {step: set(found) - set(steps["numpy"]) for step, found in steps.items()}


def test_the_names_exist():
    """A module that was renamed would be loaded unseen."""
    names = {*LIGHT, *LEFT_OUT["import"], *LEFT_OUT["definition"]}
    assert {f"{PACKAGE}.{name}" for name in names} <= set(modules())


def below(found: set[str], folders: tuple[str, ...]) -> set[str]:
    names = {name.removeprefix(f"{PACKAGE}.") for name in found if name.startswith(PACKAGE)}
    return {name for name in names if any(f"{name}.".startswith(f"{f}.") for f in folders)}


def test_an_import_loads_nothing_that_compiles_or_launches(loaded):
    assert below(loaded["import"], LEFT_OUT["import"]) == set()


def test_a_definition_loads_nothing_that_compiles(loaded):
    assert below(loaded["definition"], LEFT_OUT["definition"]) <= set(LIGHT)


@pytest.mark.parametrize("step", ["import", "definition"])
@pytest.mark.parametrize("name", OTHERS)
def test_nothing_large_of_others_is_loaded(loaded, step, name):
    assert name not in loaded[step]


def test_an_import_loads_few_modules(loaded):
    ours = [name for name in loaded["import"] if name.partition(".")[0] == PACKAGE]
    assert len(ours) <= MOST_MODULES


def test_the_first_launch_loads_the_compiler(loaded):
    names = ("compile.pipeline", "backend.cpu.stages", "passes.licm", "frontend.rules")
    assert {f"{PACKAGE}.{name}" for name in names} <= loaded["launch"]
    assert "llvmlite.binding" in loaded["launch"]


def test_a_launch_loads_no_other_backend(loaded):
    others = ("backend.ptx", "backend.reference", "backend.simt_cpu", "backend.tileir")
    assert below(loaded["launch"], others) <= set(LIGHT)


@pytest.mark.parametrize(
    "program",
    [
        "import tilewright as tw; assert tw.simt.kernel and tw.jit_cache.stats",
        "from tilewright import simt; assert simt.kernel",
        "import tilewright.simt; assert tilewright.simt.kernel",
        "from tilewright import rand, bench, Stream, entry, load_module_from_ptx",
        "import tilewright as tw; assert tw.kernel is tw.entry and tw.exec('x = 1')['x'] == 1",
        "from tilewright import *; assert arange and simt",
    ],
)
def test_names_are_found_however_they_are_asked_for(program):
    run(program, "-c")


def test_every_public_name_is_there_and_listed():
    run(
        "import tilewright as tw; assert set(tw.__all__) <= set(dir(tw))\n"
        "assert all(hasattr(tw, name) for name in tw.__all__)",
        "-c",
    )


def test_a_name_that_is_loaded_later_is_looked_for_once():
    run("import tilewright as tw; found = tw.rand; assert vars(tw)['rand'] is found", "-c")


def test_an_unknown_name_is_refused():
    run(
        "import tilewright as tw\n"
        "try: tw.arrange\n"
        "except AttributeError as e: assert str(e) == \"module 'tilewright' has no attribute"
        " 'arrange'; did you mean tw.arange?\", e\n"
        "else: raise SystemExit('found')",
        "-c",
    )
