"""Layers of a model of Hugging Face's, run by operations: `ops.patch(model)`.

A layer is known by its parts (a norm by its weight and epsilon, a gated network by its three
projections), and is swapped if on a sample its replacement gives what it gives itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from types import MethodType
from typing import Any
from weakref import WeakKeyDictionary

from .activations import geglu, reglu, swiglu
from .losses import cross_entropy as cross_entropy_of
from .norms import rms_norm as rms_norm_of
from .positions import rope

Undo = Callable[[], None]
TOLERANCES = {"float64": 1e-5, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""How far a sample of a replacement may be from that of the layer, relative to its largest."""


@dataclass
class Patch:
    """What was swapped in a model, and what was not; `undo` restores the model."""

    swapped: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By the kind of layer: the names of those that were swapped."""
    kept: dict[str, str] = field(default_factory=dict[str, str])
    """Why others, that look alike, were not: by name."""
    _undo: list[Undo] = field(default_factory=list[Undo], repr=False)

    def undo(self) -> None:
        """Restore all that was swapped."""
        while self._undo:
            self._undo.pop()()

    def note(self, kind: str, name: str, undo: Undo) -> None:
        """Note that a layer was swapped."""
        self.swapped.setdefault(kind, []).append(name)
        self._undo.append(undo)

    def __str__(self) -> str:
        lines = [f"{kind}: {len(names)}, {_short(names)}" for kind, names in self.swapped.items()]
        lines += [f"kept {name}: {reason}" for name, reason in self.kept.items()]
        return "\n".join(lines) or "nothing was swapped"


def _short(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


_PATCHED: WeakKeyDictionary[Any, Patch] = WeakKeyDictionary()


def patch(
    model: Any,
    *,
    rms_norm: bool = True,
    mlp: bool = True,
    rotary: bool = True,
    cross_entropy: bool = True,
) -> Patch:
    """Let the layers of a model of Hugging Face's (Llama, Qwen and alike) run as operations.

    RMS norms, gated networks (`down(act(gate(x)) * up(x))`), the rotary embedding and the loss of
    causal language models are swapped, in place: weights stay where they are, and gradients are
    computed. The rotary embedding is a function of the model's module, so that all models of this
    module have it until each is restored; calls with tables of another form are PyTorch's as
    before. The result says what was swapped and what was not, and
    its `undo()`, or `ops.unpatch(model)`, restores the model.
    """
    if not hasattr(model, "named_modules"):
        raise TypeError(f"`patch` takes a model, a torch.nn.Module; got {type(model).__name__}")
    if model in _PATCHED:
        raise ValueError("the model is patched already: ops.unpatch(model) restores it")
    done = Patch()
    chosen = [(rms_norm, "rms_norm", _norm_of), (mlp, "mlp", _mlp_of)]
    for name, layer in model.named_modules():
        for wanted, kind, find in chosen:
            found = find(layer) if wanted else None
            if found is not None:
                _swap(done, kind, name, layer, found)
    if rotary:
        _swap_rotary(done, model)
    if cross_entropy:
        _swap_loss(done, model)
    _PATCHED[model] = done
    return done


def unpatch(model: Any) -> None:
    """Restore a model that was patched."""
    if model not in _PATCHED:
        raise ValueError(
            f"`unpatch` takes a model that `patch` was given; got {type(model).__name__}"
        )
    _PATCHED.pop(model).undo()


# --- layers ------------------------------------------------------------------------------------


def _norm_of(layer: Any) -> Any:
    is_norm = re.fullmatch(r"\w*RMSNorm", type(layer).__name__) and _epsilon(layer) is not None
    return _run_norm if is_norm and getattr(layer, "weight", None) is not None else None


def _epsilon(layer: Any) -> float | None:
    found: float | None = getattr(layer, "variance_epsilon", getattr(layer, "eps", None))
    return found


def _run_norm(self: Any, hidden_states: Any) -> Any:
    return rms_norm_of(hidden_states, self.weight.shape[0], self.weight, _epsilon(self))


def _geglu_tanh(gate: Any, up: Any) -> Any:
    return geglu(gate, up, "tanh")


GATES: dict[str, Any] = {
    "silu": swiglu, "swish": swiglu, "gelu": geglu, "relu": reglu,
    "gelu_pytorch_tanh": _geglu_tanh,
}  # fmt: skip
"""By the name of an activation in a configuration."""


def _mlp_of(layer: Any) -> Any:
    parts = ("gate_proj", "up_proj", "down_proj", "act_fn")
    if not all(hasattr(layer, part) for part in parts):
        return None
    return _run_mlp if _activation(layer) in GATES else None


def _activation(layer: Any) -> str:
    config = getattr(layer, "config", None)
    return str(getattr(config, "hidden_act", getattr(config, "hidden_activation", "")))


def _run_mlp(self: Any, x: Any) -> Any:
    gated = GATES[_activation(self)](self.gate_proj(x), self.up_proj(x))
    return self.down_proj(gated)


def _swap(done: Patch, kind: str, name: str, layer: Any, run: Callable[..., Any]) -> None:
    """Swap a layer, if its replacement gives what it gives."""
    if "forward" in layer.__dict__:
        done.kept[name] = "its forward is not that of its class"
        return
    replacement = MethodType(run, layer)
    reason = _difference(layer, replacement)
    if reason:
        done.kept[name] = reason
        return
    layer.forward = replacement

    def undo() -> None:
        if layer.__dict__.get("forward") is replacement:
            del layer.forward

    done.note(kind, name, undo)


def _difference(layer: Any, replacement: Callable[..., Any]) -> str:
    """Return how results differ on a sample; "" if they do not."""
    torch: Any = import_module("torch")
    weight = layer.gate_proj.weight if hasattr(layer, "gate_proj") else layer.weight
    if weight.device.type == "meta":
        return "its weights have no memory"
    made = torch.linspace(-2.0, 2.0, 2 * weight.shape[-1], dtype=torch.float32)
    sample = made.reshape(2, -1).to(weight.dtype).to(weight.device)
    with torch.no_grad():
        expected, found = layer.forward(sample), replacement(sample)
    kind = str(weight.dtype).removeprefix("torch.")
    bound = TOLERANCES.get(kind)
    if bound is None:
        return f"its weights are {kind}"
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return "its result has another shape or type"
    most = expected.abs().max() + 1e-30
    error = ((found - expected).abs().max() / most).item()
    return "" if error <= bound else f"it computes something else (off by {error:.2g})"


# --- functions of a model's module --------------------------------------------------------------

ROTARY = "apply_rotary_pos_emb"


@dataclass
class _Rotary:
    """The function that a module had, and how many models want ours."""

    original: Callable[..., Any]
    models: int = 0


_ROTARIES: dict[str, _Rotary] = {}


def _swap_rotary(done: Patch, model: Any) -> None:
    owners = {type(layer).__module__ for layer in model.modules()}
    for name in sorted(owners):
        module: Any = sys.modules.get(name)
        if not hasattr(module, ROTARY):
            continue
        if name not in _ROTARIES:
            original = getattr(module, ROTARY)
            ours = _rotated_by(original)
            if not _rotates_halves(original, ours):
                done.kept[f"{name}.{ROTARY}"] = "it rotates other pairs"
                continue
            _ROTARIES[name] = _Rotary(original)
            setattr(module, ROTARY, ours)
        _ROTARIES[name].models += 1
        done.note("rotary", f"{name}.{ROTARY}", _restore_rotary(module, name))


def _rotates_halves(original: Callable[..., Any], ours: Callable[..., Any]) -> bool:
    """Return whether a function rotates element i with element i + depth / 2, as ours does."""
    torch: Any = import_module("torch")
    q, k = torch.linspace(-1.0, 2.0, 48).reshape(2, 1, 2, 3, 4)
    tables = [torch.linspace(a, 1.0, 6).reshape(1, 3, 2).repeat(1, 1, 2) for a in (0.0, 0.5)]
    try:
        expected = original(q, k, *tables)
    except (TypeError, ValueError, RuntimeError, AttributeError):  # it takes something else
        return False
    found = ours(q, k, *tables)
    return len(expected) == 2 and all(map(torch.allclose, expected, found))


def _restore_rotary(module: Any, name: str) -> Undo:
    def undo() -> None:
        known = _ROTARIES[name]
        known.models -= 1
        if not known.models:
            setattr(module, ROTARY, known.original)
            del _ROTARIES[name]

    return undo


def _rotated_by(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of queries and keys; tables of another form are the original's."""

    def apply_rotary_pos_emb(
        q: Any, k: Any, cos: Any, sin: Any, unsqueeze_dim: int = 1, **more: Any
    ) -> Any:
        fits = unsqueeze_dim == 1 and not more and q.dim() == 4 and cos.dim() == 3
        if not fits or cos.shape[-1] != q.shape[-1] or k.shape[-1] != q.shape[-1]:
            return original(q, k, cos, sin, unsqueeze_dim=unsqueeze_dim, **more)
        half = cos.shape[-1] // 2  # the second half repeats the first
        tables = cos[..., :half], sin[..., :half]
        return rope(q, *tables), rope(k, *tables)

    return apply_rotary_pos_emb


# --- the loss ----------------------------------------------------------------------------------


def _swap_loss(done: Patch, model: Any) -> None:
    theirs = getattr(model, "loss_function", None)
    if getattr(theirs, "__name__", "") != "ForCausalLMLoss":
        return
    before = model.__dict__.get("_loss_function", done)
    model.loss_function = causal_loss

    def undo() -> None:
        if before is done:
            del model._loss_function
        else:
            model.loss_function = before

    done.note("cross_entropy", "loss_function", undo)


def causal_loss(
    logits: Any,
    labels: Any,
    vocab_size: int,
    num_items_in_batch: Any = None,
    ignore_index: int = -100,
    shift_labels: Any = None,
    **more: Any,
) -> Any:
    """Compute the loss of predicting each next token, as Hugging Face's causal models do."""
    torch: Any = import_module("torch")
    if shift_labels is None:
        padded = torch.nn.functional.pad(labels, (0, 1), value=ignore_index)
        shift_labels = padded[..., 1:]
    rows = logits.reshape(-1, vocab_size)
    target = shift_labels.reshape(-1).to(logits.device)
    if num_items_in_batch is None:
        return cross_entropy_of(rows, target, ignore_index, **_smoothing(more))
    total = cross_entropy_of(rows, target, ignore_index, "sum", **_smoothing(more))
    return total / num_items_in_batch


def _smoothing(more: dict[str, Any]) -> dict[str, Any]:
    return {key: more[key] for key in ("label_smoothing",) if key in more}
