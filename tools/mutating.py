"""Takes a source file, gives its mutants: the same text with one small mistake in each.

A mutant is an edit of the text, so that everything else stays as it is, comments included. Python
is read by `ast`; C++ is searched for operators, outside of comments, strings and `#` lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
COMBINED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.BitXor: ("^", "&"),
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}
NATIVE = (
    ("<=", "<"), (">=", ">"), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
    (" < ", " <= "), (" > ", " >= "), (" + ", " - "), (" - ", " + "), ("++", "--"),
    (" | ", " & "), (" & ", " | "), (" 0;", " 1;"), (" 1;", " 2;"),
    ("true", "false"), ("false", "true"),
)  # fmt: skip

NATIVE_FILES = (".cpp", ".hpp")
NATIVE_STATEMENT = re.compile(
    r"^ +((?:\+\+|--)?[a-z_][\w.>:*\[\]-]*(?:\([^;]*\)| [|&+-]?= [^;]+)?;)$", re.MULTILINE
)
"""A call, an assignment or a step on a line of its own; declarations begin with two words."""
NATIVE_NEGATION = re.compile(r"(?<![\w!])!(?=[\w(])")


@dataclass(frozen=True)
class Mutant:
    """One edit: the text from `start` to `end` becomes `text`."""

    path: Path
    line: int
    start: int
    end: int
    text: str
    before: str
    function: str
    """The name of the function it is in; empty at the top of the module."""

    @property
    def is_native(self) -> bool:
        """Whether it is one of C++."""
        return self.path.suffix in NATIVE_FILES

    def applied(self, source: str) -> str:
        """The source with the mistake in it."""
        return source[: self.start] + self.text + source[self.end :]

    def shown(self, source: str) -> str:
        """The line as it was, and what has become of it."""
        begin = source.rfind("\n", 0, self.start) + 1
        stop = source.find("\n", self.end)
        old = source[begin:stop].strip()
        new = (source[begin : self.start] + self.text + source[self.end : stop]).strip()
        return f"`{' '.join(old.split())}` -> `{' '.join(new.split())}`"


def mutants(path: Path) -> list[Mutant]:
    """Every mutant of a file, in order."""
    source = path.read_text(encoding="utf-8")
    found = _native(path, source) if path.suffix in NATIVE_FILES else _Python(path, source).found()
    return sorted(found, key=lambda m: (m.start, m.text))


class _Python(ast.NodeVisitor):
    """Walks a module; annotations, docstrings and messages are left as they are."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.source = path, source
        lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in lines:
            self.starts.append(self.starts[-1] + len(line))
        self.lines = lines
        self.functions: list[str] = []
        self.mutants: list[Mutant] = []

    def found(self) -> list[Mutant]:
        self.visit(ast.parse(self.source))
        return self.mutants

    def offset(self, line: int, column: int) -> int:
        """Where a place of the tree is in the text; the tree counts bytes."""
        text = self.lines[line - 1].encode()[:column].decode()
        return self.starts[line - 1] + len(text)

    def begin(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.end_lineno or 0, node.end_col_offset or 0)

    def add(self, node: ast.expr | ast.stmt, start: int, end: int, text: str) -> None:
        where = self.functions[-1] if self.functions else ""
        before = self.source[start:end]
        self.mutants.append(Mutant(self.path, node.lineno, start, end, text, before, where))

    def between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Replace the operator between two operands."""
        start, end = self.end(left), self.begin(right)
        pattern = re.escape(old).replace(r"\ ", r"\s+")
        found = re.search(
            rf"\b{pattern}\b" if old[0].isalpha() else pattern, self.source[start:end]
        )
        if found is not None:
            self.add(left, start + found.start(), start + found.end(), new)

    # --- what is left alone ----------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node.name)
        for child in (*node.args.defaults, *(d for d in node.args.kw_defaults if d), *node.body):
            self.visit(child)
        self.functions.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and ast.unparse(node.annotation) != "TypeAlias":
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for child in node.body:
            self.visit(child)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        # list[int | None] in an expression is a type.
        if not (isinstance(node.value, ast.Name) and node.value.id in ("dict", "list", "set")):
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add(node, self.begin(node), self.end(node), "pass")

    def visit_Assert(self, node: ast.Assert) -> None:
        """An assertion has no effect where the program is right."""

    def visit_keyword(self, node: ast.keyword) -> None:
        # `strict=True` is an assertion, too.
        if node.arg != "strict":
            self.visit(node.value)

    # --- mistakes --------------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip(
            (node.left, *node.comparators), node.ops, node.comparators, strict=False
        ):
            self.between(left, right, *COMPARED[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = isinstance(node.left, ast.Constant | ast.JoinedStr) and not isinstance(
            getattr(node.left, "value", ""), int
        )
        if type(node.op) in COMBINED and not text:
            self.between(node.left, node.right, *COMBINED[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub):
            length = len("not") if isinstance(node.op, ast.Not) else len("-")
            self.add(node, self.begin(node), self.begin(node) + length, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(node, self.begin(node), self.end(node), str(not node.value))
        elif isinstance(node.value, int):
            self.add(node, self.begin(node), self.end(node), str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "isinstance":
            return  # its second argument is a type
        if name in SWAPPED:
            self.add(node, self.begin(node.func), self.end(node.func), SWAPPED[name])
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def condition(self, test: ast.expr) -> None:
        """Turn a condition round that has no operator of its own to turn."""
        if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            self.add(test, self.begin(test), self.begin(test), "not ")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.add(node, self.begin(node), self.end(node), "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node, self.begin(node), self.end(node), "pass")
        self.generic_visit(node)


def _native(path: Path, source: str) -> Iterator[Mutant]:
    code = re.sub(r"//[^\n]*|^\s*#[^\n]*|\"(\\.|[^\"\\\n])*\"", _blank, source, flags=re.MULTILINE)
    for start, end, new in _native_edits(code):
        line = source.count("\n", 0, start) + 1
        yield Mutant(path, line, start, end, new, source[start:end], "")


def _native_edits(code: str) -> Iterator[tuple[int, int, str]]:
    for old, new in NATIVE:
        word = rf"\b{old}\b" if old.isalpha() else re.escape(old)
        yield from ((*found.span(), new) for found in re.finditer(word, code))
    yield from ((*found.span(), "") for found in NATIVE_NEGATION.finditer(code))
    for found in NATIVE_STATEMENT.finditer(code):
        if found[1].split()[0].rstrip(";") not in ("break", "continue", "return"):
            yield *found.span(1), ";"


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])
