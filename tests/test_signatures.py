"""The comparison of signatures with TensorFlow 1.15 is right, and what it finds does not get worse."""

import fnmatch
import importlib
import inspect
import subprocess
import sys
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

import pytest

import staticgraph as sg
from staticgraph.tf1.compat import namespace
from surface import floors, report, walk
from surface.explained import EXPLAINED, reason
from surface.parameters import differences, parse
from surface.score import CALLED, DATA, Grade, recorded, total, verdict, verdicts

ROOT = Path(__file__).resolve().parent.parent
SURFACE = recorded()
FLOORS = floors.load()


@pytest.fixture(scope="module")
def found():
    """The verdicts for each package that has floors. They need no hints of errors, which take long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(namespace.Tree, "nearest", lambda tree, dotted: [])
        return {name: verdicts(importlib.import_module(name), SURFACE) for name in FLOORS}


class TestPackages:
    """Packages as their users get them."""

    @pytest.mark.parametrize("package", FLOORS)
    def test_no_module_has_lost(self, found, package):
        fallen = floors.fallen(found[package], FLOORS[package])
        assert not fallen, f"modules with a lower score than they had (was, is): {fallen}"

    def test_each_difference_has_a_reason(self, found):
        partial = {one.path: one for each in found.values() for one in each if one.grade is Grade.PARTIAL}
        new = {name: report.described(one) for name, one in partial.items() if reason(name) is None}
        assert not new, "make these as TensorFlow has them, or give the reason in tools/surface/explained.py"
        stale = [pattern for pattern in EXPLAINED if not fnmatch.filter(partial, pattern)]
        assert not stale, "these differ no more: take them out of tools/surface/explained.py"

    def test_ops_show_their_parameters(self):
        assert str(inspect.signature(sg.nn.relu)) == "(features, name=None)"
        assert str(inspect.signature(sg.squared_difference)) == "(x, y, name=None)"


class TestRecord:
    """The recorded data."""

    def test_each_offer_can_be_read(self):
        offers = [offer for names in SURFACE["modules"].values() for offer in names.values()]
        assert len(offers) > 4000
        assert {offer.partition("(")[0] for offer in offers} == {*CALLED, "module", "value"}
        assert all(parse(offer) for offer in offers if "(" in offer)

    def test_it_is_tensorflow(self):
        names = SURFACE["modules"]["nn"]
        assert SURFACE["version"] == "1.15.5"
        assert names["dropout"] == "def(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None)"
        assert SURFACE["modules"]["."]["Session"] == "class(target='', graph=None, config=None)"
        assert "keep_prob" in SURFACE["deprecated"]["nn.dropout"]

    def test_used_and_deprecated_names_are_among_the_recorded(self):
        known = {walk.dotted(module, name) for module, names in SURFACE["modules"].items() for name in names}
        assert SURFACE["uses"].keys() <= known
        assert SURFACE["deprecated"].keys() <= known
        assert SURFACE["uses"]["Session"] > SURFACE["uses"]["nn.relu"] > 100

    def test_it_is_small(self):
        assert DATA.stat().st_size < 300_000


class TestWalk:
    def test_methods_lose_their_first_parameter_and_static_ones_do_not(self):
        class Model:
            def __init__(self, size, *, seed=None): ...
            def fit(self, data, epochs=1): ...
            @classmethod
            def load(cls, path): ...
            @staticmethod
            def sizes(first, *rest): ...

        offers = {name: walk.offer(Model, name) for name in walk.public(Model)}
        assert offers == {
            "fit": "def(data, epochs=1)",
            "load": "def(path)",
            "sizes": "def(first, *rest)",
        }
        assert walk.offer(SimpleNamespace(Model=Model), "Model") == "class(size, *, seed=None)"

    def test_defaults_are_spelled_alike(self):
        class Color(Enum):
            RED = 1

        zeros = sg.zeros_initializer()

        def draw(a=sg.float32, b=(1, 2), c=Color.RED, d=lambda: 0, e=zeros, f=sg.nn.relu): ...

        expected = "(a=tf.float32, b=(1, 2), c=Color.RED, d=lambda_, e=Zeros, f=relu)"
        assert walk.signature(draw) == expected
        assert walk.spelling([1, 2]) == walk.spelling((1, 2)) == parse("def" + expected).named["b"].default

    def test_annotations_do_not_count(self):
        def scale(x: float, by: float = 2.0) -> float: ...

        assert walk.signature(scale) == "(x, by=2.0)"


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ("x, axis=None", "x, axis=None", {}),
        ("x, axis=None", "x=None, axis=None", {}),
        ("x, axis=None", "x, axis=None, more=1, *, seed=0", {}),
        ("x, **kwargs", "x, name=None", {}),
        ("*args, **kwargs", "x", {}),
        ("x, axis=None", "x, more=1, axis=None", {"axis": "at place 3, not 2"}),
        ("x, axis=None", "x, *, axis=None", {"axis": "by name only"}),
        ("x, axis=None", "x, axis", {"axis": "has to be given"}),
        ("x, axis=None", "x, axis=0", {"axis": "default 0, not None"}),
        ("x, axis=None", "x", {"axis": "not taken"}),
        ("x", "x, /", {"x": "by place only"}),
        ("x", "x, more", {"more": "has to be given"}),
        ("x, axis=None", "x, *args, **kwargs", {}),
        ("x, axis=None", "x, **kwargs", {"axis": "by name only"}),
        ("x, *, axis=None", "x, **kwargs", {}),
        ("x, **kwargs", "x", {"**": "not taken"}),
        ("x, *args", "x", {"*": "not taken"}),
        ("*, x=0", "y=1, x=0", {}),
    ],
)
def test_what_differs_for_a_caller(theirs, ours, expected):
    assert differences(parse(f"def({theirs})"), parse(f"def({ours})")) == expected


class TestScore:
    """Four names: one equal, one with half of the parameters, one of another kind, one missing."""

    package = SimpleNamespace(same=lambda x: x, half=lambda x: x, nn=SimpleNamespace(number=1))

    @pytest.fixture
    def surface(self):
        root = {"same": "def(x)", "half": "def(x, y)", "gone": "value"}
        return {"modules": {".": root, "nn": {"number": "def(x)"}}, "uses": {"same": 3, "gone": 1}}

    def test_grades(self, surface):
        assert [(one.path, one.grade, one.score) for one in verdicts(self.package, surface)] == [
            ("same", Grade.FULL, 1.0),
            ("half", Grade.PARTIAL, 0.5),
            ("gone", Grade.MISSING, 0.0),
            ("nn.number", Grade.PARTIAL, 0.0),
        ]

    def test_totals(self, surface):
        of = total(verdicts(self.package, surface))
        assert (of.names, of.present, of.score, of.weighted) == (4, 75.0, 37.5, 75.0)

    def test_a_name_that_vanishes_is_noticed(self, surface):
        before = floors.reached(verdicts(self.package, surface))
        assert before == {".": 50.0, "all": 37.5}
        after = verdicts(SimpleNamespace(half=self.package.half), surface)
        assert floors.fallen(after, before) == {".": (50.0, 16.6), "all": (37.5, 12.5)}
        assert not floors.fallen(verdicts(self.package, surface), before)

    def test_parameters_that_cannot_be_seen_are_no_agreement(self):
        one = verdict(SimpleNamespace(largest=max), ".", "largest", "def(x)")
        assert one.grade is Grade.PARTIAL

    def test_page(self, surface):
        page = report.markdown({"package": verdicts(self.package, surface)})
        assert "| `.` | 3 | 66.7 | 1 | 0 | 1 | 1 | 50.0 | 75.0 |" in page
        assert "`gone` (1)" in page


def test_command_line(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, ROOT / "tools/signatures.py", "--package", "staticgraph"]
    listed = subprocess.run([*command, "--missing", "losses"], capture_output=True, text=True, check=True)
    assert "missing" not in listed.stdout
    written = subprocess.run([*command, "--markdown", page], capture_output=True, text=True, check=True)
    assert written.stdout.splitlines()[-2].startswith("all")
    assert page.read_text().startswith("# Signatures")
    refused = subprocess.run([*command, "--missing", "nothing"], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "no module nothing" in refused.stderr
