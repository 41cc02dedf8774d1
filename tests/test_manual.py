"""The manual builds without a warning, and its reference has a section for every op and every public name."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages import api, makers, markdown, names, ops
from pages.examples import shown_files
from pages.families import families, sections
from pages.sources import ROOT
from staticgraph.compiler.graph.opdef import OPS
from tests.golden.differences import DIFFERENCES

needs_sphinx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo")),
    reason='the manual is built by Sphinx: pip install "staticgraph[docs]"',
)


@pytest.fixture(scope="module")
def public():
    return names.names(names.modules())


@pytest.fixture(scope="module")
def reference(public):
    """The pages of operations by their paths. All public modules are imported: some define ops."""
    return ops.pages(makers.makers(public))


def test_every_op_has_one_section_and_is_listed(reference):
    index = reference[f"{ops.FOLDER}/index.md"]
    text = "\n".join(reference.values())
    for name, op in OPS.items():
        assert text.count(f"({ops.label(op)})=\n## {name}\n") == 1, name
        assert f"[`{name}`](#{ops.label(op)})" in index


def test_a_section_tells_types_gradient_and_loops(reference):
    text = reference[f"{ops.FOLDER}/elementwise_activation.md"]
    section = text[text.index("## leaky_relu") : text.index("## elu")]
    assert "`sg.nn.leaky_relu`" in section
    assert "`features`: floating numbers" in section
    assert "`float32[3, 4], alpha=0.2 → float32[3, 4]`" in section
    assert "a formula of its own" in section
    assert "kernel leaky_relu(" in section


def test_every_family_is_in_one_section(reference):
    listed = [module for modules in sections().values() for module in modules]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(families())


def test_every_public_name_is_told_about_once(public):
    pages = api.pages(names.modules(), public)
    heads = re.findall(r"^`+{py:(?:function|class)} ([\w.]+)", "\n".join(pages.values()), re.MULTILINE)
    told = [name.full for name in names.first_names(public).values()]
    assert len(set(heads)) == len(heads)
    assert set(told) <= set(heads)


def test_all_that_is_public_has_a_docstring(public):
    assert not [name.full for name in public if not (name.value.__doc__ or "").strip()]


def test_differences_from_tensorflow_are_all_listed(request):
    page = ROOT / "docs" / "from_tensorflow.md"
    listed = "".join(f"* *{case.partition(': ')[2]}*: {text}\n" for case, text in DIFFERENCES.items())
    before, begin, rest = page.read_text().partition("<!-- differences -->\n")
    _, end, after = rest.partition("<!-- end of differences -->\n")
    assert begin and end
    if request.config.getoption("--update-golden"):
        page.write_text(before + begin + listed + end + after)
    assert page.read_text() == before + begin + listed + end + after


def test_a_docstring_is_shown_as_it_is_written():
    doc = """x * y of a[0], see `a * b`.

    * one *item

        code = {}

    >>> 1 + 1
    2
    """
    assert markdown.docstring(doc.replace("\n    ", "\n")) == (
        "x \\* y of a\\[0\\], see `a * b`.\n\n* one \\*item\n\n```text\ncode = {}\n```\n\n"
        "```pycon\n>>> 1 + 1\n2\n```"
    )


def test_pictures_and_frames_of_a_page_are_found():
    text = '![A net](net.svg) [a page](page.md) <iframe src="net.html"></iframe> ![](https://a.b/c.png)'
    assert shown_files(text) == ["net.svg", "net.html"]


@needs_sphinx
@pytest.mark.takes_long
def test_the_manual_builds_and_needs_no_network(tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "manual.py"), "--output", str(tmp_path / "manual")]
    command += ["--jobs", "1"]  # the tests take all cores already
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path / "manual"): path.read_text() for path in tmp_path.rglob("*.html")}
    for name in (
        "index",
        "docs/tutorial/1_graph",
        "docs/how_it_works",
        "reference/ops/linear_algebra_products",
        "CHANGELOG",
    ):
        assert Path(f"{name}.html") in pages
    loaded = re.compile(r"<(?:script|img|iframe|link)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    assert not [found for text in pages.values() for found in loaded.findall(text)]
    assert (tmp_path / "manual" / "docs" / "how_page.html").exists()
    assert (tmp_path / "manual" / "_images" / "how_fused.svg").exists()
