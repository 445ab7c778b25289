"""A fast path from PyTorch's dispatcher to a kernel.

A custom operator passes two Python functions, for autograd and for the version counter of a
tensor, before it reaches its own: they cost more than a launch. The dispatcher reports for each
call which handlers are active (a mode, `torch.compile`, a tensor subclass). If there is none, the
kernel runs at once, as a separate `torch.autograd.Function` where gradients are wanted; every
other call takes PyTorch's own path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""

Kernel = Callable[..., Any]
KEYS = ("AutogradCPU", "AutogradCUDA")
"""Under which the dispatcher asks for gradients of tensors there."""


class _Known(NamedTuple):
    """What of PyTorch is needed for it."""

    any_requires_grad: Callable[..., bool]
    is_grad_enabled: Callable[[], bool]
    count_write: Callable[[Any], None]
    below: Any
    """The keys of the dispatcher that come after autograd and the count of versions."""
    are_transforms_active: Callable[[], bool]
    number_of: Callable[[Any], int]
    """Identifies a set of keys."""
    plain: tuple[Any, ...]
    """Those of plain tensors on devices that kernels run on."""
    make_autograd: Callable[[Any, Any], Kernel]
    is_traced: Callable[[], object]
    """What `torch.compile` looks into functions with, where it does; else None."""
    skip_code: Callable[[Any], None]
    """Lets it not look into one."""


def _known() -> _Known | None:
    """Return the PyTorch internals that this relies on; None if one is not found."""
    core = torch._C
    try:
        inner, tracing = map(import_module, ("torch._library.autograd", "torch._dynamo.eval_frame"))
        return _Known(
            core._any_requires_grad, torch.is_grad_enabled, torch.autograd.graph.increment_version,
            core._after_ADInplaceOrView_keyset, core._are_functorch_transforms_active,
            core.DispatchKeySet.raw_repr,
            (core.DispatchKey.CPU, core.DispatchKey.CUDA),
            inner.make_autograd_impl, core._dynamo.eval_frame.get_eval_frame_callback,
            tracing.skip_code,
        )  # fmt: skip
    except (ImportError, AttributeError):
        return None


class Shortened:
    """An operator whose plain calls bypass the dispatcher's Python functions."""

    def __init__(
        self, definition: Any, run: Kernel, written: Sequence[int], differentiated: Kernel | None
    ) -> None:
        """Hold a `CustomOpDef`, and the places of the arguments that `run` writes.

        `differentiated` runs a call so that autograd knows of it; None: PyTorch does.
        """
        self.differentiated = differentiated
        self._known, library = _known(), getattr(definition, "_lib", None)
        self.overload: Kernel = getattr(definition, "_opoverload", definition)
        """What calls the operator."""
        if self._known is None or library is None or self.overload is definition:
            return
        way = self._way(self._known, run, tuple(written), self._theirs(self._known, definition))
        self._known.skip_code(way.__code__)
        for key in KEYS:  # these come before "Autograd", which stays as it is
            library.impl(definition._name, way, key, with_keyset=True)

    def _theirs(self, known: _Known, definition: Any) -> Kernel:
        return known.make_autograd(self.overload, definition)

    def _way(self, known: _Known, run: Kernel, written: Sequence[int], theirs: Kernel) -> Any:
        any_requires_grad, is_grad_enabled, count_write, below, is_transformed, number_of, plain = (
            known[:7]
        )
        is_traced = known.is_traced

        plain_keys: dict[int, bool] = {}  # there are few

        def way(keys: Any, *args: Any, **named: Any) -> Any:
            if named or is_traced() is not None:
                return theirs(keys, *args, **named)
            number = number_of(keys)
            is_plain = plain_keys.get(number)
            if is_plain is None:
                is_plain = (keys & below).highestPriorityTypeId() in plain
                plain_keys[number] = is_plain
            if not is_plain:
                return theirs(keys, *args, **named)
            if is_grad_enabled() and any_requires_grad(*args):
                apply = self.differentiated
                if apply is None or is_transformed():
                    return theirs(keys, *args, **named)
                return apply(*args)
            for place in written:
                count_write(args[place])
            return run(*args)

        return way
