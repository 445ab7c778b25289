"""Hints that a kernel carries from its definition, for each CUDA architecture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias, cast

from ..backend.tileir.target import ARCHITECTURES, is_architecture
from ..base.errors import Code, CompileError
from .options import PLAIN, CompileOptions

GivenHints: TypeAlias = CompileOptions | Mapping[str, CompileOptions] | None
"""What `@tw.entry(hints=...)` takes."""

OTHERWISE = "default"
"""The key of what holds on every architecture that does not say otherwise."""

EXAMPLE = 'write hints=tw.CompileOptions(...), or hints={"sm_90": tw.CompileOptions(...)}'


@dataclass(frozen=True, slots=True)
class Hints:
    """Options for all CUDA architectures, and those of single ones, which go before them."""

    otherwise: CompileOptions = PLAIN
    by_arch: Mapping[str, CompileOptions] = field(default_factory=dict[str, CompileOptions])

    @classmethod
    def of(cls, kernel: str, given: GivenHints) -> Hints:
        """The hints of a kernel as its decorator was told them."""
        if given is None:
            return NO_HINTS
        listed = _listed(kernel, given)
        for arch, options in listed.items():
            _check(kernel, arch, options)
        return cls(listed.pop(OTHERWISE, PLAIN), listed)

    def on(self, target: str) -> CompileOptions:
        """What holds for a target: on the host, nothing."""
        if not is_architecture(target):
            return PLAIN
        return self.by_arch.get(target, PLAIN).over(self.otherwise)

    def origins(self, options: CompileOptions, target: str) -> list[str]:
        """Which of the options of a compilation are these hints, and which a launch gave."""
        if not is_architecture(target):
            return []
        given, hinted = options.given, self.on(target).given
        ours = {name: value for name, value in given.items() if hinted.get(name) == value}
        others = {name: value for name, value in given.items() if name not in ours}
        sources = (("where the kernel is defined", ours), ("by the launch", others))
        return [f"requested {source}: {_shown(asked)}" for source, asked in sources if asked]


NO_HINTS = Hints()


def _shown(asked: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in asked.items())


def _listed(kernel: str, given: object) -> dict[str, CompileOptions]:
    """Hints by architecture, not looked at yet."""
    if isinstance(given, CompileOptions):
        return {OTHERWISE: given}
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, CompileOptions]", given))
    _refuse(
        f"the hints of `{kernel}` are not options",
        expected="a tw.CompileOptions, or a mapping from architectures to them",
        got=repr(given),
        hint=EXAMPLE,
    )


def _check(kernel: str, arch: object, options: object) -> None:
    if arch != OTHERWISE and arch not in ARCHITECTURES:
        _refuse(
            f"`{kernel}` has hints for an unknown architecture",
            expected=", ".join((*ARCHITECTURES, OTHERWISE)),
            got=repr(arch),
            hint=f"{OTHERWISE!r} is for all architectures without an entry",
        )
    if not isinstance(options, CompileOptions):
        _refuse(
            f"the hints of `{kernel}` for {arch} are not options",
            expected="a tw.CompileOptions",
            got=repr(options),
            hint=EXAMPLE,
        )
    if options.checks is not None:
        # The host would have to follow it too, and these are for CUDA alone.
        _refuse(
            f"the hints of `{kernel}` cannot set the placement of its checks",
            expected="hints for CUDA",
            got=f"checks={options.checks!r}",
            hint=f"set it for a launch: {kernel}(...).compile_options(checks={options.checks!r})",
        )


def _refuse(message: str, *, expected: str, got: str, hint: str) -> NoReturn:
    raise CompileError(message, code=Code.CALL, expected=expected, got=got, hint=hint)
