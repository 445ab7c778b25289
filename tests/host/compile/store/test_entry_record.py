"""A record's name follows from its facts alone, and two records can be told apart in words."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from tilewright.compile.store.entry import Record, differences, facts_of, is_name

FACTS = {"kernel": "add", "cpu": "znver4", "limit": 64, "nothing": None, "ir": ["a", 'b "c" é']}


def test_the_text_is_json_and_comes_back():
    record = Record.of(FACTS)
    assert json.loads(record.text) == {**FACTS, "format": 1}
    assert facts_of(record.text) == {**FACTS, "format": 1}


def test_the_name_is_the_hash_of_the_text():
    record = Record.of(FACTS)
    assert record.name == sha256(record.text).hexdigest() == record.digest.hex()
    assert is_name(record.name)


def test_the_order_of_facts_does_not_matter():
    assert Record.of(dict(reversed(FACTS.items()))) == Record.of(FACTS)


@pytest.mark.parametrize(
    "change",
    [
        {"cpu": "znver3"}, {"limit": 65}, {"limit": "64"}, {"nothing": ""}, {"more": 1},
        {"ir": ["a"]}, {"ir": ['ab "c" é']}, {"ir": ["a", 'b "c" é', ""]}, {"ir": 'a b "c" é'},
    ],
    ids=str,
)  # fmt: skip
def test_every_fact_counts(change):
    assert Record.of({**FACTS, **change}).name != Record.of(FACTS).name


def test_people_can_read_it():
    lines = Record.of(FACTS).text.decode().splitlines()
    assert '"cpu": "znver4",' in lines
    assert '  "a",' in lines


@pytest.mark.parametrize("text", [b"", b"[]", b"1", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011  (json has its own kind of it)
        facts_of(text)


@pytest.mark.parametrize(
    "name", ["", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "../" + "a" * 61, "\u0661" * 64]
)
def test_names_are_64_hex_digits(name):
    assert not is_name(name)


def test_differences_in_words():
    old = {"cpu": "znver4", "ir": ["a", "b"], "same": 1, "gone": 1}
    new = {"cpu": "znver3", "ir": ["a", "c"], "same": 1, "came": "x" * 99}
    assert differences(old, new) == [
        f"came: None -> {'x' * 57}...",
        "cpu: znver4 -> znver3",
        "gone: 1 -> None",
        "ir line 2: b -> c",
    ]
    assert differences({"ir": ["a"]}, {"ir": ["a", "b"]}) == ["ir: 1 -> 2 lines"]
    assert differences(old, old) == []
