"""Switches: the table, who may read the environment, and which choice counts."""

import ast
import threading
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from pages.switches_page import PAGE, page
from staticgraph.compiler.passes.pipeline import PIPELINE
from staticgraph.compiler.stages import NUMBERS
from staticgraph.runtime import switches
from staticgraph.runtime.switches import OPTIONAL_PASSES, SWITCHES, Settings

ROOT = Path(__file__).resolve().parent.parent.parent


def environment_names(path: Path) -> list[str]:
    """The names of our own variables in the code of a file, docstrings left out."""
    text = path.read_text()
    if "SG_" not in text:  # to parse all files takes seconds
        return []
    tree = ast.parse(text)
    constants = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [text for text in constants if text.startswith("SG_") and text.isidentifier()]


def test_only_the_table_knows_variables_of_the_environment():
    files = [p for folder in ("staticgraph", "runtime", "compiler") for p in (ROOT / folder).rglob("*.py")]
    assert len(files) > 100
    assert {str(p.relative_to(ROOT)) for p in files if environment_names(p)} == {"runtime/switches.py"}


def test_the_page_is_made_of_the_table():
    assert PAGE.read_text() == page(), "run python tools/pages/switches_page.py"
    assert all(f"`{switch.variable}`" in page() for switch in SWITCHES.values())


def test_settings_are_the_switches_of_sessions():
    mine = [name for name, switch in SWITCHES.items() if switch.of_session]
    assert sorted(Settings.__dataclass_fields__) == sorted(mine)
    for name in mine:
        assert getattr(Settings(), name) == SWITCHES[name].initial


def test_optional_passes_exist():
    names = {each.__name__ for each in PIPELINE.passes}
    assert OPTIONAL_PASSES == (
        "fewer_products", "simplify", "sink_reshapes", "side_by_side", "fuse", "join", "size_classes",
    )  # fmt: skip
    assert set(OPTIONAL_PASSES) - {"fuse", "join", "size_classes"} <= names


TEXTS = {
    "all_frames": ("1", True),
    "cache_dir": ("/some/where", "/some/where"),
    "check_bounds": ("0", False),
    "check_nan": ("1", True),
    "cudnn": ("0", False),
    "data_workers": ("0", False),
    "dump": ("out", "out"),
    "failures": ("failed", "failed"),
    "improve": ("0", False),
    "math": ("fast", "fast"),
    "memory_limit": ("4096", 4096),
    "no_compile": ("1", True),
    "open_sizes": ("1", True),
    "passes": ("-fuse, -join", frozenset({"fuse", "join"})),
    "device": ("GPU:1", "gpu:1"),
    "matmul_precision": ("tf32", "tf32"),
    "overlap": ("0", False),
    "progress": ("0", False),
    "threads": ("3", 3),
    "trace": ("rules", frozenset({"rules"})),
    "tune": ("1", True),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_the_environment_chooses(name, monkeypatch):
    text, value = TEXTS[name]
    monkeypatch.setenv(SWITCHES[name].variable, text)
    assert switches.current(name) == value
    monkeypatch.delenv(SWITCHES[name].variable)
    assert switches.current(name) == SWITCHES[name].initial


# fmt: off
WRONG = {
    "check_bounds": "yes",
    "check_nan": "no", "cudnn": "off", "data_workers": "2", "device": "tpu", "math": "sloppy",
    "matmul_precision": "float16", "memory_limit": "-1", "no_compile": "maybe",
    "open_sizes": "all", "overlap": "some",
    "passes": "fuse", "progress": "bar", "threads": "0", "trace": "everything", "tune": "fast",
}
# fmt: on


@pytest.mark.parametrize("name", WRONG)
def test_an_environment_that_makes_no_sense_is_a_warning(name, monkeypatch):
    monkeypatch.setenv(SWITCHES[name].variable, WRONG[name])
    switches._parsed.cache_clear()
    with pytest.warns(RuntimeWarning, match=f"SG_{name.upper()}='{WRONG[name]}': expected"):
        assert switches.current(name) == SWITCHES[name].initial


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_an_error(name):
    with (
        pytest.raises((TypeError, ValueError), match=f"^{name} is .*, it must be"),
        sg.options(**{name: WRONG[name]}),
    ):
        pass


def test_an_unknown_switch():
    with pytest.raises(TypeError, match="there is no switch 'speed'"), sg.options(speed=2):
        pass


def test_the_innermost_choice_counts(monkeypatch):
    monkeypatch.setenv("SG_MEMORY_LIMIT", "1000")
    assert sg.Session().settings.memory_limit == 1000
    with sg.options(memory_limit=2000):
        kept = sg.Session()
        assert kept.settings.memory_limit == 2000
        with sg.options(memory_limit=3000):
            assert sg.Session().settings.memory_limit == 3000
            assert sg.Session(memory_limit=4000).settings.memory_limit == 4000
        assert sg.Session().settings.memory_limit == 2000
    assert sg.Session().settings.memory_limit == 1000
    assert kept.settings.memory_limit == 2000


def test_a_context_is_for_the_sessions_of_its_own_thread():
    found = []
    with sg.options(math="fast"):
        thread = threading.Thread(target=lambda: found.append(sg.Session().settings.math))
        thread.start()
        thread.join()
    assert found == ["precise"]


def test_process_switches_end_with_the_context(tmp_path, monkeypatch):
    monkeypatch.setenv("SG_CACHE_DIR", "")
    before = sg.get_num_threads()
    with sg.options(threads=7, cache_dir=tmp_path, data_workers=False):
        assert (sg.get_num_threads(), switches.cache_folder()) == (7, tmp_path)
        assert switches.current("data_workers") is False
        with sg.options(threads=3):
            assert (sg.get_num_threads(), switches.cache_folder()) == (3, tmp_path)
        assert sg.get_num_threads() == 7
    assert (sg.get_num_threads(), switches.cache_folder()) == (before, None)
    assert switches.current("data_workers") is True


def test_a_context_that_fails_to_begin_changes_nothing():
    before = sg.get_num_threads()
    with pytest.raises(ValueError, match="math is 'x'"), sg.options(threads=5, math="x"):
        pass
    assert sg.get_num_threads() == before


def softmax_loss():
    x = sg.placeholder(sg.float32, [None, 6])
    w = sg.Variable(np.linspace(-1, 1, 24).reshape(6, 4), dtype=sg.float32)
    loss = sg.reduce_sum(sg.nn.softmax(sg.tanh(sg.matmul(x, w))) ** 2)
    return x, [loss, *sg.gradients(loss, [w])]


@pytest.mark.parametrize(
    "left_out",
    [
        "-fuse",
        "-join",
        "-simplify",
        "-sink_reshapes",
        "-side_by_side",
        "-fewer_products",
        "-fuse,-join,-simplify",
    ],
)
def test_passes_that_are_left_out_change_no_result(left_out, rng):
    x, fetches = softmax_loss()
    batch, made, kernels = rng.normal(size=(5, 6)), [], []
    for passes in ("", left_out):
        with sg.Session(passes=passes) as sess:
            sess.run(sg.global_variables_initializer())
            made.append(sess.run(fetches, {x: batch}))
            kernels.append(len(sess.plan(fetches, {x: batch}).kernels))
    for plain, other in zip(*made, strict=True):
        np.testing.assert_allclose(plain, other, rtol=2e-5, atol=1e-6)
    assert kernels[1] >= kernels[0]
    assert kernels[1] > kernels[0] or "-fuse,-join" not in left_out


def test_loops_are_compiled_without_the_passes_too(rng):
    x = sg.placeholder(sg.float32, [3])
    y = sg.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, sg.tanh(s * 2.0 + x) * s), [0, x])[1]
    values, counts = [], []
    for passes in (None, "-fuse,-join"):
        with sg.Session(passes=passes) as sess:
            values.append(sess.run(y, {x: [0.5, -1.0, 2.0]}))
            counts.append(len(sess.plan(y, {x: [0.5, -1.0, 2.0]}).kernels))
    np.testing.assert_allclose(*values, rtol=1e-6)
    assert counts[1] > counts[0]


def test_fast_and_precise_sessions_side_by_side(rng):
    x = sg.placeholder(sg.float32, [4000])
    batch = rng.normal(size=4000).astype(np.float32)
    with sg.Session(math="fast") as fast, sg.Session(math="precise") as precise:
        values = [sess.run(sg.tanh(x), {x: batch}) for sess in (fast, precise)]
    assert (values[0] != values[1]).any()
    np.testing.assert_allclose(*values, rtol=1e-6)


def test_a_dump_shows_each_stage(tmp_path):
    x, fetches = softmax_loss()
    with sg.Session(dump=tmp_path / "out") as sess:
        sess.run(sg.global_variables_initializer())
        sess.run(fetches, {x: np.ones((2, 6))})
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == 2
    names = [path.name for path in sorted(folders[1].iterdir())]
    shown = [line.split()[:2] for line in (folders[1] / "stages.txt").read_text().splitlines()]
    files = sorted(file for _, file in shown if file != "unchanged")
    assert names == ["00-graph.txt", *files, "code.ll", "kernels.txt", "stages.txt"]
    assert files == [
        f"{NUMBERS[name]:02}-{name}.txt"
        for name in NUMBERS
        if [name, "unchanged"] not in shown and name in dict(shown)
    ]
    assert {each.__name__ for each in PIPELINE.passes} <= {name for name, _ in shown}
    assert ["loops", "unchanged"] in shown and ["defined", "unchanged"] in shown
    texts = {path.stem.split("-")[-1]: path.read_text() for path in folders[1].iterdir()}
    assert [name for name, _ in shown][:3] == ["prune", "capture", "merge_loops"]
    assert "Softmax(" in texts["prune"] and "-> " in texts["capture"]
    assert "softmax(" in texts["graph"] and "softmax(" not in texts["expand"]
    assert "reduce_max" in texts["fuse"] and "launch " in texts["program"]
    assert texts["vectorize"].startswith("# kernel ") and " simd:" in texts["vectorize"]
    assert "define " in texts["print_llvm"] and "define " in texts["emit_step"]
    assert "kernel loops(" in texts["kernels"] and "test_switches.py" in texts["kernels"]
    assert "define " in texts["code"]


def test_a_dump_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        sg.Session(dump=tmp_path / "file") as sess,
        pytest.raises(sg.errors.SaveError, match="cannot dump to"),
    ):
        sess.run(sg.constant(1.0) + sg.placeholder_with_default(1.0, []))


def test_what_is_traced(capsys):
    x = sg.placeholder(sg.float32, [None])
    y = sg.exp(x) - 1.0
    with sg.Session(trace="rules, compiles") as sess:
        sess.run(y, {x: [1.0]})
    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("rule ") and "-> expm1, test_switches.py:" in line for line in lines)
    assert [line for line in lines if line.startswith("compiled sub in ")] == lines[-1:]
    with sg.Session() as sess:
        sess.run(y, {x: [1.0]})
    assert capsys.readouterr().err == ""
