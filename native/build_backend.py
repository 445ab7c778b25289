"""The build backend of pyproject.toml: scikit-build-core, with a compiler where there is none.

A wheel is built by scikit-build-core alone. Two things are added: where there is no C++ compiler
the wheel `ziglang` is one; and an editable install builds the core in place, in a tree that `make`
goes on with, so that a checkout has one way to be built. What it installs is the path to the
sources, which comes after PYTHONPATH: another checkout can be named there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from scikit_build_core import build as scikit_build
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_wheel,
)

import build_core

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, list[str] | str] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """List the wheels that the build needs: what scikit-build-core says, and perhaps a compiler."""
    listed = scikit_build.get_requires_for_build_wheel(config_settings)
    return listed if build_core.find_compiler() else [*listed, build_core.ZIG]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel; with zig where there is no other compiler."""
    with tempfile.TemporaryDirectory() as folder:
        if build_core.find_compiler() is None:
            os.environ["CXX"] = build_core.write_zig_command(Path(folder))
        return scikit_build.build_wheel(wheel_directory, config_settings, metadata_directory)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """List the wheels that a build in place needs."""
    with _editable():
        listed = scikit_build.get_requires_for_build_wheel(config_settings)
    return [*listed, *build_core.lacking()]


def prepare_metadata_for_build_editable(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the metadata of an editable install, which needs no build."""
    with _editable():
        return prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the core into src/tilewright, and a wheel that holds the path to it."""
    try:
        build_core.build()
    except build_core.BuildError as error:
        raise SystemExit(f"error: {error}") from None
    with _editable():
        return scikit_build.build_wheel(wheel_directory, config_settings, metadata_directory)


@contextmanager
def _editable() -> Generator[None, None, None]:
    """Have scikit-build-core take the settings of editable installs, and the path they hold."""
    sources = build_core.NATIVE.parent / "src"
    build_core.TREES.mkdir(exist_ok=True)
    (build_core.TREES / "editable.pth").write_text(f"{sources}\n")
    os.environ["TILEWRIGHT_BUILD_EDITABLE"] = "1"
    try:
        yield
    finally:
        del os.environ["TILEWRIGHT_BUILD_EDITABLE"]
