"""A cache as one file: the same entries come out, and what is no such file puts nothing in."""

from __future__ import annotations

import lzma

import pytest

from tilewright.base.errors import KernelCacheError
from tilewright.base.stage import Saved
from tilewright.compile.store import Record, Store, pack, unpack
from tilewright.compile.store.bundle import MAGIC


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "here", 1 << 20)


@pytest.fixture
def other(tmp_path):
    return Store(tmp_path / "there", 1 << 20)


def fill(store):
    for number, length in enumerate((0, 1, 15, 16, 17, 1009)):
        record = Record.of({"kernel": f"k{number % 2}", "arch": "sm_90", "text": "é" * number})
        assert store.put(record, Saved({"symbol": "k", "number": number}, bytes([number]) * length))


def files(store):
    return {file.path: (store.root / file.path).read_bytes() for file in store.entries()}


def test_all_that_goes_in_comes_out(store, other, tmp_path):
    fill(store)
    path = tmp_path / "bundle.xz"
    assert pack(store, path, "about é") == 6
    assert unpack(other, path) == ("about é", 6)
    assert files(other) == files(store)
    assert other.verify() == {}


def test_the_same_cache_gives_the_same_bytes(store, other, tmp_path):
    fill(store)
    one, two = tmp_path / "one.xz", tmp_path / "two.xz"
    pack(store, one, "")
    unpack(other, one)
    pack(other, two, "")
    assert one.read_bytes() == two.read_bytes()


def test_an_empty_cache(store, other, tmp_path):
    assert pack(store, tmp_path / "bundle.xz", "") == 0
    assert unpack(other, tmp_path / "bundle.xz") == ("", 0)


def test_damaged_entries_stay_behind(store, other, tmp_path):
    fill(store)
    path = store.root / store.entries()[0].path
    path.write_bytes(path.read_bytes()[:-1])
    assert pack(store, tmp_path / "bundle.xz", "") == 5


def piece(record, metadata, code, begin=MAGIC):
    lengths = b"".join(n.to_bytes(w, "little") for n, w in zip(
        (len(record), len(metadata), len(code)), (4, 4, 8), strict=True))  # fmt: skip
    head = begin + bytes(16) + bytes(-(len(begin) + 16) % 16) + lengths + record + metadata
    return head + bytes(-len(head) % 16) + code


WRONG = {
    "no xz": b"junk",
    "empty": b"",
    "another beginning": lzma.compress(b"TWSOMETHING" + bytes(100)),
    "nothing in it": lzma.compress(MAGIC),
    "a cut piece": lzma.compress(piece(b"{}", b"{}", b"code")[:-1]),
    "a cut head": lzma.compress(piece(b"", b"", b"")[:-3]),
    "too long": lzma.compress(MAGIC + b"\xff" * 16),
    "no record": lzma.compress(piece(b"[1]", b"{}", b"code")),
    "no metadata": lzma.compress(piece(b"{}", b"junk", b"code")),
    "cut": lzma.compress(piece(b"{}", b"{}", bytes(1000)))[:-20],
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_bundle(name, other, tmp_path):
    path = tmp_path / "bundle.xz"
    path.write_bytes(WRONG[name])
    with pytest.raises(KernelCacheError, match="is not a bundle of compiled code"):
        unpack(other, path)
    assert other.entries() == ()
