"""What holds for this task or thread: device, policy, and whether unsafe calls are allowed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ContextDecorator
from contextvars import ContextVar, Token
from functools import cache
from typing import Any, NamedTuple, TypeVar, overload

from .._core import set_choosing
from ..base.config import current
from ..base.errors import ContextError
from ..base.system import at_fork
from ..base.tracebacks import block
from ..devices.protocol import Device, Stream
from ..devices.registry import HOST, all_devices, best_device, get_device, gpu_of
from .policy import (
    SchedulingPolicy,
    SpreadDevices,
    StreamPoolRoundRobin,
    spreads_devices,
    stream_of,
)

_F = TypeVar("_F", bound=Callable[..., Any])
_R = TypeVar("_R")


class _Process:
    """What holds where no `with` block says otherwise."""

    device: Device | None = None
    """As `set_default_device` says."""
    looked: bool = False
    """Whether devices were looked for."""
    best: Device | None = None
    """The one to use else, once it was looked for."""


_POLICIES: dict[Device, SchedulingPolicy] = {}
"""The policy of each device, made when first asked for; its streams are the device's."""


_PREPARED: set[Device] = set()
"""Devices whose first use is not lengthy any more."""


class _Chosen(NamedTuple):
    """What the `with` blocks around us say."""

    device: Device | None
    policy: SchedulingPolicy | None


_NOTHING_CHOSEN = _Chosen(None, None)
_CHOSEN: ContextVar[_Chosen] = ContextVar("tilewright_chosen", default=_NOTHING_CHOSEN)
UNSAFE: ContextVar[bool] = ContextVar("tilewright_unsafe", default=False)
"""Whether the program is inside `tw.unsafe()`."""


def default_device() -> Device:
    """Return the device for work that names none."""
    chosen = _CHOSEN.get().device or _Process.device
    if chosen is None:
        name = current().device
        chosen = get_device(name) if name else _best()
        _Process.looked = True
    return chosen


def known_device() -> Device | None:
    """Return the default device; None if finding it means looking for GPUs, or if a policy that
    spreads ops over devices chooses one.
    """
    in_force = _CHOSEN.get()
    if spreads_devices(in_force.policy):
        return None
    chosen = in_force.device or _Process.device
    if chosen is not None:
        return chosen
    name = current().device
    if name:
        return get_device(name) if _Process.looked else HOST.get(name)
    return _best() if _Process.looked else None


def _best() -> Device:
    """Return the best available device, which does not change."""
    if _Process.best is None:
        _forget_in_children()
        _Process.best = best_device()
    return _Process.best


_KNOWN_DEVICES: set[type] = set()
"""Classes that were found to be those of devices."""


def as_device(device: Device | str | int | None) -> Device:
    """Return a device by its name, or a GPU by its number; None is the default device."""
    known: Any = device
    if type(device) in _KNOWN_DEVICES:
        return known  # type: ignore[no-any-return]
    if device is None:
        return default_device()
    if isinstance(device, str):
        return get_device(device)
    if isinstance(device, int) and not isinstance(device, bool):
        return gpu_of(device)
    if isinstance(device, int) or not hasattr(device, "host_visible"):
        raise ContextError(
            f"{device!r:.60} is not a device",
            expected="a name such as 'cpu' or 'cuda:0', or a Device",
        )
    _KNOWN_DEVICES.add(type(device))
    return device


@block
def device(name: Device | str) -> Generator[Device, None, None]:
    """Make a device the default one, for this task or thread, until the block ends.

    The device's own policy chooses streams there.
    """
    chosen = as_device(name)
    token = _CHOSEN.set(_Chosen(chosen, None))
    try:
        yield chosen
    finally:
        _CHOSEN.reset(token)


def set_default_device(name: Device | str) -> None:
    """Make a device the default one for the whole process."""
    _Process.device = as_device(name)


def devices() -> tuple[Device, ...]:
    """Return all devices, those for checking and testing included."""
    return all_devices()


def synchronize(name: Device | str | None = None) -> None:
    """Block until all work on a device is done; without a name, on all devices."""
    for each in devices() if name is None else (as_device(name),):
        each.synchronize()


def default_policy(device: Device | str | None = None) -> SchedulingPolicy:
    """Return the scheduling policy of a device: the one in force, else the device's default."""
    chosen = _CHOSEN.get()
    if chosen.policy is not None and device is None:
        return chosen.policy
    return policy_of_device(as_device(device))


def is_prepared(home: Device | None) -> bool:
    """Return whether the first use of the device of an op on `home` is no longer lengthy.

    Looking for GPUs is lengthy too, so this does not look.
    """
    known = home or _CHOSEN.get().device or _Process.device or _Process.looked
    return bool(known) and (home or default_device()) in _PREPARED


def prepare(home: Device | None) -> None:
    """Do what an event loop should not be kept busy with."""
    device = home or default_device()
    device.prepare()
    _forget_in_children()
    _PREPARED.add(device)


def policy_of_device(device: Device) -> SchedulingPolicy:
    """Return a device's default policy: round robin, or as `set_default_policy` set it."""
    policy = _POLICIES.get(device)
    if policy is None:
        _forget_in_children()
        policy = _POLICIES.setdefault(device, StreamPoolRoundRobin(device))
    return policy


@cache
def _forget_in_children() -> None:
    """Reset in child processes: the streams of some devices do not survive a fork."""
    at_fork(after_in_child=_forget)


def _forget() -> None:
    _POLICIES.clear()
    _PREPARED.clear()
    _Process.best, _Process.looked = None, False


def set_default_policy(policy: SchedulingPolicy, device: Device | str | None = None) -> None:
    """Change a device's own policy, for the whole process."""
    owner = as_device(device)
    stream_of(policy, "set_default_policy", owner)
    _POLICIES[owner] = policy


@block
def _with_policy(policy: SchedulingPolicy) -> Generator[SchedulingPolicy, None, None]:
    token = _CHOSEN.set(_CHOSEN.get()._replace(policy=policy))
    try:
        yield policy
    finally:
        _CHOSEN.reset(token)


@overload
def with_default_device_policy(
    policy: SchedulingPolicy, /
) -> AbstractContextManager[SchedulingPolicy]: ...
@overload
def with_default_device_policy(function: Callable[[SchedulingPolicy], _R], /) -> _R: ...
def with_default_device_policy(
    given: SchedulingPolicy | Callable[[SchedulingPolicy], _R], /
) -> AbstractContextManager[SchedulingPolicy] | _R:
    """Choose streams by this policy in a `with` block; or call a function with the one in force."""
    if isinstance(given, SchedulingPolicy):
        return _with_policy(given)
    return given(default_policy())


def choose_stream(name: str, home: Device | None) -> Stream:
    """Return the stream for the op `name`, which must run on `home` if that is not None."""
    chosen = _CHOSEN.get()
    if chosen is _NOTHING_CHOSEN:  # the frequent case: a device's own pool gives its own streams
        policy = _POLICIES.get(home or default_device())
        if type(policy) is StreamPoolRoundRobin:
            return next(policy.turns)
    policy = chosen.policy or policy_of_device(home or default_device())
    return stream_of(policy, name, home)


def set_aside(stream: Stream) -> None:
    """Keep the policy in force from choosing a stream while it waits for other processes."""
    policy = _CHOSEN.get().policy or _POLICIES.get(stream.device)
    if isinstance(policy, StreamPoolRoundRobin | SpreadDevices):
        policy.set_aside(stream)


def _choose_for(op: Any) -> Stream:
    """Return the stream of an op that names none."""
    return choose_stream(op.name, op.home)


set_choosing({
    "chosen": _CHOSEN, "policies": _POLICIES, "round_robin": StreamPoolRoundRobin,
    "choose": _choose_for,
})  # fmt: skip


class Unsafe(ContextDecorator):
    """The block, or the decorated function, in which unsafe calls may be written."""

    def __init__(self) -> None:
        self._tokens: list[Token[bool]] = []

    def _recreate_cm(self) -> Unsafe:
        return Unsafe()

    def __enter__(self) -> None:
        self._tokens.append(UNSAFE.set(True))

    def __exit__(self, *exception: object) -> None:
        UNSAFE.reset(self._tokens.pop())


_IN_KERNELS = "__tilewright_unsafe__"


def _known_in_kernels(function: _F) -> _F:
    """Register the name with the compiler: kernels may contain `with tw.unsafe():`."""
    setattr(function, _IN_KERNELS, True)
    return function


@overload
def unsafe() -> Unsafe: ...
@overload
def unsafe(function: _F, /) -> _F: ...
@_known_in_kernels
def unsafe(function: _F | None = None, /) -> Unsafe | _F:
    """Allow unsafe calls: `with tw.unsafe():` around the call that builds, or `@tw.unsafe`.

    What counts is where an op is built, not where it runs.
    """
    return Unsafe() if function is None else Unsafe()(function)


def unsafe_allowed() -> bool:
    """Return whether the caller is inside `tw.unsafe()`."""
    return UNSAFE.get()
