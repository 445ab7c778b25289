"""The shape of the code, kept by test: import rule, size limits, and what must not be there."""

from __future__ import annotations

import ast
import re
import subprocess
from graphlib import CycleError, TopologicalSorter

import pytest

from source_tree import (
    NATIVE,
    PACKAGE,
    ROOT,
    SOURCES,
    code_lines,
    functions,
    imports,
    may_exceed,
    modules,
    nodes_of,
    python_files,
    relative,
)  # fmt: skip
from support.loops import for_each
from tilewright import _core

COMPILE_HALF = ("analysis", "frontend", "passes", "backend", "compile")
RUN_HALF = ("devices", "op", "tensors", "graph")
BELOW_LAUNCH = ("base", "ir", "lang", *COMPILE_HALF, *RUN_HALF)

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "base": (),
    "ir": ("base",),
    "lang": ("base", "ir"),
    "analysis": ("base", "ir"),
    "frontend": ("base", "ir", "lang", "analysis"),
    "passes": ("base", "ir", "analysis"),
    "backend": ("base", "ir", "analysis"),
    "compile": ("base", "ir", "lang", "analysis", "frontend", "passes", "backend"),
    "devices": ("base",),
    "op": ("base", "devices"),
    "tensors": ("base", "devices", "op"),
    "graph": ("base", "devices", "op", "tensors"),
    "debugging": ("base", "ir", "backend"),
    "launch": (*BELOW_LAUNCH, "debugging"),
    "kernels": ("base", "lang", "op", "tensors", "launch"),
    "testing": ("base", "devices", "op", "tensors", "kernels"),
    "functions": ("base", "frontend", "devices", "op", "tensors", "launch"),
    "ops": ("base", "lang", "op", "tensors", "launch", "kernels", "functions"),
    "interop": ("base", "frontend", "devices", "op", "tensors", "launch", "functions"),
    "distributed": ("base", "frontend", "devices", "op", "tensors", "launch", "functions"),
    "tune": (
        "base", "lang", "frontend", "backend", "compile", "devices", "op", "tensors", "graph",
        "launch", "kernels", "functions",
    ),
    "tools": (
        "base", "ir", "frontend", "backend", "compile", "devices", "op", "tensors", "launch",
        "tune",
    ),
}  # fmt: skip
"""Which folders each folder may import, besides itself. In reading order; the folders above
`kernels` come with the features they hold. The package's own modules may import everything."""

WITHOUT_THE_CORE = ("ir", "lang", *COMPILE_HALF)
"""Folders that never import the native core, the run half's: kernels compile without it."""

BACKENDS: dict[str, tuple[str, ...]] = {
    "llvm": (),
    "libm": ("llvm",),
    "cpu": ("llvm", "libm"),
    "simt_cpu": ("llvm", "libm", "cpu"),
    "ptx": ("llvm", "libm", "cpu"),
    "reference": (),
    "tileir": (),
}
"""Which backends each backend may import, besides itself: those that LLVM compiles share a builder,
the math functions, and how single ops are written."""

LOADED_LATER: dict[str, tuple[str, ...]] = {
    "tilewright": ("notebook",),
    "compile.cache": ("compile.pipeline", "compile.runner"),
    "compile.pipeline": (
        "backend.cpu.stages", "backend.ptx.module", "backend.reference.interpreter",
        "backend.simt_cpu.module", "backend.tileir.stages",
    ),
    "devices.cpu.module": ("base.elf",),
    "devices.cuda.finding": ("devices.cuda.bindings",),
    "devices.cuda.module": ("devices.cuda.loading",),
    "launch.definition": (
        "compile.checks", "frontend.capture.annotations", "launch.exporting", "launch.inspection",
    ),
    "launch.kernel": ("launch.run",),
    "launch.report": ("analysis.bounds.check_placement",),
    "launch.run": ("backend.reference.interpreter", "debugging", "ir.ops.control"),
    "op.core": ("op.picture",),
    "op.trace": ("op.nvtx", "op.trace_file"),
}  # fmt: skip
"""What is loaded when it is first needed, by functions of which modules: the compiler, whoever
shows what it did, and what few programs use. The package's own names that are loaded later stand
in a table of its `__init__`."""

MAX_FILE, MAX_FUNCTION = 800, 60

ENVIRONMENT_READER = f"{PACKAGE}.base.config"

WHOLE_SYSTEM_TESTS: dict[str, str] = {
    "devices/test_several.py": "streams, order, copies and graphs on two and four devices at once",
    "lang/test_declarations.py": "compares every declaration with its rule",
    "language/": "kernels as users write them, on every device",
    "test_numbers.py": "one test per row of docs/reference/numbers.md",
    "op/test_endings_delivering.py": "what endings give back, whoever interrupts them, and where",
}
"""Test files or folders, below tests/host or tests/cpu, that mirror no source, with the reason."""

ALL_MODULES = sorted(modules())


@for_each(ALL_MODULES)
def test_imports_follow_the_table(name):
    module = modules()[name]
    if module.layer == "":
        return
    assert module.layer in MAY_IMPORT, f"the folder {module.layer} is not in the import table"
    allowed = {module.layer, *MAY_IMPORT[module.layer]}
    for used in imports(module):
        layer = used.target.split(".")[1] if "." in used.target else ""
        where = f"{relative(module.path)}:{used.line} imports {used.target}"
        if used.target == NATIVE:
            assert module.layer not in WITHOUT_THE_CORE, where
            continue
        assert layer in allowed, f"{where}: `{module.layer}` may not import `{layer or PACKAGE}`"
        if module.layer == "backend" == layer:
            own, other = name.split(".")[2], used.target.split(".")[2]
            assert other in (own, *BACKENDS[own]), f"{where}: `{own}` may not import `{other}`"


def test_the_halves_do_not_touch_even_through_others():
    """What the table allows, followed to its end, keeps the two halves apart."""
    for half, other in ((COMPILE_HALF, RUN_HALF), (RUN_HALF, COMPILE_HALF)):
        for layer in half:
            assert not _reachable(layer) & set(other), f"{layer} reaches the other half"


def _reachable(layer: str) -> set[str]:
    found: set[str] = set()
    todo = [layer]
    while todo:
        for target in MAY_IMPORT[todo.pop()]:
            if target not in found:
                found.add(target)
                todo.append(target)
    return found


def test_the_table_is_in_reading_order():
    seen: set[str] = set()
    for layer, targets in MAY_IMPORT.items():
        assert set(targets) <= seen, f"{layer} may import something that stands below it"
        seen.add(layer)


def test_no_import_cycles():
    graph = {
        name: {u.target for u in imports(module)} - {name} for name, module in modules().items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


@for_each(ALL_MODULES)
def test_imports_stand_at_the_top(name):
    later = {f"{PACKAGE}.{part}" for part in LOADED_LATER.get(name.removeprefix(f"{PACKAGE}."), ())}
    nested = {used.target for used in imports(modules()[name]) if used.nested}
    assert nested == later, f"{name} imports inside functions {nested}, in the table {later}"


@for_each(ALL_MODULES)
def test_forbidden_statements(name):
    for node in modules()[name].nodes:
        assert not isinstance(node, ast.Global), f"{name}:{node.lineno} uses `global`"
        if isinstance(node, ast.ImportFrom):
            assert node.names[0].name != "*", f"{name}:{node.lineno} imports *"


@for_each(ALL_MODULES)
def test_only_config_reads_the_environment(name):
    if name == ENVIRONMENT_READER:
        return
    for node in modules()[name].nodes:
        names = (
            getattr(node, "attr", None),
            getattr(node, "id", None),
            getattr(node, "name", None),
        )
        for word in ("environ", "environb", "getenv", "putenv"):
            assert word not in names, f"{name} touches the environment ({word})"


NOTICES = ("publish", "tell_torch")


@for_each(ALL_MODULES)
def test_nothing_happens_at_import(name):
    """Calls for their effect at module level are work done merely because of an import.

    But a module may tell the core of the classes it defines, by functions called `set_...`, and
    PyTorch, if it is there, of functions that its compiler need not look into.
    """
    for node in modules()[name].tree.body:
        assert not isinstance(node, ast.While | ast.With), f"{name}:{node.lineno} works at import"
        called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        assert not called or _tells_core(node), f"{name}:{node.lineno} calls something at import"


def _tells_core(statement: ast.stmt) -> bool:
    assert isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    name = ast.unparse(statement.value.func).removeprefix("_core.")
    return (name.startswith("set_") and hasattr(_core, name)) or name.lstrip("_") in NOTICES


@for_each(ALL_MODULES)
def test_module_docstring(name):
    assert ast.get_docstring(modules()[name].tree), f"{name} does not say what it takes and gives"


@for_each(python_files())
def test_file_and_function_length(path):
    if not may_exceed(path, MAX_FILE, MAX_FUNCTION):
        return
    size = len(code_lines(path))
    assert size <= MAX_FILE, f"{relative(path)} has {size} code lines, limit {MAX_FILE}"
    for name, line, length in functions(path):
        where = f"{relative(path)}:{line} `{name}`"
        assert length <= MAX_FUNCTION, f"{where} has {length} code lines, limit {MAX_FUNCTION}"


def _mirrored_tests() -> list[str]:
    groups = (ROOT / "tests" / "host", ROOT / "tests" / "cpu")
    return sorted(relative(p) for g in groups for p in g.rglob("test_*.py"))


@for_each(_mirrored_tests())
def test_tests_mirror_sources(path):
    """tests/host/passes/test_licm.py tests src/tilewright/passes/licm.py.

    So does test_licm_loops.py: what follows the name of the source says which part of it is tested.
    And tests/cpu/launch/test_core_entry.py tests native/python/entry.cpp, and tests/host/simulator
    the folder of that name.
    """
    below = ROOT / path
    inside = below.relative_to(ROOT / "tests" / below.relative_to(ROOT / "tests").parts[0])
    if any(inside.as_posix().startswith(known) for known in WHOLE_SYSTEM_TESTS):
        return
    what = inside.stem.removeprefix("test_")
    native = ROOT / "native" / "python"
    of_core = what.startswith("core_") and any(native.glob(f"{what.removeprefix('core_')}.?pp"))
    words = what.split("_")
    sources = ROOT if inside.parts[0] == "simulator" else SOURCES
    heads = (sources / inside.parent / "_".join(words[:n]) for n in range(1, len(words) + 1))
    found = of_core or any(head.with_suffix(".py").exists() or head.is_dir() for head in heads)
    assert found, f"{path} mirrors no source file"


def test_golden_files_belong_to_tests():
    goldens = ROOT / "tests" / "goldens"
    for path in goldens.rglob("*.txt"):
        test = (ROOT / "tests" / path.parent.relative_to(goldens)).with_suffix(".py")
        assert test.exists(), f"{relative(path)} belongs to no test"


def test_architecture_page_prints_this_table():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", text, re.MULTILINE)
    printed = {folder: tuple(re.findall(r"`(\w+)`", targets)) for folder, targets in rows}
    assert printed == MAY_IMPORT


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_pages_name_files_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for name in re.findall(r"`((?:\w+/)+[\w.]*)`", text):
        places = (ROOT / name, SOURCES / name)
        assert any(place.exists() for place in places), f"{page} speaks of {name}"


def test_no_paths_of_one_machine():
    """A path of the machine something was written on means nothing to its reader."""
    private = re.compile(r"(?<![\w.])/(?:work|root|home|Users|tmp/\w)[/\w]")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".txt", ".yml", "") and path.is_file():
            found = private.search(path.read_text(encoding="utf-8", errors="ignore"))
            assert not found or path.samefile(__file__), f"{name} mentions {found}"


def test_class_names_of_the_compile_half_are_unique():
    """A name means one thing, in whatever file it is read."""
    homes: dict[str, list[str]] = {}
    for folder in ("base", "ir", "lang", *COMPILE_HALF):
        for path in sorted((SOURCES / folder).rglob("*.py")):
            for node in nodes_of(path):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(relative(path))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}
