"""`tilewright new`: a project with a kernel, its test and its benchmark, which run at once."""

from __future__ import annotations

import keyword
import re
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from .machine import own_version
from .subcommand import FINE, Subcommand, UsageError, say

TEMPLATES = Path(__file__).parent / "project"
FILES: dict[str, str] = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    "{{package}}/__init__.py": "__init__.py",
    "{{package}}/kernels.py": "kernels.py",
    "tests/test_kernels.py": "test_kernels.py",
    "benchmarks/bench.py": "bench.py",
}
"""Each file of a new project, and the template that it is made of."""


def package_name(project: str) -> str:
    """Return the name by which a project is imported, if it can be one.

    >>> package_name("fast-norm")
    'fast_norm'
    """
    name = project.replace("-", "_")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UsageError(
            f"{project!r} cannot be the name of a package: use lower case letters, digits,"
            " - and _, and begin with a letter"
        )
    if name in sys.stdlib_module_names or name in ("tilewright", "numpy", "tests", "benchmarks"):
        raise UsageError(f"{project!r} is the name of another package: choose another one")
    return name


def create(project: str, parent: Path) -> list[Path]:
    """Write a project into a new folder, and return its files."""
    package, folder = package_name(project), parent / project
    if folder.exists():
        raise UsageError(f"{folder} exists: choose another name, or another folder by --in")
    words = {"{{project}}": project, "{{package}}": package, "{{version}}": own_version()}
    written: list[Path] = []
    for name, template in FILES.items():
        path = folder / _filled(name, words)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
        path.write_text(_filled(text, words), encoding="utf-8")
        written.append(path)
    return written


def _filled(text: str, words: dict[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="the name of the project and of its folder")
    parser.add_argument("--in", dest="parent", type=Path, default=Path(), metavar="FOLDER",
                        help="where the folder is made; by default here")  # fmt: skip


def _new(given: Namespace) -> int:
    for path in create(given.name, given.parent):
        say(str(path))
    say()
    say(f"cd {given.parent / given.name}")
    say("python -m pytest")
    say("python -m benchmarks.bench")
    return FINE


SUBCOMMAND = Subcommand("new", "write a project with a kernel, a test and a benchmark",
                        _add_arguments, _new)  # fmt: skip
