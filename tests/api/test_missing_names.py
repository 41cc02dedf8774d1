"""Names that are not there: the message tells where they are, or what does the same."""

import copy
import subprocess
import sys

import pytest

import staticgraph as sg
from staticgraph.namespaces import missing_names


def named(dotted: str) -> object:
    found: object = sg
    for part in dotted.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(
    "asked, told",
    [
        ("relu", "it is sg.nn.relu"),
        ("nn.reluu", "did you mean sg.nn.relu?"),
        ("nn.sofmax", "did you mean sg.nn.softmax?"),
        ("nn.Linear", "it is sg.layers.dense"),
        ("nn.attention", "it is sg.keras.layers.Attention"),
        ("optimizers", "it is sg.train"),
        ("train.AdamW", "it is sg.contrib.opt.AdamWOptimizer"),
        ("train.LBFGS", "it is sg.contrib.opt.ScipyOptimizerInterface"),
        ("train.warmup", "multiply the rate by sg.minimum"),
        ("data.DataSet", "it is sg.data.Dataset"),
        ("keras.layers.Desne", "did you mean sg.keras.layers.Dense?"),
        ("xavier_initializer", "it is sg.contrib.layers.xavier_initializer"),
        ("flags", "it is staticgraph.compat.tf1.flags"),
        ("Sesion", "did you mean sg.Session?"),
        ("layer", "did you mean sg.layers?"),
    ],
)
def test_the_hint(asked: str, told: str):
    package, _, name = asked.rpartition(".")
    with pytest.raises(AttributeError) as caught:
        named(asked)
    first, *rest = str(caught.value).splitlines()
    public = f"staticgraph.{package}" if package else "staticgraph"
    assert first == f"module {public!r} has no attribute {name!r}"
    assert f"hint: {told}" in "\n".join(rest)


def test_a_name_like_no_other_has_no_hint():
    with pytest.raises(AttributeError) as caught:
        sg.nn.qqqqqqqq
    assert "  hint: " not in str(caught.value)


def test_all_names_that_hints_tell_are_there():
    for name in missing_names._ELSEWHERE.values():
        if " " not in name:
            named(name)


def test_who_only_asks_does_not_search(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(missing_names, "hint", lambda *_: pytest.fail("the search ran"))
    assert not hasattr(sg.nn, "qqqqqqqq")
    assert getattr(sg, "qqqqqqqq", 3) == 3


def test_the_error_can_be_copied():
    with pytest.raises(AttributeError) as caught:
        sg.nn.reluu
    assert "sg.nn.relu" in str(copy.deepcopy(caught.value))


@pytest.mark.takes_long
@pytest.mark.parametrize(
    "name, hint",
    [
        ("train.AdamW", "it is sg.contrib.opt.AdamWOptimizer"),
        ("contrib.optt", "nearest: tf.contrib.opt"),
        ("compat.tf1.nn.reluu", "nearest: tf.nn.relu"),
    ],
)
def test_the_traceback_shows_the_users_line_alone(tmp_path, name, hint):
    script = tmp_path / "script.py"
    script.write_text(f"import staticgraph as sg\nimport staticgraph.compat.tf1\nsg.{name}\n")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.stderr.count('File "') == 1
    assert "script.py:3" in done.stderr
    assert f"hint: {hint}" in done.stderr
    assert "Did you mean" not in done.stderr


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_is_that_of_pytorch(approximate: bool):
    """Values of torch.nn.functional.gelu 2.13.0 in float64."""
    expected = {
        False: [-0.00404969409, -0.15865525393, 0.0, 0.34573123064, 2.99595030591],
        True: [-0.00363739208, -0.15880800939, 0.0, 0.34571400983, 2.99636260792],
    }[approximate]
    x = sg.constant([-3.0, -1.0, 0.0, 0.5, 3.0], sg.float64)
    y = sg.nn.gelu(x, approximate)
    assert sg.Session().run(y) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    "name, function", [("gelu", sg.nn.gelu), ("silu", sg.nn.silu), ("swish", sg.nn.swish)]
)
def test_layers_take_its_name(name: str, function):
    x = sg.constant([[-1.0, 2.0]])
    dense = sg.layers.dense(x, 2, activation=name, kernel_initializer=sg.initializers.identity())
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        got, wanted = sess.run([dense, function(x)])
    assert got == pytest.approx(wanted, rel=1e-6)
