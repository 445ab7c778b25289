"""Reads the repository's own sources for the architecture tests: imports, line counts."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = "tilewright"
SOURCES = ROOT / "src" / PACKAGE
NATIVE = f"{PACKAGE}._core"
"""The native core, which is a module without a source in Python."""


@dataclass(frozen=True)
class Import:
    """One import of a module of our own, by full dotted name, and the line it stands on."""

    target: str
    line: int
    nested: bool


@dataclass(frozen=True)
class Module:
    """One source file of the package: `name` is dotted, without `__init__`."""

    path: Path
    name: str

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def layer(self) -> str:
        """The folder below the package; "" for the package's own top-level modules."""
        parts = self.path.relative_to(SOURCES).parts
        return parts[0] if len(parts) > 1 else ""

    @property
    def tree(self) -> ast.Module:
        return tree_of(self.path)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, found once for all tests."""
        return nodes_of(self.path)


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the syntax tree of a file."""
    return tuple(ast.walk(tree_of(path)))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def modules() -> dict[str, Module]:
    """All modules of the package by dotted name."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(path, name)
    return found


@cache
def imports(module: Module) -> tuple[Import, ...]:
    """Imports of our own modules; those under `if TYPE_CHECKING:` are not counted."""
    return tuple(_imports(module, module.tree, nested=False))


def _imports(module: Module, node: ast.AST, *, nested: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _imports(module, other, nested=nested)
        elif isinstance(child, ast.Import | ast.ImportFrom):
            for target in _targets(module, child):
                yield Import(target, child.lineno, nested)
        else:
            inside = nested or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(module, child, nested=inside)


def _targets(module: Module, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    known = {*modules(), NATIVE}
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
        yield from (n for n in names if n == PACKAGE or n.startswith(PACKAGE + "."))
        return
    base = _base(module, node)
    if base is None:
        return
    for alias in node.names:
        full = f"{base}.{alias.name}"
        yield full if full in known else base


def _base(module: Module, node: ast.ImportFrom) -> str | None:
    """The dotted module an import-from names; None where it is not ours."""
    if node.level == 0:
        name = node.module or ""
        return name if name == PACKAGE or name.startswith(PACKAGE + ".") else None
    parts = module.name.split(".")
    drop = node.level - (1 if module.is_package else 0)
    parts = parts[: len(parts) - drop] if drop else parts
    return ".".join([*parts, *([node.module] if node.module else [])])


@cache
def code_lines(path: Path) -> frozenset[int]:
    """Numbers of the lines that hold code: no blank lines, comments or docstrings."""
    text = path.read_text(encoding="utf-8")
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*skipped, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    return frozenset(lines - _docstring_lines(path))


def _docstring_lines(path: Path) -> set[int]:
    """Lines of strings that stand alone as statements: docstrings of everything."""
    lines: set[int] = set()
    for node in nodes_of(path):
        alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if alone and isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def functions(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, line and number of code lines of each function in a file."""
    code = code_lines(path)
    for name, body in _bodies(path):
        yield name, body.start, len(code.intersection(body))


def may_exceed(path: Path, file: int, function: int) -> bool:
    """Whether a file or a function in it has more lines than a limit, comments included.

    This is found without tokens, which take long, and most files are short.
    """
    lines = path.read_text(encoding="utf-8").count("\n")
    return lines > file or (
        lines > function and any(len(body) > function for _, body in _bodies(path))
    )


def _bodies(path: Path) -> Iterator[tuple[str, range]]:
    """Name and lines of each function in a file."""
    own = SOURCES in path.parents  # others are read by this test alone
    for node in nodes_of(path) if own else ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, range(node.lineno, (node.end_lineno or node.lineno) + 1)


def python_files() -> list[Path]:
    """Every Python file that the house limits hold for."""
    names = ("tests", "examples", "tools", "benchmarks", "native")
    folders = (SOURCES, *(ROOT / name for name in names))
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [path for path in files if not path.name.startswith("_generated_")]


def native_files() -> list[Path]:
    """Every C++ file of the native core."""
    return sorted(path for path in (ROOT / "native").rglob("*.?pp"))


def native_code_lines(path: Path) -> int:
    """How many lines of a C++ file hold code: no blank lines, and none of comment alone."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return sum(bool(line) and not line.startswith("//") for line in lines)
