"""A store of the user's own gives back what it was given, or nothing; it disturbs nobody."""

from __future__ import annotations

import threading
import warnings

import pytest

from support.dict_store import DictStore
from support.mutants import mutants
from support.numbers import fresh_random
from tilewright.base.stage import Saved
from tilewright.compile.store import Record, Stats
from tilewright.compile.store.choosing import METHODS, Custom
from tilewright.compile.store.entry import encode

SAVED = Saved({"symbol": "add"}, b"code" * 100)
RECORD, OTHER = Record.of({"kernel": "add"}), Record.of({"kernel": "other"})


def same(saved):
    return saved


@pytest.fixture
def store():
    return DictStore()


@pytest.fixture
def keeper(store):
    return Custom(store)


def test_what_is_put_is_got(store, keeper):
    assert keeper.get(RECORD, same) is None
    assert keeper.put(RECORD, SAVED)
    assert keeper.get(RECORD, same) == SAVED
    assert Custom(store).get(RECORD, same) == SAVED  # of another process
    assert keeper.get(OTHER, same) is None
    size = len(store.entries[RECORD.name])
    assert keeper.stats == Stats(hits=1, misses=2, puts=1, bytes_written=size)


def test_find_counts_no_misses(keeper):
    assert keeper.find(RECORD, same) is None
    assert keeper.stats == Stats()


def test_names_are_hexadecimal_and_entries_bytes(store, keeper):
    keeper.put(RECORD, SAVED)
    ((name, entry),) = store.entries.items()
    assert len(name) == 64 and int(name, 16) and name == RECORD.name
    assert type(entry) is bytes


def test_what_another_process_has_put_is_not_put_again(store, keeper):
    Custom(store).put(RECORD, SAVED)
    assert keeper.put(RECORD, SAVED)
    assert store.asked.count("put") == 1
    assert keeper.stats.puts == 0


def test_remove_and_clear(store, keeper):
    keeper.put(RECORD, SAVED)
    keeper.put(OTHER, SAVED)
    assert keeper.remove(RECORD.name) and keeper.remove(RECORD.name)
    assert set(store.entries) == {OTHER.name}
    keeper.clear()
    assert store.entries == {}


def damaged(entry):
    return {
        "nothing": b"",
        "garbage": b"\x7fELF" + bytes(500),
        "cut": entry[:-1],
        "longer": entry + b"\0",
        "flipped": entry[:-5] + bytes([entry[-5] ^ 1]) + entry[-4:],
        "swapped": encode(OTHER, SAVED),
    }


@pytest.mark.parametrize("how", damaged(encode(RECORD, SAVED)))
def test_what_is_not_what_it_should_be_is_deleted(store, keeper, how):
    keeper.put(RECORD, SAVED)
    store.entries[RECORD.name] = damaged(store.entries[RECORD.name])[how]
    assert keeper.get(RECORD, same) is None
    assert store.entries == {}
    assert (keeper.stats.invalid, keeper.stats.misses, keeper.stats.io_errors) == (1, 1, 0)
    assert keeper.put(RECORD, SAVED) and keeper.get(RECORD, same) == SAVED


def test_no_damage_is_believed(store, keeper):
    entry = encode(RECORD, SAVED)
    for mutant in mutants(entry, 500, fresh_random()):
        store.entries[RECORD.name] = mutant
        assert keeper.get(RECORD, same) == (SAVED if mutant == entry else None)


def test_what_the_backend_refuses_is_deleted(store, keeper):
    def refuse(saved):
        raise ValueError("for another architecture")

    keeper.put(RECORD, SAVED)
    assert keeper.get(RECORD, refuse) is None
    assert store.entries == {} and keeper.stats.invalid == 1


class Broken:
    """Raises whatever is asked."""

    def __init__(self, error):
        self.error = error

    def fail(self, *given):
        raise self.error

    get = put = contains = delete = clear = fail


@pytest.mark.parametrize("error", [OSError("gone"), KeyError("x"), RecursionError("deep")])
def test_errors_are_counted_and_told_once(error):
    keeper = Custom(Broken(error))
    with pytest.warns(RuntimeWarning, match=r"fails: Broken.get raised \w+: .+"):
        assert keeper.get(RECORD, same) is None
    assert not keeper.put(RECORD, SAVED)  # a second warning would be an error here
    assert not keeper.remove(RECORD.name)
    keeper.clear()
    assert keeper.stats == Stats(misses=1, io_errors=5)


def test_who_interrupts_is_heard():
    with pytest.raises(KeyboardInterrupt):
        Custom(Broken(KeyboardInterrupt())).get(RECORD, same)


@pytest.mark.parametrize("given", ["text", 5, bytearray(encode(RECORD, SAVED)), [b"list"]])
def test_what_is_no_bytes_is_an_error_of_the_store(store, keeper, given):
    store.entries[RECORD.name] = given
    with pytest.warns(RuntimeWarning, match=f"get gave {type(given).__name__}, not bytes"):
        assert keeper.get(RECORD, same) is None
    assert keeper.stats == Stats(misses=1, io_errors=1)
    assert RECORD.name in store.entries


def test_one_that_cannot_say_what_it_contains_is_given_all(store, keeper, monkeypatch):
    monkeypatch.setattr(store, "contains", Broken(OSError("gone")).fail)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert keeper.put(RECORD, SAVED)
    assert keeper.get(RECORD, same) == SAVED


def test_what_is_no_store_is_refused():
    with pytest.raises(TypeError, match="a dict is no JitStore: it has no method put, contains"):
        Custom({})
    with pytest.raises(TypeError, match="got the class `DictStore`: instantiate it"):
        Custom(DictStore)
    for name in METHODS:
        store = DictStore()
        setattr(store, name, None)
        with pytest.raises(TypeError, match=f"no method {name}$"):
            Custom(store)


def test_threads_that_need_the_same_make_it_once(keeper):
    made, ready = [], threading.Barrier(4)

    def work():
        ready.wait(60)
        with keeper.alone(RECORD):
            if keeper.get(RECORD, same) is None:
                made.append(1)
                keeper.put(RECORD, SAVED)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert made == [1]
    assert (keeper.stats.hits, keeper.stats.misses, keeper.stats.puts) == (3, 1, 1)
    assert len(keeper._flights) == 0


def test_threads_that_need_different_things_do_not_wait(keeper):
    inside = threading.Barrier(2)

    def work(record):
        with keeper.alone(record):
            inside.wait(60)  # both are here at once, or this raises

    thread = threading.Thread(target=work, args=(RECORD,))
    thread.start()
    work(OTHER)
    thread.join(60)
    assert not inside.broken
