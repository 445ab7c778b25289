"""Records: what is read is untrusted, what is written is whole."""

from __future__ import annotations

import json

import pytest

from tilewright.base import config
from tilewright.base.errors import KernelCacheError
from tilewright.tune import export, import_, records
from tilewright.tune.records import InvalidRecordError, Record, Tried, parse, validated

FACTS = {
    "kernel": "k",
    "source": "s",
    "space": "p",
    "constants": {},
    "key": [[3, 4]],
    "device": {"model": "m"},
    "versions": {"driver": "1"},
}
RECORD = Record(FACTS, "BK=1", (Tried("BK=1", 1e-3, 4), Tried("BK=2", None, 0, "wrong")))


@pytest.fixture(autouse=True)
def root(tmp_path):
    records.forget_imported()
    with config.override(cache_dir=str(tmp_path / "cache")):
        yield tmp_path / "cache" / "tune"
    records.forget_imported()


def test_what_was_put_is_found(root):
    assert records.find(FACTS) is None
    records.put(RECORD)
    assert records.find(FACTS) == RECORD
    assert records.find({**FACTS, "key": [[3, 5]]}) is None
    assert [file.name for file in root.iterdir()] == [RECORD.name]
    assert root.stat().st_mode & 0o777 == 0o700


def test_another_driver_is_another_record():
    records.put(RECORD)
    assert records.find({**FACTS, "versions": {"driver": "2"}}) is None


def test_nothing_is_kept_where_the_cache_is_off():
    with config.override(cache_dir="off"):
        records.put(RECORD)
        assert records.find(FACTS) is None
        with records.alone(FACTS):
            pass
    assert records.find(FACTS) is None


def test_a_directory_that_is_open_to_others_is_not_read(root):
    records.put(RECORD)
    root.chmod(0o755)
    with pytest.warns(RuntimeWarning, match="open to other users"):
        assert records.find(FACTS) is None


def test_a_link_is_not_followed(root, tmp_path):
    records.put(RECORD)
    (tmp_path / "elsewhere").write_bytes((root / RECORD.name).read_bytes())
    (root / RECORD.name).unlink()
    (root / RECORD.name).symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="not read"):
        assert records.find(FACTS) is None


def whole(**changes):
    return {**RECORD.as_json(), **changes}


WRONG = {
    "nothing": b"",
    "no-json": b"{",
    "no-text": b"\xff\xfe",
    "nan": b"[NaN]",
    "deep": b"[" * 100_000,
    "no-object": b"[]",
    "long": b" " * (records.LARGEST + 1),
    "version": whole(version=2),
    "no-facts": whole(facts=None),
    "other-facts": whole(facts={"kernel": "k"}),
    "facts-of-another-kind": whole(facts={**FACTS, "source": 3}),
    "no-device": whole(facts={**FACTS, "device": {}}),
    "versions": whole(facts={**FACTS, "versions": []}),
    "config": whole(config=["BK=1"]),
    "nothing-tried": whole(tried="BK=1"),
    "a-short-row": whole(tried=[["BK=1", 1.0]]),
    "a-negative-time": whole(tried=[["BK=1", -1.0, 1, ""]]),
    "a-time-that-is-true": whole(tried=[["BK=1", True, 1, ""]]),
    "negative-samples": whole(tried=[["BK=1", 1.0, -1, ""]]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_damaged_record_is_ignored(name, root):
    records.put(RECORD)
    data = WRONG[name]
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    (root / RECORD.name).write_bytes(text)
    with pytest.warns(RuntimeWarning, match="is ignored: "):
        assert records.find(FACTS) is None


def test_a_record_under_the_name_of_another_one_is_ignored(root):
    records.put(RECORD)
    other = Record({**FACTS, "kernel": "other"}, "BK=2", ())
    (root / RECORD.name).write_text(json.dumps(other.as_json()))
    assert records.find(FACTS) is None


def test_what_is_valid():
    assert validated(parse(json.dumps(RECORD.as_json()).encode())) == RECORD
    with pytest.raises(InvalidRecordError, match="its version"):
        validated({})


def test_exported_and_imported(tmp_path, root):
    records.put(RECORD)
    records.put(Record({**FACTS, "kernel": "other"}, "BK=2", ()))
    assert export(tmp_path / "all.json") == 2
    assert export(tmp_path / "one.json", kernels=["k"]) == 1
    with config.override(cache_dir=str(tmp_path / "empty")):
        assert records.find(FACTS) is None
        assert import_(tmp_path / "one.json") == 1
        assert records.find(FACTS) == RECORD
        assert not (tmp_path / "empty").exists()
        assert import_(tmp_path / "all.json", keep=True) == 2
        assert len(list(records.own())) == 2
        assert [r.facts["kernel"] for r in records.own("k")] == ["k"]


def test_imported_records_count_for_other_versions(tmp_path):
    records.put(RECORD)
    export(tmp_path / "all.json")
    import_(tmp_path / "all.json")
    newer = {**FACTS, "versions": {"driver": "2"}}
    assert records.find(newer) == RECORD
    own = Record(newer, "BK=2", ())
    records.put(own)
    assert records.find(newer) == own
    assert records.find({**FACTS, "device": {"model": "other"}}) is None


@pytest.mark.parametrize(
    "text", ["", "[]", '{"records": 3}', '{"records": [{}]}'], ids=["empty", "list", "none", "bad"]
)
def test_a_file_that_is_none(tmp_path, text, golden):
    (tmp_path / "records.json").write_text(text)
    with pytest.raises(KernelCacheError) as caught:
        import_(tmp_path / "records.json")
    golden(str(caught.value).replace(str(tmp_path), "."))


def test_afresh_finds_nothing():
    records.put(RECORD)
    with records.afresh():
        assert records.find(FACTS) is None
    assert records.find(FACTS) == RECORD
