"""`tf.string_split`, which `tf.strings.split` replaced: other separators, and empty parts are left out."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import renamed
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import string
from staticgraph.domains.strings.parts import require_sparse
from staticgraph.sparse.tensor import SparseTensor


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """The parts of the strings in a vector between blanks, or any of the bytes of `sep`, as a sparse matrix.

    An empty `sep` splits between all bytes. Empty parts are left out if `skip_empty`.

    >>> import staticgraph as sg
    >>> from staticgraph.tf1.compat.legacy.string_split import string_split
    >>> with sg.Session() as sess:
    ...     sess.run(string_split(["hello world", "a b c"])).dense_shape.tolist()
    [2, 3]
    """
    sep = renamed("sep", sep, "delimiter", delimiter)
    require_sparse(result_type)
    with name_scope(name, "StringSplit", [source]):
        sep = convert_to_tensor(" " if sep is None else sep, dtype=string)
        source = convert_to_tensor(source, dtype=string)
        return SparseTensor(*ops.string_split(source, sep, skip_empty=skip_empty))
