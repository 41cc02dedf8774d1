"""Curves of a training: what a picture shows of odd numbers."""

import math
from xml.etree import ElementTree

import pytest

import staticgraph as sg
from staticgraph.draw.curves import Curves, ticks


def lines(curves):
    root = ElementTree.fromstring(curves.svg)
    return list(root.iter("{http://www.w3.org/2000/svg}polyline"))


def test_each_metric_has_a_panel_with_its_validation():
    history = sg.keras.callbacks.History()
    for epoch in range(3):
        history.on_epoch_end(
            epoch, {"loss": 3.0 - epoch, "acc": 0.1 * epoch, "val_loss": 4.0, "val_acc": 0.2}
        )
    assert repr(history.plot()) == "<Curves of loss, acc>"
    assert len(lines(history.plot())) == 4


@pytest.mark.parametrize(
    "values", [[], [1.0], [2.0, 2.0], [0.0, 0.0], [1.0, math.nan, 2.0, 3.0], [math.inf] * 2, [1e300, -1e300]]
)
def test_odd_numbers_are_drawn(values):
    svg = Curves({"loss": {"loss": values}}, "epoch").svg
    assert "nan" not in svg and "inf" not in svg
    ElementTree.fromstring(svg)


def test_a_gap_is_where_a_value_is_not_finite():
    assert len(lines(Curves({"loss": {"loss": [1.0, 2.0, math.nan, 2.0, 1.0]}}, "step"))) == 2


def test_names_are_no_markup():
    svg = Curves({"<b>": {"a & b": [1.0, 2.0], "c": [2.0, 1.0]}}, "step").svg
    assert "&lt;b&gt;" in svg and "a &amp; b" in svg


def test_a_file_ends_with_svg(tmp_path):
    curves = Curves({"loss": {"loss": [1.0, 2.0]}}, "epoch")
    curves.save(tmp_path / "loss.svg")
    assert (tmp_path / "loss.svg").read_text() == curves.svg
    with pytest.raises(ValueError, match=r"'loss\.png'"):
        curves.save(tmp_path / "loss.png")


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 300), (-3e-9, 4e-9), (0.999, 1.0), (1e17, 3e17)])
def test_ticks_are_few_and_inside(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 7 and min(found) >= low - 1e-9 * abs(high) and max(found) <= high * (1 + 1e-9)
