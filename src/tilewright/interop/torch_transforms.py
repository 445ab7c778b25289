"""Kernels under PyTorch's function transforms: `torch.func.grad`, `vmap`, `jvp` and what they make.

These take a `torch.autograd.Function` whose forward method does not see the context, where a custom
operator has none. Batches are run sample by sample, as JAX's "sequential" method does.

A tangent follows from the gradient: a gradient is linear in those of the outputs, so its own
gradient by them, applied to tangents of the inputs, is the tangent of the outputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from ..functions.gradient import Gradient, no_gradient

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""
forward_mode: Any = import_module("torch.autograd.forward_ad")

are_active: Callable[[], bool] = torch._C._are_functorch_transforms_active
"""Whether a call is inside of a transform."""


def has_tangents() -> bool:
    """Return whether tensors may have tangents, which operators would drop."""
    return bool(forward_mode._current_level >= 0 and torch._C._is_fwd_grad_enabled())


class Differentiation:
    """What autograd does with an operator: what it keeps, gradients, and tangents."""

    def __init__(self, name: str, gradient: Gradient | None) -> None:
        self._name, self._gradient = name, gradient

    def keep(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        """Keep what the gradient needs of a call."""
        outputs = _listed(output)
        ctx.looks = [(y.shape, y.dtype, y.device) for y in outputs]
        ctx.set_materialize_grads(False)
        if self._gradient is None:
            return
        kept = self._gradient.kept(inputs, outputs)
        tensors = {name: each for name, each in kept.items() if isinstance(each, torch.Tensor)}
        ctx.names = tuple(tensors)
        ctx.numbers = {name: kept[name] for name in kept if name not in tensors}
        ctx.save_for_backward(*tensors.values())

    def backward(self, ctx: Any, *grads: Any) -> Any:
        """Return the gradients of all inputs."""
        gradient = self._given()
        whole = [
            _zeros(look) if grad is None and not optional and look[1].is_floating_point else grad
            for grad, look, optional in zip(grads, ctx.looks, gradient.optional, strict=True)
        ]
        found = gradient(whole, self._kept(ctx, ctx.saved_tensors), ctx.needs_input_grad)
        return found[0] if len(found) == 1 else tuple(found)

    def applied(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return what runs a call, of which autograd then knows."""
        keep, backward = self.keep, self.backward

        def forward(ctx: Any, *args: Any) -> Any:
            output = run(*args)
            keep(ctx, args, output)
            return output

        methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        function: Any = type(self._name, (torch.autograd.Function,), methods)
        apply: Callable[..., Any] = function.apply
        return apply

    def keep_for_tangents(self, ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        """Keep what gradients and tangents need of a call."""
        self.keep(ctx, inputs, output)
        ctx.mark_non_differentiable(*[y for y in _listed(output) if not _has_tangents(y)])
        if self._gradient is not None:
            ctx.save_for_forward(*ctx.to_save)

    def tangents(self, ctx: Any, *of_inputs: Any) -> Any:
        """Return the tangents of the outputs."""
        floats = [look[1].is_floating_point for look in ctx.looks]
        if not any(floats):
            return tuple([None] * len(floats)) if len(floats) > 1 else None
        saved = [forward_mode.unpack_dual(tensor).primal for tensor in ctx.saved_tensors]
        gradient, kept = self._given(), self._kept(ctx, saved)
        given: list[Any] = []

        def gradients(*grads: Any) -> list[Any]:
            wanted = [tangent is not None for tangent in of_inputs]
            left = iter(grads)
            whole = [next(left) if is_float else None for is_float in floats]
            found = zip(gradient(whole, kept, wanted), of_inputs, strict=True)
            pairs = [pair for pair in found if pair[0] is not None and pair[1] is not None]
            # Results that depend on no input with a tangent have the tangent 0.
            nothing = grads[0].new_zeros(())
            given[:] = [tangent for _, tangent in pairs] or [nothing]
            return [grad for grad, _ in pairs] or [nothing]

        looks = [look for look, is_float in zip(ctx.looks, floats, strict=True) if is_float]
        _, transpose = torch.func.vjp(gradients, *map(_zeros, looks))
        left = iter(transpose(given))
        found = [next(left) if is_float else None for is_float in floats]
        return found[0] if len(found) == 1 else tuple(found)

    def _given(self) -> Gradient:
        if self._gradient is None:
            raise no_gradient(self._name)
        return self._gradient

    def _kept(self, ctx: Any, saved: Sequence[Any]) -> Mapping[str, Any]:
        if self._gradient is None:
            return {}
        return {**dict(zip(ctx.names, saved, strict=True)), **ctx.numbers}


def _listed(found: Any) -> Sequence[Any]:
    return found if type(found) in (tuple, list) else (found,)


def _has_tangents(tensor: Any) -> bool:
    return bool(tensor.is_floating_point())


def _zeros(look: tuple[Any, Any, Any]) -> Any:
    """Return zeros of a shape and type on a device."""
    shape, dtype, device = look
    return torch.zeros(shape, dtype=dtype, device=device)


def by_formula(names: Sequence[str], formula: Callable[..., Any]) -> Callable[..., Any]:
    """Return what computes a formula of some of an operator's inputs, which are called so."""
    wanted = list(inspect.signature(formula).parameters)

    def call(*args: Any) -> Any:
        known = dict(zip(names, args, strict=True))
        return formula(**{name: known[name] for name in wanted})

    return call


def transformed(run: Callable[..., Any], name: str, how: Differentiation) -> Callable[..., Any]:
    """Return what calls an operator by `run` inside of transforms."""

    def forward(*args: Any) -> Any:
        return run(*args)

    function: Callable[..., Any]

    def vmap(info: Any, in_dims: Sequence[int | None], *args: Any) -> Any:
        count: int = info.batch_size
        rows = [_sample(args, in_dims, i) for i in range(count)] or [_sample(args, in_dims, None)]
        made = [function(*row) for row in rows]
        several = isinstance(made[0], tuple)
        parts = zip(*made, strict=True) if several else (made,)
        joined = tuple([torch.stack(list(part))[:count] for part in parts])
        return (joined, (0,) * len(joined)) if several else (joined[0], 0)

    methods: dict[str, Any] = {
        "forward": forward, "setup_context": how.keep_for_tangents, "backward": how.backward,
        "jvp": how.tangents, "vmap": vmap,
    }  # fmt: skip
    made = {key: staticmethod(method) for key, method in methods.items()}
    found: Any = type(name, (torch.autograd.Function,), made)
    function = found.apply
    return function


def _sample(args: Sequence[Any], in_dims: Sequence[int | None], number: int | None) -> list[Any]:
    """Return the arguments of one sample; None: zeros that look like one."""

    def part(arg: Any, dim: int | None) -> Any:
        if dim is None:
            return arg
        if number is not None:
            return arg.select(dim, number)
        return arg.new_zeros([n for axis, n in enumerate(arg.shape) if axis != dim % arg.dim()])

    return [part(arg, dim) for arg, dim in zip(args, in_dims, strict=True)]


def gradients_of(
    formula: Callable[..., Any], values: Sequence[Any], grads: Sequence[Any]
) -> list[Any]:
    """Return the gradients of a formula in PyTorch's operations, by those of its results.

    There is one for each value that requires a gradient, and None for the others.
    """
    with torch.enable_grad():
        views = [value.view_as(value) if value.requires_grad else value for value in values]
        found = formula(*views)
    pairs = [(y, grad) for y, grad in zip(_listed(found), grads, strict=True) if y.requires_grad]
    variables = [view for view in views if view.requires_grad]
    if not pairs or not variables:
        return [None] * len(views)
    outputs, given = zip(*pairs, strict=True)
    made = torch.autograd.grad(
        outputs, variables, given, create_graph=torch.is_grad_enabled(), allow_unused=True
    )
    left = iter(made)
    return [next(left) if view.requires_grad else None for view in views]
