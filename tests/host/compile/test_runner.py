"""The runner times, verifies, shows and keeps, whatever the backend."""

from __future__ import annotations

import io
import sys

import pytest

from support.ir import Kernel
from tilewright.base.config import Config
from tilewright.base.dtypes import f32
from tilewright.base.stage import ArtifactCodec, Saved, Stage
from tilewright.compile.runner import Runner
from tilewright.compile.store import Store
from tilewright.ir.core import Func
from tilewright.ir.verify import InvalidIR


def func():
    k = Kernel("sample")
    x, z = k.tensor("x", f32, 1), k.output("z", f32, 1, (4,))
    k.store(k.load(x, (4,), k.block_id(0)), z, k.block_id(0), tile=(4,))
    return k.finish()


def broken():
    whole = func()
    whole.body.ops.pop()
    return whole


def test_steps_are_timed_and_times_add_up():
    run = Runner("k")
    assert run.step("double", lambda x: 2 * x, 4) == 8
    first = run.times["double"]
    run.step("double", lambda x: 2 * x, 4)
    assert run.times["double"] > first > 0
    assert list(run.times) == ["double"]


def test_a_step_that_fails_raises():
    with pytest.raises(ZeroDivisionError):
        Runner("k").step("divide", lambda x: 1 // x, 0)


# Verifying.


def test_passes_are_verified_where_asked_for():
    def breaking(given):
        return broken()

    with pytest.raises(InvalidIR, match="breaking"):
        Runner("k", Config(verify=True)).pass_(breaking, func())
    assert isinstance(Runner("k", Config()).pass_(breaking, func()), Func)


def test_the_ends_are_always_verified():
    whole = func()
    assert Runner("k", Config()).verified("passes", whole) is whole
    with pytest.raises(InvalidIR, match="passes"):
        Runner("k", Config()).verified("passes", broken())


# Showing.


STAGES = (
    Stage("first", lambda x: x + 1, lambda x: f"first {x}"),
    Stage("second", lambda x: x * 10, lambda x: f"second {x}"),
)


def test_nothing_is_shown_unasked(capsys):
    run = Runner("k", Config())
    assert run.stages(STAGES, 1) == 20
    assert run.shown == {}
    assert list(run.times)[:1] == ["first"]
    assert capsys.readouterr().err == ""


def test_dumps_go_to_standard_error(capsys):
    run = Runner("k", Config(dump=frozenset({"second"})))
    run.stages(STAGES, 1)
    assert capsys.readouterr().err == "=== k: second ===\nsecond 20\n"
    assert run.shown == {"second": "second 20"}


def test_all_can_be_dumped(capsys):
    run = Runner("k", Config(dump=frozenset({"all"})))
    run.verified("frontend", func())
    run.pass_(lambda f: f, func())
    run.stages(STAGES, 1)
    text = capsys.readouterr().err
    headers = [line for line in text.splitlines() if line.startswith("===")]
    names = ["frontend", "<lambda>", "first", "second"]
    assert headers == [f"=== k: {name} ===" for name in names]
    assert "store_view" in text


def test_dumps_go_to_a_directory(capsys, tmp_path):
    folder = tmp_path / "some" / "where"
    run = Runner("k", Config(dump=frozenset({"passes", "first"}), dump_dir=str(folder)))
    run.verified("passes", func())
    run.stages(STAGES, 1)
    assert capsys.readouterr().err == ""
    assert sorted(p.name for p in folder.iterdir()) == ["k.first.txt", "k.passes.txt"]
    assert (folder / "k.first.txt").read_text() == "first 2"
    assert (folder / "k.passes.txt").read_text().startswith("kernel sample(")


def test_keeping_texts_dumps_nothing(capsys):
    run = Runner("k", Config(), keep=True)
    run.stages(STAGES, 1)
    assert run.shown == {"first": "first 2", "second": "second 20"}
    assert capsys.readouterr().err == ""


# Keeping results.


class Backend:
    """Stages that count their runs; what `double` and `text` make may be kept."""

    def __init__(self, facts=lambda x: {"kernel": "k", "argument": x}):
        self.ran = []
        self.restored = []
        codec = ArtifactCodec(facts, self.save, self.restore)
        self.stages = (
            Stage("increment", self.doing("increment", lambda x: x + 1), str),
            Stage("double", self.doing("double", lambda x: 2 * x), str, codec),
            Stage("text", self.doing("text", lambda x: f"made {x}"), str),
        )

    def doing(self, name, function):
        def run(argument):
            self.ran.append(name)
            return function(argument)

        return run

    def save(self, argument, result):
        return Saved({"argument": argument}, result.encode())

    def restore(self, argument, saved):
        if saved.metadata.get("argument") != argument:
            raise ValueError("of another argument")
        self.restored.append(argument)
        return saved.code.decode()


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache", 1 << 20)


def test_a_result_is_kept_and_found(store):
    backend = Backend()
    miss, hit = Runner("k", Config(), store=store), Runner("k", Config(), store=store)
    assert miss.stages(backend.stages, 1) == "made 4"
    assert backend.ran == ["increment", "double", "text"]
    assert hit.stages(backend.stages, 1) == "made 4"
    # What stands before the stage that may be kept runs; it and what follows do not.
    assert backend.ran == ["increment", "double", "text", "increment"]
    assert backend.restored == [2]
    assert set(miss.times) == {"increment", "disk", "double", "text"}
    assert set(hit.times) == {"increment", "disk"}
    assert (store.stats.hits, store.stats.misses, store.stats.puts) == (1, 1, 1)


def test_other_facts_are_a_miss(store):
    backend = Backend()
    run = Runner("k", Config(), store=store)
    assert run.stages(backend.stages, 1) == "made 4"
    assert run.stages(backend.stages, 2) == "made 6"
    assert (store.stats.hits, store.stats.misses, store.stats.puts) == (0, 2, 2)


def test_without_a_store_everything_runs():
    backend = Backend()
    run = Runner("k", Config(), store=None)
    for _ in range(2):
        assert run.stages(backend.stages, 1) == "made 4"
    assert backend.ran == ["increment", "double", "text"] * 2


def test_what_cannot_be_named_is_not_kept(store):
    backend = Backend(facts=lambda x: None)
    run = Runner("k", Config(), store=store)
    for _ in range(2):
        assert run.stages(backend.stages, 1) == "made 4"
    assert backend.ran == ["increment", "double", "text"] * 2
    assert store.stats.misses == 0


@pytest.mark.parametrize("name", ["double", "text", "all"])
def test_who_wants_to_see_a_stage_gets_it_made(store, name, capsys):
    backend = Backend()
    Runner("k", Config(), store=store).stages(backend.stages, 1)
    run = Runner("k", Config(dump=frozenset({name})), store=store)
    assert run.stages(backend.stages, 1) == "made 4"
    assert backend.ran == ["increment", "double", "text"] * 2
    assert f"=== k: {name.replace('all', 'text')} ===" in capsys.readouterr().err


def test_who_wants_to_see_an_earlier_stage_does_not_make_the_later(store, capsys):
    backend = Backend()
    Runner("k", Config(), store=store).stages(backend.stages, 1)
    Runner("k", Config(dump=frozenset({"increment"})), store=store).stages(backend.stages, 1)
    assert backend.ran == ["increment", "double", "text", "increment"]


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"frontend": 1.0, "llvm": 3.9}, ""),
        ({"frontend": 1.0, "llvm": 4.25}, "took 5.2 s, of which llvm took 4.2 s"),
        ({"frontend": 1.0, "cubin": 60.0}, ""),  # which has told of itself
    ],
)
def test_slow_steps_are_told_in_one_line(times, said, capsys):
    Runner("k", times=times, store=None).tell_if_slow("cpu")
    assert capsys.readouterr().err == (
        f"tilewright: compiling `k` for cpu {said}\n" if said else ""
    )


def test_a_closed_standard_error_is_told_nothing(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        Runner("k", times={"llvm": 9.0}, store=None).tell_if_slow("cpu")


def test_what_cannot_be_restored_is_made_again(store):
    backend = Backend(facts=lambda x: {"kernel": "k"})  # forgets the argument
    run = Runner("k", Config(), store=store)
    assert run.stages(backend.stages, 1) == "made 4"
    assert run.stages(backend.stages, 2) == "made 6"
    assert (store.stats.invalid, store.stats.puts) == (1, 2)


def test_a_failure_is_not_kept(store):
    backend = Backend()
    failing = (*backend.stages[:2], Stage("fail", lambda x: 1 // 0, str))
    run = Runner("k", Config(), store=store)
    with pytest.raises(ZeroDivisionError):
        run.stages(failing, 1)
    assert store.entries() == ()
    assert not list(store.root.rglob("*.lock"))
    assert run.stages(backend.stages, 1) == "made 4"


def test_a_store_that_cannot_be_used_changes_nothing(tmp_path):
    (tmp_path / "file").touch()
    backend = Backend()
    run = Runner("k", Config(), store=Store(tmp_path / "file", 1 << 20))
    with pytest.warns(RuntimeWarning, match="compiled code is not cached on disk"):
        assert run.stages(backend.stages, 1) == "made 4"
