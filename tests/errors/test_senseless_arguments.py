"""Senseless arguments to every operation: an error that names the user's line, or a result.

Each is called with one senseless value for all the arguments that it needs, another value for another one, so
that the values take turns. What is a fault: an error that says nothing of the user's line, from inside of us.
"""

import itertools
import warnings

import numpy as np
import pytest

import staticgraph as sg
import staticgraph.compat.tf1 as tf
from staticgraph.compiler.graph.boundary import arose_below
from staticgraph.compiler.graph.errors import ResourceExhaustedError, shown
from staticgraph.compiler.graph.opdef import OPS, REQUIRED


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


@pytest.mark.takes_long
def test_every_operation():
    faults, calls = [], 0
    kinds = itertools.cycle(VALUES)
    for op in OPS.values():
        count = sum(param.default is REQUIRED for param in op.params)
        for kind in itertools.islice(kinds, 3):
            with sg.Graph().as_default(), warnings.catch_warnings(action="ignore"):
                given = [VALUES[kind]() for _ in range(count)]
                names = [param.name for param in op.params if param.default is REQUIRED]
                calls += 1
                try:
                    op(**dict(zip(names, given, strict=True)))
                except Exception as error:
                    if arose_below(error) and not isinstance(error, OSError):
                        faults.append(f"{op.name} of {kind}: {type(error).__name__}: {str(error)[:80]}")
    assert not faults, "\n".join(faults)
    assert calls > 1000


def test_errors_of_functions_of_the_user_pass():
    def empty(_):
        return [].pop()

    with pytest.raises(IndexError, match=r"^pop from empty list$"):
        sg.map_fn(empty, sg.ones([2]))


def test_lists_that_hold_themselves():
    itself = []
    itself.append(itself)
    for value in (itself, nested(3000)):
        with pytest.raises(ValueError, match="nested too deeply"):
            sg.tanh(value)


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


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sg.eye(nested(3000)), "an argument of eye is nested too deeply"),
        (lambda: sg.convert_to_tensor(nested(3000)), "nested too deeply"),
        (lambda: sg.histogram_fixed_width([1.0], [0.0, 1.0], nbins=nested(3000)), "nested too deeply"),
        (lambda: sg.constant("\ud800"), "half of a character"),
        (lambda: sg.assert_equal("\ud800", "a"), "half of a character"),
        (lambda: sg.layers.dense(sg.ones([2, 3]), 2, kernel_regularizer="l2"), "regularizer is 'l2'"),
        (lambda: sg.layers.Dense(2, activity_regularizer=3), "activity_regularizer is 3"),
        (lambda: sg.layers.Dropout(name=np.array(["a", "b"])), "name is .*must be a string"),
        (lambda: sg.nn.relu(sg.ones([2]), name=np.array(["a", "b"])), "is a string, not"),
        (lambda: sg.FIFOQueue(None, [sg.float32]), "capacity is None, and must be a whole number"),
        (lambda: sg.FIFOQueue(float("nan"), [sg.float32]), "capacity is nan"),
        (lambda: sg.RandomShuffleQueue(5, "a", [sg.float32]), "min_after_dequeue is 'a'"),
        (lambda: sg.signal.stft(sg.ones([9]), object(), 2), "a size is"),
        (lambda: sg.signal.stft(sg.ones([9]), 3.5, 2), "a size is 3.5, and must be a whole number"),
    ],
)
def test_functions_that_are_made_of_operations(call, text):
    """Before, these were errors of Python's own from inside, or a fraction without its part after the point."""
    with pytest.raises((TypeError, ValueError), match=text) as caught:
        call()
    assert "test_senseless_arguments.py" in str(caught.value)


ARRAY = np.array(["a", "b"])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sg.abs([1, [2, 3]]), "lists have different lengths"),
        (lambda: sg.clip_by_norm([1.0], ARRAY), "no array of float32"),
        (lambda: sg.zeros([2], nested(3000)), "no dtype|not a dtype|dtype"),
        (lambda: sg.add_to_collection([1], 2), r"a collection is \[1\], and must be a string"),
        (lambda: sg.get_collection({}), "a collection is {}, and must be a string"),
        (lambda: sg.global_variables(5), "scope is 5, and must be a regular expression"),
        (lambda: sg.global_variables("("), "scope is '\\(', and must be a regular expression"),
        (lambda: sg.metrics.mean([1.0], metrics_collections=[[1]]), "one of the collections is"),
        (lambda: sg.reduce_sum([1.0], keepdims=ARRAY), "keepdims is .*must be True or False"),
        (lambda: sg.set_random_seed(ARRAY), "seed is .*must be a whole number or None"),
        (lambda: sg.variable_scope(nested(3000)), "a list is neither a name nor a VariableScope"),
        (lambda: sg.keras.backend.set_image_data_format(nested(3000)), "data_format=a list is not one of"),
        (lambda: sg.keras.layers.Conv3D(2, 2, kernel_initializer=nested(3000)), "a list is not a"),
        (lambda: sg.keras.losses.Huber(reduction=ARRAY), "Invalid Reduction Key"),
        (lambda: sg.losses.absolute_difference([1.0], [2.0], reduction=ARRAY), "reduction="),
        (lambda: sg.nn.avg_pool(sg.ones([1, 4, 4, 1]), 1.5, 1, "SAME"), "is 1.5, and must be a list"),
        (lambda: sg.nn.avg_pool(sg.ones([1, 4, 4, 1]), "a", 1, "SAME"), "is 'a', and must be a list"),
        (lambda: sg.layers.dropout([]), "an empty list of inputs"),
        (lambda: sg.train.AdamOptimizer(name=ARRAY), "the name of an optimizer is"),
        (lambda: sg.metrics.true_positives_at_thresholds([True], [0.5], None), "thresholds is None"),
        (lambda: sg.distributions.Chi2(2.0, validate_args=ARRAY), "validate_args is"),
        (lambda: tf.fake_quant_with_min_max_vars([1.0], 0.0, 1.0, num_bits=2**63), "between 2 and 16"),
        (lambda: sg.train.NewCheckpointReader(5), "filepattern is 5, and must be a path"),
        (lambda: tf.gfile.Glob(None), "a pattern of paths is None, and must be a path"),
    ],
)
def test_arguments_are_checked_by_kind(call, text):
    """Before, Python's own errors from inside; `num_bits` was a power of two that no memory holds."""
    with pytest.raises((TypeError, ValueError), match=text) as caught:
        call()
    assert "test_senseless_arguments.py" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: sg.unstack([1.0, 2.0], axis=None),
            "unstack cannot take these arguments: '<=' not supported",
        ),
        (lambda: sg.image.central_crop(sg.ones([4, 4, 3]), None), "central_crop cannot take these arguments"),
        (lambda: sg.boolean_mask([1.0], [True], axis="a"), "boolean_mask cannot take these arguments"),
        (lambda: sg.assert_shapes(5), "assert_shapes cannot take .*: 'int' object is not iterable"),
    ],
)
def test_what_leaves_a_name_scope_names_the_call(call, text):
    """Before, an error of Python's own left a function of several operations as it was."""
    with pytest.raises(TypeError, match=text) as caught:
        call()
    assert "test_senseless_arguments.py" in str(caught.value)
    assert caught.value.__suppress_context__


def test_errors_in_a_name_scope_of_the_user_pass():
    def own():
        with sg.name_scope("own"):
            return None.lower()

    with pytest.raises(AttributeError, match=r"^'NoneType' object has no attribute 'lower'$"):
        own()
    with pytest.raises(AttributeError, match=r"^'NoneType' object has no attribute 'lower'$"):
        sg.cond(sg.constant(True), own, own)
