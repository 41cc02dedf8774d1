"""Training examples read in a graph: strings that hold `Example` messages, as tensors by name.

>>> import staticgraph as sg
>>> value = sg.messages.example.Feature(int64_list={"value": [7]})
>>> example = sg.messages.example.Example(features={"feature": {"label": value}})
>>> read = sg.io.parse_single_example(
...     example.SerializeToString(), {"label": sg.io.FixedLenFeature([], sg.int64)}
... )
>>> with sg.Session() as sess:
...     int(sess.run(read["label"]))
7
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from staticgraph.arrays.array_ops import reshape
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import constant, convert_to_tensor
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.examples.example_ops import (
    parse_example_op,
    parse_sequence_example_op,
    parse_single_example_op,
    parse_single_sequence_example_op,
)
from staticgraph.sparse.structure import merge
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1.io.features import (
    Columns,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    columns,
    with_unknown_length,
)

Features = Mapping[str, Any] | None
Read = dict[str, Any]

_ALL = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)
_CONTEXT = (VarLenFeature, FixedLenFeature)
_LISTS = (VarLenFeature, FixedLenSequenceFeature)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.\-/]")


def parse_example(
    serialized: Any, features: Features, name: str | None = None, example_names: Any = None
) -> Read:
    """The features of a batch of `Example` messages: a dict of tensors, with the batch as first axis.

    `serialized`: a vector of strings. `features`: for each name a `FixedLenFeature`, which gives a tensor of
    shape [batch, *shape]; a `VarLenFeature` or `SparseFeature`, which give a `SparseTensor`; or a
    `FixedLenSequenceFeature`, which gives a tensor of shape [batch, longest, *shape]. `example_names`:
    strings that errors call the examples by.

    ValueError for features that are none. While running, InvalidArgumentError for an example that is none, or
    has not the feature, or has it with another type or another number of values.

    >>> import staticgraph as sg
    >>> examples = sg.placeholder(sg.string, [None])
    >>> sg.io.parse_example(examples, {"x": sg.io.FixedLenFeature([3], sg.float32)})["x"].shape
    TensorShape([Dimension(None), Dimension(3)])
    """
    wanted = _wanted(features, "parse_example")
    with name_scope(name, "ParseExample", [serialized, example_names]):
        defaults = _defaults(wanted)
        names = convert_to_tensor([] if example_names is None else example_names, dtype=string, name="names")
        made = parse_example_op(serialized, names, defaults, name=name, **_attributes(wanted))
        found, _ = _by_name(made, wanted)
    return _merged(features, found)


def parse_single_example(
    serialized: Any, features: Features, name: str | None = None, example_names: Any = None
) -> Read:
    """The features of one `Example` message: as `parse_example`, from a scalar and without the batch axis.

    >>> import staticgraph as sg
    >>> example = sg.placeholder(sg.string, [])
    >>> sg.io.parse_single_example(example, {"x": sg.io.FixedLenFeature([3], sg.float32)})["x"].shape
    TensorShape([Dimension(3)])
    """
    wanted = _wanted(features, "parse_single_example")
    with name_scope(name, "ParseSingleExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtype=string, name="serialized")
        made = parse_single_example_op(serialized, _defaults(wanted), name=name, **_attributes(wanted))
        found, _ = _by_name(made, wanted)
    return _merged(features, found)


def parse_sequence_example(
    serialized: Any,
    context_features: Features = None,
    sequence_features: Features = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[Read, Read, Read]:
    """The features of a batch of `SequenceExample` messages: of the context, of the sequences, and lengths.

    `context_features`: as for `parse_example`, `FixedLenFeature` or `VarLenFeature`. `sequence_features`: for
    each name a `FixedLenSequenceFeature`, which gives a tensor of shape [batch, longest, *shape] filled up
    with zeros, and in the third dict an int64 vector of lengths; or a `VarLenFeature`, which gives a
    `SparseTensor` of rank 3.

    >>> import staticgraph as sg
    >>> examples = sg.placeholder(sg.string, [None])
    >>> word = sg.io.FixedLenSequenceFeature([], sg.int64)
    >>> context, lists, lengths = sg.io.parse_sequence_example(examples, sequence_features={"word": word})
    >>> lists["word"].shape.as_list(), lengths["word"].shape.as_list()
    ([None, None], [None])
    """
    context, lists = _both(context_features, sequence_features, "parse_sequence_example")
    with name_scope(name, "ParseSequenceExample", [serialized]):
        made = _sequences(parse_sequence_example_op, serialized, example_names, context, lists, name)
    found, found_lists, lengths = made
    return found, found_lists, dict(zip(lists.dense, lengths, strict=True))


def parse_single_sequence_example(
    serialized: Any,
    context_features: Features = None,
    sequence_features: Features = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[Read, Read]:
    """The features of one `SequenceExample` message: of the context, and of the sequences, step by step.

    As `parse_sequence_example`, from a scalar and without the batch axis and lengths.

    >>> import staticgraph as sg
    >>> word = sg.io.FixedLenSequenceFeature([], sg.int64)
    >>> example = sg.placeholder(sg.string, [])
    >>> _, lists = sg.io.parse_single_sequence_example(example, sequence_features={"word": word})
    >>> lists["word"].shape.as_list()
    [None]
    """
    context, lists = _both(context_features, sequence_features, "parse_single_sequence_example")
    with name_scope(name, "ParseSingleSequenceExample", [serialized]):
        made = _sequences(parse_single_sequence_example_op, serialized, example_name, context, lists, name)
    return made[0], made[1]


def _sequences(
    operation: Any, serialized: Any, names: Any, context: Columns, lists: Columns, name: str | None
) -> tuple[Read, Read, Any]:
    """Read the context, the sequences and their lengths with an operation."""
    defaults = _defaults(context)
    names = convert_to_tensor([] if names is None else names, dtype=string, name="debug_name")
    attributes = _attributes(context) | _list_attributes(lists)
    found, rest = _by_name(operation(serialized, names, defaults, name=name, **attributes), context)
    return found, *_by_name(rest, lists)


def _wanted(features: Features, call: str) -> Columns:
    if not features:
        raise misuse(ValueError, f"{call}: there are no features")
    return columns(with_unknown_length(features, call), call, *_ALL)


def _both(context: Features, lists: Features, call: str) -> tuple[Columns, Columns]:
    if not (context or lists):
        raise misuse(ValueError, f"{call}: there are no features")
    wanted = columns(lists, call, *_LISTS)
    for key, default in wanted.defaults.items():
        if default is not None:
            text = f"{call}: sequence {key!r} has a default_value, and it is filled up with zeros"
            raise misuse(ValueError, text, "allow_missing=True, without default_value")
    return columns(context, call, *_CONTEXT), wanted


def _defaults(wanted: Columns) -> list[Tensor]:
    """Return a tensor for each dense feature, which replaces a missing feature or pads a short one.

    The tensor is empty if the feature has no default. A feature of variable length is by default padded with
    zeros or empty strings.
    """
    out = []
    for key, (dtype, shape) in wanted.dense.items():
        default = wanted.defaults.get(key)
        varies = bool(shape) and shape[0] is None
        label = _NOT_IN_A_NAME.sub("_", key)
        if isinstance(default, Tensor) and default.type.shape == ([] if varies else shape):
            out.append(default)
        elif default is not None:
            name = f"padding_{label}" if varies else f"key_{label}"
            out.append(reshape(convert_to_tensor(default, dtype, name=name), [] if varies else shape))
        elif varies:
            out.append(convert_to_tensor("" if dtype is string else 0, dtype))
        else:
            out.append(constant([], dtype))
    return out


def _attributes(wanted: Columns) -> dict[str, Any]:
    dense = tuple((key, dtype, shape) for key, (dtype, shape) in wanted.dense.items())
    return {"sparse": tuple(wanted.sparse.items()), "dense": dense}


def _list_attributes(wanted: Columns) -> dict[str, Any]:
    found = {f"list_{name}": value for name, value in _attributes(wanted).items()}
    return found | {"may_be_missing": tuple(wanted.defaults)}


def _by_name(made: Tensor | Iterable[Tensor], wanted: Columns) -> tuple[Read, Sequence[Tensor]]:
    """The tensors of the features by name, and those that are left."""
    outputs = [made] if isinstance(made, Tensor) else list(made)
    count = len(wanted.sparse)
    parts = zip(outputs[:count], outputs[count : 2 * count], outputs[2 * count : 3 * count], strict=True)
    found: Read = dict(zip(wanted.sparse, (SparseTensor(*three) for three in parts), strict=True))
    end = 3 * count + len(wanted.dense)
    found.update(zip(wanted.dense, outputs[3 * count : end], strict=True))
    return found, outputs[end:]


def _merged(features: Features, found: Read) -> Read:
    """The features that were asked for, where sparse ones were read in two parts."""
    out = {}
    for key, feature in (features or {}).items():
        if isinstance(feature, SparseFeature):
            several = not isinstance(feature.index_key, str)
            ids = [found[k] for k in feature.index_key] if several else found[feature.index_key]
            made = merge(ids, found[feature.value_key], feature.size, already_sorted=feature.already_sorted)
            out[key] = made
        else:
            out[key] = found[key]
    return out
