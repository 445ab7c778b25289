"""Annotations can be read back as they were written, on every Python version."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar, TypeVarTuple, Unpack, get_args, get_origin

import pytest

import tilewright.lang as tl
from tilewright.base.dtypes import f32

BM = TypeVar("BM")
E = TypeVar("E")
S = TypeVarTuple("S")

CLASSES = [tl.Tensor, tl.TensorMut]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize(
    "args",
    [(f32,), (f32, 16), (f32, 16, 16), (f32, tl.Dyn, tl.Dyn), (f32, Literal[128], BM), (E, BM),
     (f32, -1), (f32, "BM")],
)  # fmt: skip
def test_arguments_stay_as_written(cls, args):
    annotation = cls[args]
    assert get_origin(annotation) is cls
    assert get_args(annotation) == args


@pytest.mark.parametrize("cls", CLASSES)
def test_a_whole_shape(cls):
    (_, pack) = get_args(cls[E, *S])
    assert get_origin(pack) is Unpack
    assert get_args(pack) == (S,)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_bare_class_means_any(cls):
    assert get_origin(cls) is None
    assert get_args(cls) == ()


def test_annotations_can_be_compared_and_used_as_keys():
    assert tl.Tensor[f32, 16] == tl.Tensor[f32, 16]
    assert len({tl.Tensor[f32, 16], tl.Tensor[f32, 16], tl.TensorMut[f32, 16]}) == 2


@pytest.mark.parametrize(
    "cls", [tl.Tensor, tl.TensorMut, tl.Partition, tl.PartitionMut, tl.PointerTile, tl.Ptr]
)
def test_nothing_is_made_on_the_host(cls):
    with pytest.raises(TypeError, match=f"tl.{cls.__name__} can only be used inside a kernel"):
        cls()


@pytest.mark.parametrize("cls", [tl.Tensor, tl.TensorMut, tl.Partition, tl.PartitionMut])
def test_type_checkers_see_generic_classes(cls):
    assert issubclass(cls, Generic)
