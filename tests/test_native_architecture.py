"""The shape of the native core, kept by test: includes, size limits, types of the module."""

from __future__ import annotations

import ast
import re
import types

from source_tree import ROOT, SOURCES, native_code_lines, native_files, relative
from support.loops import for_each
from tilewright import _core

MAY_INCLUDE: dict[str, tuple[str, ...]] = {
    "core": (),
    "cpu": ("core",),
    "cuda": ("core",),
    "python": ("core", "cpu", "cuda"),
    "tests": ("core", "cpu", "cuda"),
}
"""Which folders of native/ each one may include from, besides itself. In reading order."""

PYTHON = ("Python.h", "structmember.h", "frameobject.h")
ENDINGS = {"start", "start_on", "sync", "sync_on"}
TYPED_BY_SUBCLASS = {
    "Context": {
        "detached",
        "ended_at",
        "in_flight",
        "lent",
        "made",
        "on_loop",
        "outcomes",
        "recording",
        "running",
        "settling",
        "setup",
        "stream",
        "waits",
        "whence",
    },
    "Graph": {"launch"},
    "Allocate": {"execute", "home", "lengthy", "name"},
    "GraphLaunch": ENDINGS,
    "Launch": {"execute", "home", "is_lengthy", "name", "steps", *ENDINGS},
    "RawLaunch": {"execute", *ENDINGS},
    "Op": ENDINGS,
}
"""What only the Python class that extends one of the core's can type."""

MAX_FILE, MAX_COLUMNS = 500, 100

FILES = native_files()


@for_each(FILES)
def test_includes_follow_the_table(path):
    folder = path.relative_to(ROOT / "native").parts[0]
    assert folder in MAY_INCLUDE, f"the folder native/{folder} is not in the table"
    allowed = {folder, *MAY_INCLUDE[folder]}
    for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE):
        used = name.split("/")[0] if "/" in name else folder
        assert used in allowed, f"{relative(path)} includes {name}"


@for_each(FILES)
def test_python_is_known_to_its_folder_alone(path):
    if path.relative_to(ROOT / "native").parts[0] == "python":
        return
    for name in re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", path.read_text(), re.MULTILINE):
        assert name not in PYTHON, f"{relative(path)} includes {name}"


@for_each(FILES)
def test_length_and_width(path):
    size = native_code_lines(path)
    assert size <= MAX_FILE, f"{relative(path)} has {size} code lines, limit {MAX_FILE}"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        assert len(line) <= MAX_COLUMNS, f"{relative(path)}:{number} has {len(line)} columns"
        assert "\t" not in line, f"{relative(path)}:{number} has a tab"


ENTERED = (
    r'\{"\w+",\s*([^,"]+),\s*METH_',  # a method
    r'\bfast_method\(\s*"\w+",\s*([^,]+),',
    r"\bas_method\((?!Function)([^)]+)\)",
    r"\{Py_(?:tp_(?:call|clear|finalize|init|new)|am_send), as_slot\(([^)]+)\)",
)
"""How functions that Python calls are listed."""
RUNS_PYTHON = r"(?<!out_of_turn\()\bPy(?:Object_(?:Vectorcall|Call(?!Finalizer))|Iter_Send)\w*\("
OUT_OF_TURN = ("leaving.cpp", "xla.cpp")
"""Files whose objects never change, and call Python all the time."""


@for_each([f for f in FILES if f.parent.name == "python" and f.name not in OUT_OF_TURN])
def test_python_enters_the_core_in_turn(path):
    text = path.read_text()
    entered = [found for pattern in ENTERED for found in re.findall(pattern, text)]
    properties = re.findall(r"PyGetSetDef k\w+\[\] = \{(.*?)\n\};", text, re.DOTALL)
    for getter, setter in re.findall(r'\{"\w+",\s*([^,]+),\s*([^,]+),', "".join(properties)):
        entered += [getter, *[setter] * (setter != "nullptr")]
    for function in entered:
        assert re.match(r"(as_method\()?in_turn<|function", function), (
            f"{relative(path)}: {function}"
        )


@for_each([f for f in FILES if f.parent.name == "python" and f.name not in OUT_OF_TURN])
def test_the_core_calls_python_out_of_turn(path):
    assert not re.findall(RUNS_PYTHON, path.read_text()), relative(path)


@for_each([f for f in FILES if f.suffix == ".hpp"])
def test_headers_are_included_once_and_say_what_they_are(path):
    text = path.read_text()
    assert text.startswith("//"), f"{relative(path)} does not say what it gives"
    assert "\n#pragma once\n" in text, f"{relative(path)} has no #pragma once"


def _declared(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """The public names of a stub, or of a class in it, that are there when the program runs."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) != "TypeAlias":
            found[ast.unparse(node.target)] = node
    return {name: node for name, node in found.items() if not name.startswith("_")}


STUB = _declared(ast.parse((SOURCES / "_core.pyi").read_text()).body)


def _public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def test_every_name_of_the_module_is_typed():
    assert _public(_core) == set(STUB)


@for_each(sorted(n for n in STUB if isinstance(getattr(_core, n, None), type)))
def test_every_name_of_a_class_is_typed(name):
    node = STUB[name]
    assert isinstance(node, ast.ClassDef)
    by_subclass = TYPED_BY_SUBCLASS.get(name, set[str]())
    assert _public(getattr(_core, name)) == set(_declared(node.body)) | by_subclass


@for_each(sorted(n for n in STUB if isinstance(STUB[n], ast.FunctionDef)))
def test_every_function_says_what_it_does(name):
    assert isinstance(getattr(_core, name), types.BuiltinFunctionType)
    assert getattr(_core, name).__doc__, f"{name} has no docstring"
    assert ast.get_docstring(STUB[name]), f"{name} has no docstring in _core.pyi"
