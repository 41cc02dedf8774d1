"""The file: self-contained, the same every time, safe whatever is in the graph, and clear where it fails."""

import base64
import hashlib
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.__main__ import main
from staticgraph.draw.page.page import packed, unpacked
from tests.viz.graphs import layer, outputs_of, training

HOSTILE = '</script><script>alert("1")</script>&amp;<!--\\N'


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.setdefault(self.tags[-1][0] if self.tags else "", []).append(data)


def test_the_page_needs_nothing_from_outside_and_allows_nothing_else():
    page = Tags(sg.show(training()).html)
    refused = {"src", "href", "srcset", "action", "style", "onclick"}
    assert not [attrs for _, attrs in page.tags if refused & set(attrs)]
    policy = next(a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none'; ")
    scripts = [text for text in page.texts["script"] if "use strict" in text]
    for kind, (text,) in (("style", page.texts["style"][:1]), ("script", scripts)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    markup = r"innerHTML|insertAdjacentHTML|document\.write|\beval\b|fetch\(|http:(?!//www\.w3\.org/2000/svg)"
    assert not re.search(markup, scripts[0])


def test_text_from_outside_cannot_become_markup(tmp_path):
    plain = Tags(sg.show(sg.placeholder(sg.float32, [2], name="x") * 2.0, title="x").html).tags
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [2], name="x")
        page = sg.show({HOSTILE: x * 2.0}, title=HOSTILE)
        shown = Tags(page.html)
    assert [tag for tag, _ in shown.tags] == [tag for tag, _ in plain]
    assert HOSTILE in shown.texts["title"] and page.data["title"] == HOSTILE
    assert not re.search(r"<script>alert", page._repr_html_())
    assert unpacked(packed({HOSTILE: [HOSTILE]})) == {HOSTILE: [HOSTILE]}
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed({HOSTILE: 1}))


def test_text_that_is_no_unicode_is_shown_with_marks(tmp_path):
    """As names of files can be that Python could not decode."""
    sg.show(layer(), tmp_path / "net.html", title="a\udc80b")
    assert "<title>a\ufffdb</title>" in (tmp_path / "net.html").read_text()


@pytest.mark.takes_long
def test_the_same_graph_gives_the_same_bytes():
    program = (
        "import hashlib; from tests.viz.graphs import sg, training; "
        "print(hashlib.sha256(sg.show(training()).html.encode()).hexdigest())"
    )
    made = outputs_of(program)
    assert len(made) == 1 and len(made.pop()) == 65


def test_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(sg.errors.SaveError, match=r"show: .* cannot be written: No such file or directory"):
        sg.show(layer(), tmp_path / "missing" / "net.html")


def test_nothing_to_show():
    layer()
    with pytest.raises(sg.errors.FetchError, match="nothing to draw"):
        sg.show([])


def test_notebooks_show_the_page_in_a_frame_of_its_own():
    page = sg.show(layer(), title="My net")
    assert page._repr_html_().startswith('<iframe sandbox="allow-scripts allow-downloads"')
    assert repr(page) == "<Page 'My net' of 3 stages>"


def test_the_page_is_not_loaded_with_the_package():
    modules = ("staticgraph.draw.page.page", "graphviz")
    program = f"import sys, staticgraph; print(*[name in sys.modules for name in {modules}])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.fixture
def saved(tmp_path):
    x = sg.placeholder(sg.float32, [None, 4], name="x")
    w = sg.Variable(np.ones((4, 3), np.float32), name="w")
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        sg.save(tmp_path / "net.sg", outputs={"y": sg.matmul(x, w)}, session=session)
    return tmp_path / "net.sg"


def test_the_command_writes_the_page_of_a_saved_graph(saved, capsys):
    out = saved.with_suffix(".html")
    assert main(["show", str(saved), "--html", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 3 stages, 1 kernel\n"
    assert "<title>net.sg</title>" in out.read_text()


def test_the_command_writes_the_page_beside_the_graph(saved):
    assert main(["show", str(saved)]) == 0
    assert "<title>net.sg</title>" in saved.with_suffix(".html").read_text()


def test_the_command_says_what_went_wrong(saved, capsys):
    assert main(["show", str(saved), "--html", str(saved.parent / "missing" / "net.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_page_is_about_all_that_a_picture_may_be_about(tmp_path):
    layers = sg.keras.layers
    model = sg.keras.Sequential([layers.Dense(4, activation="relu", input_shape=(3,)), layers.Dense(2)])
    stages = [stage["name"] for stage in sg.show(model).data["stages"]]
    assert stages[0] == "user" and "fused" in stages
    y = layer()
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        sg.save(tmp_path / "net.sg", {"y": y}, session=session)
        (tmp_path / "net.onnx").write_bytes(sg.onnx.export({"y": y}, session=session).SerializeToString())
    for name in ("net.sg", "net.onnx"):
        page = sg.show(tmp_path / name, feeds={"x:0": [3, 64]})
        assert "fused" in [stage["name"] for stage in page.data["stages"]], name
