from __future__ import annotations

import xml.etree.ElementTree as ET

from op_kit import Give
from tilewright.op.core import value
from tilewright.op.zipping import zip


def drawing(op):
    return ET.fromstring(op._repr_html_())


def labels(op):
    return [node.text for node in drawing(op).iter("{http://www.w3.org/2000/svg}text")]


def test_a_chain_and_its_branches():
    op = zip(Give(1).map(str), value(2)).then(lambda a, b: value(a))
    assert sorted(labels(op)) == ["Give", "map", "then", "value", "zip"]
    assert len(list(drawing(op).iter("{http://www.w3.org/2000/svg}path"))) == 4
    op.close()


def test_it_says_that_it_has_not_run_and_where_it_was_built():
    op = Give(1)
    assert "not run; built at" in op._repr_html_()
    op.sync()
    assert "used by sync()" in op._repr_html_()


def test_names_are_escaped():
    op = type("<script>", (Give,), {})(1)
    assert "<script>" not in op._repr_html_()
    assert labels(op) == ["<script>"]


def test_long_chains_and_long_names_are_cut():
    op = type("A" * 100, (Give,), {})(1)
    assert labels(op)[0].endswith("…")
    for _ in range(500):
        op = op.map(str)
    assert len(labels(op)) == 40
    assert "earlier ops not shown" in op._repr_html_()
