"""The errors of a tensor that is used like a NumPy array or a PyTorch tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self

WORDS: dict[str, str] = {
    "astype": "tw.convert(t, dtype)",
    "numpy": "t.to_numpy()",
    "cpu": "t.to_numpy(), or t.to(device)",
    "cuda": 't.to("cuda")',
    "tolist": "t.to_numpy().tolist()",
    "copy": "t.dup()",
    "clone": "t.dup()",
    "fill": "tw.fill(t, value)",
    "sync": "t itself: it is no op, and reading it waits",
    "then": "tw.value(t).then(f)",
    "unpartition": "t itself: only what partition(...) gave has it",
    "flatten": "t.reshape((-1,))",
    "ravel": "t.reshape((-1,))",
} | {
    word: f"a kernel, or t.to_numpy().{word}()"
    for word in ("sum", "mean", "min", "max", "any", "all", "argmax", "argmin", "cumsum")
}


class _Word:
    """An attribute that arrays have. Not `__getattr__`, which would slow down all the others."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, tensor: object, owner: type) -> Self:
        if tensor is None:
            return self
        name = self._name
        raise AttributeError(f"a Tensor has no `{name}`; use {WORDS[name]}", name=name, obj=tensor)


class ArrayMisuseHints:
    """Mixin of Tensor. Type checkers do not see it: for them these uses are plain errors."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __setitem__(self, key: object, value: Any) -> NoReturn:
            raise TypeError(
                "a tensor is not written item by item: write a part by"
                " tw.fill(t.borrow_mut()[...], value), or from NumPy:"
                " with t.borrow_mut().numpy() as a: a[...] = values"
            )

        def __float__(self) -> NoReturn:
            raise TypeError("a tensor is no number; its only element is t.item()")

        __int__ = __complex__ = __float__


for _name in WORDS:
    setattr(ArrayMisuseHints, _name, _Word(_name))
