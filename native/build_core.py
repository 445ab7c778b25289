"""Builds the native core with CMake, for the Python that runs this, and runs its unit tests.

`python native/build_core.py` puts the module into src/tilewright, where a checkout finds it. It
asks for nothing but CMake, ninja and a C++ compiler, found on the PATH or as wheels beside this
Python, so it also works where nothing can be installed. `build_backend.py` calls it for
`pip install -e`.
"""

from __future__ import annotations

import argparse
import fcntl
import functools
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NATIVE = Path(__file__).resolve().parent
TREES = NATIVE.parent / "build"
INPLACE, SANITIZED = ("release", "debug"), ("asan", "tsan")
PRESETS = (*INPLACE, *SANITIZED)
COMPILERS = ("c++", "g++", "clang++")

PROGRESS = re.compile(r"^(\[\d+/\d+\]|ninja: no work|-- ).*\n", re.MULTILINE)
"""What a build says that went well; warnings are left."""

CMAKE, NINJA, ZIG = "cmake>=3.25", "ninja>=1.11", "ziglang>=0.14"
"""The wheels that stand in for what is not installed."""


FAULTY = """
#include <thread>
int shared = 0;
int main(int count, char**) {
  if (count == 1) return 0;
  int* one = new int[1];
  volatile int second = 1;
  one[second] = 1;  // AddressSanitizer ends the program here
  std::thread other([] { shared = 1; });
  shared = 2;  // ThreadSanitizer sees two writers
  other.join();
  delete[] one;
}
"""
"""A program that, if told to, does what the sanitizers are for."""


class BuildError(Exception):
    """Something is missing, or a step of the build failed; the message says what to do."""


@dataclass(frozen=True)
class Tools:
    """What builds the core: three programs, by their paths."""

    cmake: str
    ninja: str
    compiler: str

    @property
    def ctest(self) -> str:
        """The test runner that came with this CMake."""
        return str(Path(self.cmake).with_name("ctest"))


def lacking() -> list[str]:
    """List the wheels that must be installed first, since the machine has no such tool."""
    found = {CMAKE: find_cmake(), NINJA: find("ninja"), ZIG: find_compiler() or find_zig()}
    return [wheel for wheel, program in found.items() if program is None]


def requirements() -> list[str]:
    """List what an install without build isolation needs: the build backend, and tools."""
    pyproject = tomllib.loads((NATIVE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    return [*pyproject["build-system"]["requires"], *lacking()]


def find_tools(folder: Path) -> Tools:
    """Find the tools; where zig is the compiler, write a command that calls it into `folder`."""
    if wanted := lacking():
        wheels = " ".join(f"'{each}'" for each in wanted)
        raise BuildError(
            "the native core is built with CMake 3.25 or newer, ninja and a C++20 compiler (g++ 12 "
            "or newer, clang++, or zig).\nInstall what is missing with the system's package "
            f"manager, or as wheels:\n    {sys.executable} -m pip install {wheels}"
        )
    cmake, ninja = find_cmake(), find("ninja")
    assert cmake is not None
    assert ninja is not None
    return Tools(cmake, ninja, find_compiler() or write_zig_command(folder))


def find(program: str) -> str | None:
    """Find a program on the PATH, or among the scripts of this Python."""
    places = (os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts"))
    return shutil.which(program, path=os.pathsep.join(places))


@functools.cache
def find_cmake() -> str | None:
    """Find a CMake that is new enough."""
    wanted = tuple(map(int, CMAKE.partition(">=")[2].split(".")))
    folders = (*os.environ.get("PATH", os.defpath).split(os.pathsep), sysconfig.get_path("scripts"))
    for folder in folders:
        program = shutil.which("cmake", path=folder)
        if program is not None and _version(program) >= wanted:
            return program
    return None


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, found.groups())) if found and said.returncode == 0 else ()


def find_compiler() -> str | None:
    """Find the C++ compiler: the one that CXX names, or one of the usual names on the PATH."""
    named = os.environ.get("CXX")
    return named or next(filter(None, map(shutil.which, COMPILERS)), None)


def find_zig() -> str | None:
    """Find the zig of the wheel `ziglang`, which is a C++ compiler with its own libraries."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        return None
    return str(Path(found.origin).with_name("zig"))


def write_zig_command(folder: Path) -> str:
    """Write a command that is a C++ compiler, since `zig c++` is two words; give its path.

    The code is for every machine of this architecture, as other compilers have it; zig's own
    default is the machine at hand.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = folder / "zig-c++"
    text = f'#!/bin/sh\nexec "{find_zig()}" c++ -mcpu=baseline "$@"\n'
    if not command.exists() or command.read_text() != text:
        command.write_text(text)
        command.chmod(0o755)
    return str(command)


def tree_of(preset: str) -> Path:
    """Name the build tree of a preset and this Python; each Python has its own."""
    return TREES / f"native-{preset}-{_tag()}"


def build(preset: str = "release", *, tests: bool = False) -> Path:
    """Build the module, and the unit tests if asked to; give the build tree.

    The presets `release` and `debug` put the module into src/tilewright as well. Nothing is done
    that was done before.
    """
    tree = tree_of(preset)
    tools = find_tools(tree)
    if preset in INPLACE:
        _latest().parent.mkdir(exist_ok=True)
        _latest().write_text(preset)
    module = "inplace" if preset in INPLACE else "_core"
    # Unit tests of C++ need no module: under a sanitizer it takes as long to build as they do.
    targets = [module] if not tests else ["unit_tests", *([module] if preset in INPLACE else [])]
    with _alone(tree):
        _configure(tools, preset, tree)
        said = _run([tools.cmake, "--build", str(tree), "--target", *targets])
        print(PROGRESS.sub("", said), end="", flush=True)
        if tests:
            _test(tools, preset, tree)
    return tree


def refresh() -> None:
    """Build what is in place anew, if its sources have changed; where nothing is, do nothing."""
    if _latest().exists():
        build(_latest().read_text())


def _latest() -> Path:
    """Name the file that says which preset was last put in place for this Python."""
    return TREES / f"native-inplace-{_tag()}"


def _tag() -> str:
    """Say for which Python a module is, as its file name does."""
    return sysconfig.get_config_var("SOABI") or str(sys.implementation.cache_tag)


def _configure(tools: Tools, preset: str, tree: Path) -> None:
    """Configure a build tree, unless it is: for other tools than before, from the beginning."""
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        version = "{}.{}".format(*sys.version_info)
        raise BuildError(
            f"the headers of Python are missing ({include}/Python.h).\nInstall them: the package "
            f"is python{version}-dev on Debian and Ubuntu, python{version}-devel on Fedora."
        )
    made_of = {
        "CMAKE_MAKE_PROGRAM": tools.ninja,
        "CMAKE_CXX_COMPILER": tools.compiler,
        "Python_EXECUTABLE": str(Path(sys.executable).resolve()),  # one tree for all environments
        "Python_INCLUDE_DIR": include,
    }
    stamp = tree / "made_of.json"
    said = json.dumps({"cmake": tools.cmake, **made_of}, indent=1)
    if stamp.exists() and stamp.read_text() == said:
        return  # ninja itself configures again where CMakeLists.txt has changed
    compiler = made_of.pop("CMAKE_CXX_COMPILER")
    defined = [f"-D{name}={value}" for name, value in made_of.items()]
    preset_of = [tools.cmake, "--preset", preset, "-S", str(NATIVE), "-B", str(tree)]
    print(f"building the native core, {preset}, with {compiler}", flush=True)
    _run([*preset_of, "--fresh", *defined], {"CXX": compiler})  # CXX may have arguments
    stamp.write_text(said)


def can_sanitize(preset: str, compiler: str) -> bool:
    """Tell whether the sanitizers of a preset work here: they report what is wrong, only that."""
    presets = json.loads((NATIVE / "CMakePresets.json").read_text())["configurePresets"]
    names = next(each["cacheVariables"] for each in presets if each["name"] == preset)
    with tempfile.TemporaryDirectory() as folder:
        program, source = str(Path(folder, "program")), Path(folder, "program.cpp")
        source.write_text(FAULTY)
        flags = ["-std=c++20", "-pthread", f"-fsanitize={names['TW_SANITIZE']}"]
        built = [*shlex.split(compiler), *flags, str(source), "-o", program]
        right = [*_launcher(preset), program]
        return _succeeds(built) and _succeeds(right) and not _succeeds([*right, "wrong"])


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _launcher(preset: str) -> list[str]:
    """Say how programs of a preset are started.

    ThreadSanitizer stops at once where addresses are laid out more at random than it expects.
    """
    return ["setarch", "-R"] if preset == "tsan" and shutil.which("setarch") else []


def _test(tools: Tools, preset: str, tree: Path) -> None:
    """Run the unit tests of a tree that is built."""
    stacks = {"UBSAN_OPTIONS": "print_stacktrace=1"}
    command = [
        *_launcher(preset),
        tools.ctest,
        "--test-dir",
        str(tree),
        "--output-on-failure",
        "--no-tests=error",
        "-j4",
    ]
    print(_run(command, stacks).rstrip())


@contextmanager
def _alone(tree: Path) -> Generator[None, None, None]:
    """Keep others from the same build tree: ninja does not."""
    tree.mkdir(parents=True, exist_ok=True)
    with (tree / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a step, and give what it said; where it fails that is the error."""
    step = subprocess.run(
        command, env={**os.environ, **(environment or {})}, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if step.returncode != 0:
        raise BuildError(f"{step.stdout}\nthis failed: {' '.join(command)}")
    return step.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, and test where asked to, from the command line."""
    parser = argparse.ArgumentParser(description="Build the native core for this Python.")
    parser.add_argument("presets", nargs="*", default=["release"], help=", ".join(PRESETS))
    parser.add_argument("--test", action="store_true", help="run the unit tests of each preset")
    parser.add_argument(
        "--if-possible",
        action="store_true",
        help="leave out sanitizers that the compiler does not have",
    )
    parser.add_argument(
        "--requirements",
        action="store_true",
        help="list the wheels to install first, and build nothing",
    )
    given = parser.parse_args(arguments)
    unknown = set(given.presets) - set(PRESETS)
    if unknown:
        parser.error(
            f"there is no preset {', '.join(sorted(unknown))}; {', '.join(PRESETS)} are there"
        )
    if given.requirements:
        print(*requirements(), sep="\n")
        return 0
    try:
        for preset in given.presets:
            if not given.if_possible or _is_possible(preset):
                build(preset, tests=given.test)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _is_possible(preset: str) -> bool:
    """Tell whether a preset can be built and run; say so where it cannot."""
    compiler = find_tools(tree_of(preset)).compiler
    possible = preset not in SANITIZED or can_sanitize(preset, compiler)
    if not possible:
        print(f"left out: {preset}, since {compiler} cannot build or run its sanitizers here")
    return possible


if __name__ == "__main__":
    sys.exit(main())
