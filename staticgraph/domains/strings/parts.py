"""Strings taken apart, and many strings in one."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import needed, renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32, string
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.sparse.tensor import SparseTensor


def split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor:
    """The parts of the strings in a vector, as the rows of a sparse matrix.

    As Python's `str.split`: `sep` is a string between parts, which may be empty then; without one, parts are
    what white space separates. With `maxsplit`, there are at most that many cuts in a string.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.split(["a,b", "c"], sep=",")).values.tolist()
    [b'a', b'b', b'c']
    """
    source = renamed("input", input, "source", source)
    needed("strings.split", input=source)
    require_sparse(result_type)
    with name_scope(name, "StringSplit", [source]):
        source = convert_to_tensor(source, dtype=string, name="source")
        sep = convert_to_tensor("" if sep is None else sep, dtype=string)
        return SparseTensor(*ops.string_split_v2(source, sep, maxsplit=maxsplit))


def require_sparse(result_type: str) -> None:
    """ValueError for ragged tensors, which do not exist here."""
    with checked("split"):
        require(
            result_type == "SparseTensor", f"result_type is {result_type!r}, only 'SparseTensor' is supported"
        )


def bytes_split(input: Any, name: str | None = None) -> Tensor:
    """The bytes of one string, each as a string.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.bytes_split("abc")).tolist()
    [b'a', b'b', b'c']
    """
    with name_scope(name, "StringsByteSplit", [input]):
        input = convert_to_tensor(input, dtype=string, name="input")
        with checked("bytes_split"):
            require(input.type.rank == 0, f"input has shape {input.shape}, it must be one string")
        return ops.string_split(ops.expand_dims(input, axis=0), "", skip_empty=False)[1]


def reduce_join(
    inputs: Any,
    axis: Any = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: bool | None = None,
) -> Tensor:
    """The strings along `axis`, one or several or by default all, in one.

    With several axes, the first one named runs fastest: `[1, 0]` is the order in which a matrix is written.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.reduce_join([["a", "b"], ["c", "d"]], axis=0, separator="-")).tolist()
    [b'a-c', b'b-d']
    """
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(None, "ReduceJoin", [inputs, axis]):
        inputs = convert_to_tensor(inputs)
        if axis is None:
            rank = inputs.type.rank
            last = ops.rank_of(inputs) - 1
            axis = ops.range(last, -1, -1, dtype=int32) if rank is None else [*range(rank)][::-1]
        return ops.reduce_join(inputs, axis=axis, keep_dims=bool(keepdims), separator=separator, name=name)


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings with the same segment number in one.

    `result[i]` joins all `inputs[j]` where `segment_ids[j]` is i, in their order.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.unsorted_segment_join(["a", "b", "c"], [1, 0, 1], 2)).tolist()
    [b'b', b'ac']
    """
    return ops.unsorted_segment_join(
        inputs, segment_ids, num_segments=num_segments, separator=separator, name=name
    )


def format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """A text in which each `placeholder` of `template` is replaced by a tensor of the list `inputs`.

    Of each axis, the first and the last `summarize` elements are shown; all with -1. ValueError if there
    are not as many places as tensors.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.format("x = {}", sg.range(10)))
    b'x = [0 1 2 ... 7 8 9]'
    """
    listed = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    if template.count(placeholder) != len(listed):
        text = f"the template has {template.count(placeholder)} places, and there are {len(listed)} tensors"
        raise misuse(ValueError, f"strings.format: {text}")
    return ops.string_format(
        listed, template=template, placeholder=placeholder, summarize=summarize, name=name
    )
