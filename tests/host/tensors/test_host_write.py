from __future__ import annotations

import contextlib

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.interrupts import MOST_POINTS, raise_at, raise_behind, raise_often, raise_on_line
from tilewright.base.errors import BorrowError
from tilewright.tensors import host_write
from tilewright.tensors.borrow import LOCK


@tw.entry
def neg(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@pytest.fixture
def t():
    return tw.from_numpy(np.arange(24, dtype="f4").reshape(4, 6)).sync()


def test_the_host_writes_in_place(t):
    with t.borrow_mut().numpy() as a:
        assert a.__array_interface__["data"][0] == t.region.address
        assert a[3, 5] == 23
        a[:] = 7
    assert (t.to_numpy() == 7).all()
    assert a.size == 0  # the variable outlives the block, its memory does not


def test_the_same_cell_again(t):
    for value in (1, 2):
        with t.borrow_mut().numpy() as a:
            a[:] = value
        neg(t.partition_mut((2, 2)), np.ones((4, 6), "f4")).sync()
    assert (t.to_numpy() == -1).all()
    assert a.size == 0


def test_a_part_is_written(t):
    expected = t.to_numpy()
    with t.borrow_mut()[1:3, ::2].numpy() as a:
        assert a.shape == (2, 3)
        a += 100
    expected[1:3, ::2] += 100
    assert (t.to_numpy() == expected).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int8", "bool"])
def test_every_element_type(dtype):
    t = tw.zeros((3,), dtype).sync()
    with t.borrow_mut().numpy() as a:
        a[1] = 1
    assert t.to_numpy().astype("f4").tolist() == [0, 1, 0]


def test_nothing_else_uses_the_tensor_meanwhile(t, golden, places):
    with t.borrow_mut().numpy() as a:
        with pytest.raises(BorrowError) as caught:
            t.to_numpy()
        golden(places(caught.value), "read")
        with pytest.raises(BorrowError, match="while the host writes it through NumPy"):
            neg(tw.zeros((4, 6)).partition((2, 2)), t).sync()
        with pytest.raises(BorrowError, match="would write"):
            neg(t.partition_mut((2, 2)), np.ones((4, 6), "f4")).sync()
        with pytest.raises(BorrowError, match="would take over"):
            tw.move(t)
        a[:] = 5
    assert (t.to_numpy() == 5).all()


def test_an_op_built_before_is_stale_after(t):
    op = neg(tw.zeros((4, 6)).sync().partition_mut((2, 2)), t)
    with t.borrow_mut().numpy() as a:
        a[:] = 5
    with pytest.raises(BorrowError, match="its shared borrow of"):
        op.sync()


def test_an_op_built_inside_is_stale_after(t):
    out = tw.zeros((4, 6)).sync()
    with t.borrow_mut().numpy() as a:
        op = neg(out.partition_mut((2, 2)), t)
        a[:] = 5
    with pytest.raises(BorrowError, match="it was written by the host through NumPy"):
        op.sync()


def test_parts_of_the_array_must_not_be_kept(t, golden, places):
    with pytest.raises(BorrowError) as caught, t.borrow_mut().numpy() as a:
        part = a[1:]
    golden(places(caught.value))
    with pytest.raises(BorrowError, match="the host writes it through NumPy"):
        t.to_numpy()
    part[:] = 1
    del part
    assert t.to_numpy()[1, 0] == 1


def test_an_error_in_the_block_passes(t):
    with pytest.raises(ValueError, match="broadcast"), t.borrow_mut().numpy() as a:
        a[:] = np.ones(5)
    assert t.to_numpy()[0, 1] == 1


def test_memory_counts_as_written():
    t = tw.empty((4,)).sync()
    with t.borrow_mut().numpy() as a:
        a[:] = 3
    assert t.to_numpy().tolist() == [3] * 4
    assert tw.zeros((0, 3)).sync().borrow_mut().numpy().__enter__().shape == (0, 3)


# What is made of the array


class Subclass(np.ndarray):
    pass


class Describing:
    """Describes an array that it keeps."""

    def __init__(self, array):
        self.array, self.__array_interface__ = array, array.__array_interface__


def on_torch(array):
    return pytest.importorskip("torch").from_numpy(array)


ESCAPES = {
    "part": lambda a: a[:],
    "base": lambda a: a.base,
    "memoryview": memoryview,
    "memoryview of a part": lambda a: memoryview(a[:2]),
    "dlpack": np.from_dlpack,
    "as_strided": lambda a: np.lib.stride_tricks.as_strided(a, a.shape, a.strides),
    "subclass": lambda a: a.view(Subclass),
    "part of a subclass": lambda a: a.view(Subclass)[:2],
    "interface": lambda a: np.asarray(Describing(a)),
    "ctypes": lambda a: np.ctypeslib.as_array(np.ctypeslib.as_ctypes(a)),
    "pointer": lambda a: a.ctypes.data_as(np.ctypeslib.ctypes.c_void_p),
    "iterator": lambda a: a.flat,
    "nditer": lambda a: np.nditer(a, op_flags=["readwrite"]),
    "tensor": tw.asarray,
    "container": lambda a: [a],
    "torch": on_torch,
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("way", ESCAPES)
def test_what_escapes_is_found(t, way, named):
    """Whether or not a variable holds the array, too."""
    kept = []
    with pytest.raises(BorrowError, match="or an object derived from it, outlives"):
        write(t, lambda a: kept.append(ESCAPES[way](a)), named)
    for use in (t.to_numpy, lambda: tw.fill(t, 1.0).sync(), lambda: tw.move(t)):
        with pytest.raises(BorrowError, match="while the host writes it through NumPy"):
            use()
    kept.clear()
    neg(t.partition_mut((2, 2)), np.ones((4, 6), "f4")).sync()
    assert (t.to_numpy() == -1).all()
    assert not host_write._SEEN


def write(t, use, named):
    with t.borrow_mut().numpy() as a:
        use(a)
        if not named:
            del a


@pytest.mark.parametrize("way", [way for way in ESCAPES if way not in ("base", "container")])
def test_memory_does_not_die_under_what_escapes(way):
    """The tensor is gone, and others are made: none has its memory."""
    t = tw.zeros((1 << 12,)).sync()
    address, kept = t.region.address, []
    with pytest.raises(BorrowError), t.borrow_mut().numpy() as a:
        kept.append(ESCAPES[way](a))
    del t
    others = [tw.zeros((1 << 12,)).sync() for _ in range(3)]
    assert address not in [other.region.address for other in others]
    kept.clear()
    assert a.size == 0
    del a
    assert not host_write._SEEN


def test_the_variable_may_stay_when_what_escaped_is_gone(t):
    with pytest.raises(BorrowError), t.borrow_mut().numpy() as a:
        kept = memoryview(a)
    del kept
    tw.fill(t, 2.0).sync()
    assert a.size == 0


def test_what_escapes_from_a_block_that_fails_is_found_later(t):
    def fail(array):
        kept.append(memoryview(array))
        raise ValueError("on its way")

    kept = []
    with pytest.raises(ValueError, match="on its way"), t.borrow_mut().numpy() as a:
        fail(a)
    with pytest.raises(BorrowError, match="while the host writes it"):
        t.to_numpy()
    kept.clear()
    assert t.to_numpy()[0, 1] == 1
    assert a.size == 0


def test_a_function_that_fails_keeps_nothing(t):
    def fail(array):
        raise ValueError(array.size)

    with pytest.raises(ValueError, match="24") as kept, t.borrow_mut().numpy() as a:
        fail(a)
    tw.fill(t, 2.0).sync()
    assert a.size == 0
    assert kept.value.__traceback__ is not None


def test_other_ways_to_name_it(t):
    @contextlib.contextmanager
    def written(tensor):
        with tensor.borrow_mut().numpy() as array:
            yield array

    with written(t) as a:
        b = a
        b[:] = 3
    assert (t.to_numpy() == 3).all()
    with contextlib.ExitStack() as stack:
        c = stack.enter_context(t.borrow_mut().numpy())
        c[:] = 4
    assert (t.to_numpy() == 4).all()
    assert a.size == b.size == c.size == 0


# Who else may see the memory


class Block:
    """A block that was entered, and is left when this is dropped."""

    def __init__(self, borrow):
        self.block = borrow.numpy()
        self.array = self.block.__enter__()

    def __getitem__(self, key):
        return self.array[key]

    def __setitem__(self, key, value):
        self.array[key] = value


READERS = {
    "a NumPy view of it is alive": np.asarray,
    "another library uses it through DLPack": np.from_dlpack,
}
WRITERS = {
    "another library may write it": np.from_dlpack,
    "the host writes it through NumPy": Block,
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("holder", {**READERS, **WRITERS})
def test_one_writer_or_many_readers(t, holder, writer):
    held = READERS[holder](t) if holder in READERS else WRITERS[holder](t.borrow_mut())
    with pytest.raises(BorrowError, match=f"would write .* while {holder}"):
        WRITERS[writer](t.borrow_mut())
    assert held[1, 0] == 6
    del held
    WRITERS[writer](t.borrow_mut())[:] = 5
    assert (t.to_numpy() == 5).all()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("holder", {**READERS, **WRITERS})
def test_each_of_disjoint_parts_may_have_a_writer(t, holder, writer):
    for key, other in ((np.s_[:2], np.s_[2:]), (np.s_[..., ::2], np.s_[..., 1::2])):
        expected = t.to_numpy()
        if holder in READERS:
            held, high = READERS[holder](t[key]), t.borrow_mut()[other]
        else:
            whole = t.borrow_mut()
            low, high = whole[key], whole[other]
            held = WRITERS[holder](low)
        WRITERS[writer](high)[:] = 5
        assert (held[:] == expected[key]).all()
        with pytest.raises(BorrowError, match=f"while {holder}"):
            tw.fill(t, 1.0).sync()
        del held
        expected[other] = 5
        assert (t.to_numpy() == expected).all()


def test_a_kernel_writes_beside_a_part_that_is_seen(t):
    seen = np.asarray(t[:2])
    neg(t.borrow_mut()[2:].partition((2, 2)), np.ones((2, 6), "f4")).sync()
    with pytest.raises(BorrowError, match="while a NumPy view of it is alive"):
        neg(t.borrow_mut()[1:3].partition((2, 2)), np.ones((2, 6), "f4")).sync()
    assert seen[0, 1] == 1
    assert (t.to_numpy()[2:] == -1).all()


def test_a_block_that_names_no_array(t):
    with t.borrow_mut().numpy(), pytest.raises(BorrowError, match="while the host writes it"):
        t.to_numpy()
    t.to_numpy()


def test_one_block_inside_itself(t):
    block = t.borrow_mut().numpy()
    with block as a:
        with pytest.raises(BorrowError, match="while the host writes it"), block:
            pass
        a[:] = 5
    assert (t.to_numpy() == 5).all()


def test_a_block_after_itself(t):
    block = t.borrow_mut().numpy()
    for value in (1, 2):
        with block as a:
            a[:] = value
    assert (t.to_numpy() == 2).all()
    with pytest.raises(BorrowError, match=r"its exclusive borrow of .* has ended"), block:
        pass


def test_a_borrow_that_has_ended_is_not_written(t):
    block = t.borrow_mut().numpy()
    t.to_numpy()
    with pytest.raises(BorrowError, match="`numpy` cannot run: its exclusive borrow"), block:
        pass


# Interrupts


stayed = np.zeros(0)


def blocks(t):
    """Blocks to interrupt: one whose variable stays, and one whose variable goes away with it."""

    def stays():
        global stayed
        with t.borrow_mut().numpy() as stayed:
            stayed[:] = 1

    def goes():
        with t.borrow_mut().numpy() as b:
            b[:] = 1

    def usable():
        tw.fill(t, 2.0).sync()
        with t.borrow_mut().numpy() as c:
            c[:] = 3
        assert (t.to_numpy() == 3).all()
        assert not host_write._SEEN
        assert not LOCK.is_mine()

    return stays, goes, usable


def on_line(point, run):
    return raise_on_line(point, run, "tilewright/tensors")


@pytest.mark.parametrize("interrupt", [raise_at, raise_behind, on_line])
@pytest.mark.parametrize("which", [0, 1], ids=["stays", "goes"])
def test_a_tensor_can_be_used_after_an_interrupt(t, which, interrupt):
    *run, usable = blocks(t)
    run = run[which]
    run()
    for point in range(1, MOST_POINTS):
        over = not interrupt(point, run)
        usable()
        if over:
            break
    assert 10 < point < MOST_POINTS - 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_tensor_can_be_used_after_many_interrupts(t):
    stays, goes, usable = blocks(t)
    for run in (stays, goes):
        raise_often(run, 100)
        usable()
