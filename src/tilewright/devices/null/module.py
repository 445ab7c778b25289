"""Code on the null device: any bytes, of which every launch is noted and none is run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..protocol import LaunchConfig, Stream
from .stream import NullStream


class NullModule:
    """Code that has every function one asks for."""

    __slots__ = ("code",)

    def __init__(self, code: bytes) -> None:
        self.code = code

    def load_function(self, name: str) -> NullFunction:
        """Return a function of that name."""
        return NullFunction(name)


class NullFunction:
    """A function whose launches are noted."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def parameter_sizes(self) -> None:
        """Not known: there is no code."""
        return

    def put_on(
        self,
        stream: Stream,
        config: LaunchConfig,
        slots: Sequence[int],
        *,
        inline: bool = False,
        keep: object = None,
    ) -> NullFunctionRun:
        """Note a launch."""
        assert isinstance(stream, NullStream)
        stream.launch(f"{self.name} over {config.grid_dim}")
        stream.after(partial(_let_go, keep))
        return NullFunctionRun()


def _let_go(kept: object) -> None:
    """Drop the references that were held for a launch."""


class NullFunctionRun:
    """A launch that was only noted."""

    __slots__ = ()

    def problem(self) -> None:
        """Return None."""
        return
