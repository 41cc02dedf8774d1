"""Senseless arguments to every public function and class: an error that names the user's line, or a result.

Each is called with one senseless value for all the arguments that it needs, another value for another function,
so that the values take turns. What is a fault: an error that says nothing of the user's line, from inside of us.
"""

import functools
import inspect
import itertools
import pickle
import warnings

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.boundary import arose_below, guarded
from staticgraph.compiler.graph.errors import ResourceExhaustedError, shown
from tests.errors.message import tidy

MODULES = (
    "", "math", "nn", "nn.rnn_cell", "linalg", "losses", "signal", "spectral", "image", "sparse", "sets",
    "strings", "random", "bitwise", "debugging", "io", "queue", "lookup", "ragged", "summary", "train", "metrics",
    "layers", "initializers", "nest", "data", "distributions", "feature_column", "graph_util", "python_io",
    "saved_model", "keras.backend", "keras.losses", "keras.activations", "keras.metrics", "keras.layers",
    "keras.optimizers", "keras.initializers", "keras.regularizers", "keras.constraints", "keras.utils",
    "keras.callbacks", "keras.models", "estimator", "contrib.losses", "contrib.layers", "contrib.crf",
    "contrib.distributions", "contrib.image", "contrib.framework", "contrib.rnn", "contrib.seq2seq",
    "contrib.training", "contrib.opt", "contrib.metrics", "contrib.data", "onnx",
)  # fmt: skip
# They change or show what is common to all graphs and tests, or wait.
LEFT_OUT = (
    "set_",
    "reset_",
    "enable_",
    "disable_",
    "clear_",
    "show",
    "watch",
    "Server",
    "train_and_evaluate",
)
ENDLESS = {
    "contrib.training.train",
    "contrib.training.evaluate_repeatedly",
    "contrib.training.wait_for_new_checkpoint",
}


def nested(depth):
    out = []
    for _ in range(depth):
        out = [out]
    return out


def foreign():
    with sg.Graph().as_default():
        return sg.constant([1.0, 2.0])


VALUES = {
    "None": lambda: None,
    "text": lambda: "abc",
    "half of a character": lambda: "\ud800",
    "a huge number": lambda: 10**30,
    "2 ** 63": lambda: 2**63,
    "NaN": lambda: float("nan"),
    "a fraction": lambda: 1.5,
    "an object": object,
    "a dict": lambda: {"a": 1},
    "an empty list": list,
    "lists of other lengths": lambda: [1, [2, 3]],
    "lists nested deeply": lambda: nested(3000),
    "a function": lambda: len,
    "a tensor of another graph": foreign,
    "an array of strings": lambda: np.array(["a", "b"]),
    "an array of objects": lambda: np.array([None, 1], object),
    "a tensor of unknown shape": lambda: sg.placeholder(sg.float32),
    "a string tensor": lambda: sg.constant("a"),
    "a complex number": lambda: 1j,
    "an empty array": lambda: np.zeros((0, 3), np.float32),
    "a class": lambda: int,
    "a negative number": lambda: -7,
}


def public():
    """Each public function and class once, by a name that users have for it."""
    found = {}
    for root, path in itertools.product((sg, tf), MODULES):
        try:
            module = functools.reduce(getattr, path.split(".") if path else [], root)
        except AttributeError:
            continue
        for name in sorted(dir(module)):
            value = getattr(module, name, None) if name[0] != "_" else None
            own = getattr(value, "__module__", None) or ""
            error = isinstance(value, type) and issubclass(value, BaseException)
            if (
                callable(value)
                and own.startswith("staticgraph.")
                and not error
                and not name.startswith(LEFT_OUT)
            ):
                if not own.startswith("staticgraph.compiler."):
                    found.setdefault(id(value), (f"{path}.{name}".lstrip("."), value))
    return sorted(found.values(), key=lambda pair: pair[0])


def needed(value):
    """Count the arguments that a call needs."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return 1
    return sum(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters
    )


def test_every_public_function(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    faults, calls = [], 0
    kinds = itertools.cycle(VALUES)
    for name, value in public():
        if name in ENDLESS:
            continue
        for kind in itertools.islice(kinds, 2):
            with sg.Graph().as_default(), warnings.catch_warnings(action="ignore"):
                given = [VALUES[kind]() for _ in range(needed(value))]
                calls += 1
                try:
                    value(*given)
                except Exception as error:
                    if arose_below(error) and not isinstance(error, OSError):
                        faults.append(f"{name} of {kind}: {type(error).__name__}: {str(error)[:80]}")
    assert not faults, "\n".join(faults)
    assert calls > 2000


def test_what_the_user_sees():
    with pytest.raises(TypeError) as caught:
        sg.tensordot(sg.ones([2, 2]), sg.ones([2, 2]), axes=1.5)
    told = tidy(str(caught.value).replace("has no len", "..."))
    assert told.startswith("tensordot cannot take these arguments: object of type 'float' ...()\n")
    assert "axes=1.5" in told and "SG_ALL_FRAMES=1" in told


def test_errors_of_functions_of_the_user_pass():
    def empty(_):
        return [].pop()

    with pytest.raises(IndexError, match=r"^pop from empty list$"):
        sg.map_fn(empty, sg.ones([2]))


def test_missing_arguments_are_python_s():
    with pytest.raises(TypeError, match="missing 3 required positional arguments"):
        sg.tensordot()


def test_lists_that_hold_themselves():
    itself = []
    itself.append(itself)
    for value in (itself, nested(3000)):
        with pytest.raises(ValueError, match="nested too deeply"):
            sg.abs(value)


def test_functions_stay_what_they_are():
    """Found under every public name, by pickle and by the module that defines it; with their signature."""
    from staticgraph.arrays import array_ops

    assert sg.concat is tf.concat is array_ops.concat is pickle.loads(pickle.dumps(sg.concat))  # noqa: S301
    assert sg.tensordot is sg.linalg.tensordot
    assert list(inspect.signature(sg.tensordot).parameters) == ["a", "b", "axes", "name"]


def test_a_function_with_the_attributes_of_another_is_not_taken_for_it():
    def other():
        return 3

    other.__code__ = other.__code__.replace(co_filename=inspect.getsourcefile(sg.concat))
    functools.update_wrapper(other, sg.concat)
    assert guarded(other)() == 3 and guarded(other) is guarded(other) is not sg.concat


class NoText:
    def __repr__(self):
        raise RuntimeError("it has no text")


def test_values_without_a_text_are_shown():
    assert shown(NoText()) == "a NoText"
    assert shown(nested(3000)) == "a list"


@pytest.mark.parametrize("count", [10**30, 2**63])
def test_counts_that_no_memory_holds(count):
    """Before, thresholds were listed until the memory was full."""
    with pytest.raises((ValueError, ResourceExhaustedError), match="num_thresholds"):
        tf.metrics.auc([0, 1], [0.1, 0.9], num_thresholds=count)
