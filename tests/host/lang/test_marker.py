from __future__ import annotations

import inspect

import pytest

from tilewright.lang.marker import composed, composed_body, declared, declared_name, only_in_kernels


def example(x: int, *, y: bool = False) -> int:
    """Say what it does."""


def test_a_declaration_keeps_its_signature_and_docstring():
    marked = declared(example)
    assert inspect.signature(marked) == inspect.signature(example)
    assert marked.__doc__ == "Say what it does."
    assert marked.__name__ == "example"


def test_a_declaration_has_a_name_and_nothing_else_has():
    assert declared_name(declared(example)) == "example"
    for other in (example, 3, "example", None, len, int):
        assert declared_name(other) is None


def test_a_call_on_the_host_raises_whatever_is_passed():
    marked = declared(example)
    for args, keywords in (((), {}), ((1,), {}), ((1, 2, 3), {"z": 4})):
        with pytest.raises(TypeError) as caught:
            marked(*args, **keywords)
        assert str(caught.value) == only_in_kernels("tl.example")


def test_a_composed_function_keeps_its_body_for_kernels():
    marked = composed(example)
    assert composed_body(marked) is example
    assert declared_name(marked) is None
    assert inspect.signature(marked) == inspect.signature(example)
    for other in (example, declared(example), 3, None, len, int):
        assert composed_body(other) is None


def test_a_composed_function_raises_on_the_host():
    with pytest.raises(TypeError) as caught:
        composed(example)(1, y=True)
    assert str(caught.value) == only_in_kernels("tl.example")
