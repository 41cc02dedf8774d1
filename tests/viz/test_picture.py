"""From a drawing to a file: both engines, safe SVG, formats, and what happens if a package is missing."""

import re
import subprocess
import sys
from collections import Counter
from xml.etree import ElementTree

import graphviz
import pytest

import staticgraph as sg
from staticgraph.draw.model import Box, Drawing, Link, Role
from staticgraph.draw.palette import entries
from staticgraph.draw.picture import ENGINES, Picture, RendererMissingError
from tests.viz.graphs import drawn, layer, outputs_of, training

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("1")</script> & \\N \\" ]]> {a|b} \x07 é'


@pytest.mark.parametrize("engine", ENGINES)
def test_the_svg_has_boxes_scopes_and_tooltips(engine):
    root = ElementTree.fromstring(sg.visualize(layer(), max_nodes=None, engine=engine).svg)
    groups = {
        kind: [g for g in root.iter(f"{SVG}g") if g.get("class") == kind]
        for kind in ("node", "edge", "cluster")
    }
    assert len(groups["node"]) == 6 and len(groups["edge"]) == 5
    tips = [g.findtext(f"{SVG}title") for g in groups["node"]]
    assert sum("graphs.py:" in tip for tip in tips) == 6
    assert any("float32[64, 10]" in g.findtext(f"{SVG}title") for g in groups["edge"])
    assert "layer" in [g.findtext(f"{SVG}title") for g in groups["cluster"]]
    assert root.get("role") == "img" and root.findtext(f"{SVG}title") == "layer/y"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_svg_refers_to_nothing_outside(engine):
    svg = sg.visualize(training(), engine=engine).svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert "<a" not in re.sub(r"<a[a-z]", "", svg) and "href" not in svg and "DOCTYPE" not in svg


@pytest.mark.parametrize("engine", ENGINES)
def test_text_from_outside_cannot_become_markup(engine):
    boxes = (
        Box("a", (HOSTILE,), HOSTILE, Role.OP, 0, (HOSTILE,), HOSTILE),
        Box("b", (HOSTILE,), "<b>", Role.OP, 1, (), "<table>"),
        Box("c", (), "c", Role.OP, 2),
    )
    links = (Link("a", "b", "t", HOSTILE, HOSTILE), Link("b", "c", "u", "<b>", "<b>"))
    drawing = Drawing(boxes, links, title=HOSTILE, notes=(HOSTILE,))
    picture = ElementTree.fromstring(Picture(drawing, engine=engine).svg)
    assert not [e for e in picture.iter() if e.tag.rpartition("}")[2] in ("script", "table", "b", "a")]
    exactly = HOSTILE.replace("\x07", "\ufffd")
    shown = [text.text.strip() for text in picture.iter(f"{SVG}text")]
    assert shown.count(exactly) == 5  # heading, remark, scope, line of a box, arrow
    tips = [g.findtext(f"{SVG}title") for g in picture.iter(f"{SVG}g") if g.get("class") in ("node", "edge")]
    assert Counter(tips) == {exactly: 2, "<table>": 1, "<b>": 1, None: 1}
    assert picture.findtext(f"{SVG}title") == exactly


def test_the_legend_has_an_entry_for_what_occurs_and_for_nothing_else():
    assert [e.text for e in entries(drawn(layer()))] == [
        "placeholder (rounded)",
        "variable (cylinder)",
        "fetched",
    ]
    texts = [e.text for e in entries(drawn(*training()))]
    assert "gradients (octagon)" in texts and "assignment (double line)" in texts and "runs after" in texts
    assert "random (hexagon)" not in texts and "constant" not in texts
    assert "placeholder (rounded)" not in sg.visualize(layer(), legend=False).dot


@pytest.mark.takes_long
@pytest.mark.parametrize("stage", ["user", "optimized", "fused"])
def test_the_same_graph_gives_the_same_bytes(stage):
    program = (
        "from tests.viz.graphs import sg, training; "
        f"made = sg.visualize(training(), stage={stage!r}); print(made.dot, made.svg)"
    )
    made = outputs_of(program)
    assert len(made) == 1 and "cluster" in made.pop()


def test_each_ending_gives_its_format_and_others_are_refused(tmp_path):
    y = layer()
    begins = {"net.svg": b"<svg", "net.PNG": b"\x89PNG", "net.pdf": b"%PDF", "net.dot": b"digraph"}
    for name, begin in begins.items():
        sg.visualize(y, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begin)
    with pytest.raises(ValueError, match=r"use one of .svg, .png, .pdf, .dot"):
        sg.visualize(y, tmp_path / "net.jpeg")


def test_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(sg.errors.SaveError, match="cannot be written: No such file or directory"):
        sg.visualize(layer(), tmp_path / "missing" / "net.svg")


def test_without_a_package_another_format_is_written_and_the_cure_is_named(tmp_path, monkeypatch):
    def absent(*_, **__):
        raise graphviz.ExecutableNotFound(["dot"])

    monkeypatch.setattr(graphviz.Source, "pipe", absent)
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    for name, engine, left in (
        ("a.png", "layered", "a.svg"),
        ("b.pdf", "layered", "b.svg"),
        ("c.png", "dot", "c.dot"),
        ("d.svg", "dot", "d.dot"),
    ):
        with pytest.raises(RendererMissingError, match=rf"pip install .*\n.*{left}") as caught:
            sg.visualize(layer(), tmp_path / name, engine=engine)
        assert ("apt install graphviz" in str(caught.value)) == (name != "a.png")
        assert not (tmp_path / name).exists() and (tmp_path / left).stat().st_size > 100
    sg.visualize(layer(), tmp_path / "e.svg")
    assert (tmp_path / "e.svg").read_text().startswith("<svg")


def test_an_unknown_engine_is_refused():
    with pytest.raises(ValueError, match=r"no engine 'neato'[\s\S]*one of 'layered', 'dot'"):
        sg.visualize(layer(), engine="neato")


def test_notebooks_show_the_picture():
    picture = sg.visualize({"a": [layer()]}, title="My net")
    assert picture._repr_svg_().startswith("<svg") and "My net" in picture._repr_svg_()
    assert repr(picture) == "<Picture 'My net' of 2 boxes>"


def test_the_drawing_is_not_loaded_with_the_package():
    program = "import sys, staticgraph; print('graphviz' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_models_and_files_are_drawn_as_what_they_compute(tmp_path):
    layers = sg.keras.layers
    model = sg.keras.Sequential([layers.Dense(4, activation="relu", input_shape=(3,)), layers.Dense(2)])
    assert [box for box in ("dense", "dense_1") if box in sg.visualize(model).dot] == ["dense", "dense_1"]
    with sg.Session() as session:
        y = layer()
        session.run(sg.global_variables_initializer())
        sg.save(tmp_path / "net.sg", {"y": y}, session=session)
        model = sg.onnx.export({"y": y}, session=session)
        (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
        folder = str(tmp_path / "saved")
        x = sg.get_default_graph().get_tensor_by_name("x:0")
        sg.saved_model.simple_save(session, folder, {"x": x}, {"y": y})
    drawn_of = [sg.visualize(what) for what in (sg.load(tmp_path / "net.sg"), tmp_path / "net.sg", folder)]
    assert {picture.boxes for picture in drawn_of} == {2}
    assert sg.visualize(tmp_path / "net.onnx", stage="fused", feeds={"x:0": [3, 64]}).boxes
    with pytest.raises(sg.errors.NotFoundError):
        sg.visualize(tmp_path / "missing.sg")
