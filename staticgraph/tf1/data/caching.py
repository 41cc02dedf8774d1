"""Elements that are kept after the first complete pass: in memory, or in a file.

A file is a TFRecord file: a line that tells what the elements are, then a record for each. It gets its name
when it is complete, and from then on every pass reads it, in other programs too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidFileError, SaveError
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.disk.atomic import replacing
from staticgraph.tf1.data.encoding import decoded, encoded
from staticgraph.tf1.data.pipeline import Failed, Node, Run
from staticgraph.tf1.data.structure import Element, as_arrays, as_element, dtypes_of, leaves
from staticgraph.tf1.io.tf_record import framed, tf_record_iterator

_FORMAT = "staticgraph elements 1:"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cached(Node):
    """The elements of the first complete pass, in every later one."""

    source: Node

    def iterate(self, run: Run) -> Iterator[Element]:
        complete: list[list[Element]] = run.state(self, list)
        if complete:
            yield from complete[0]
            return
        seen: list[Element] = []
        for element in self.source.iterate(run):
            if not isinstance(element, Failed):
                seen.append(element)
            yield element
        complete.append(seen)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CachedInFile(Node):
    """The elements that the file holds; if there is none, the source's, which it holds afterwards."""

    source: Node
    filename: Any

    def iterate(self, run: Run) -> Iterator[Element]:
        name = run.value(self.filename)
        path = os.fsdecode(name.item()) if isinstance(name, np.ndarray) else name
        if not path:
            yield from self._in_memory(run)
        elif os.path.exists(path):
            yield from self._read(path)
        else:
            yield from self._written(path, run)

    def _in_memory(self, run: Run) -> Iterator[Element]:
        node = run.state(self, lambda: Cached(structure=self.structure, source=self.source))
        return node.iterate(run)

    def _head(self) -> bytes:
        types = ",".join(dtype.name for dtype in dtypes_of(leaves(self.structure)))
        return f"{_FORMAT} {types}".encode()

    def _read(self, path: str) -> Iterator[Element]:
        parts = leaves(self.structure)
        dtypes, records = dtypes_of(parts), tf_record_iterator(path)
        head = next(records, b"")
        if head != self._head():
            kind = f"{path} holds no elements of these types"
            raise self.error(f"{kind}: it begins with {head[:80]!r}, not {self._head()!r}", InvalidFileError)
        for record in records:
            yield as_element(parts, decoded(record, dtypes))

    def _written(self, path: str, run: Run) -> Iterator[Element]:
        """The elements, on their way into a file that is there for good only when it is complete."""
        dtypes = dtypes_of(leaves(self.structure))
        try:
            with replacing(path) as descriptor, open(descriptor, "wb", closefd=False) as file:
                file.write(framed(self._head()))
                for element in self.source.iterate(run):
                    if not isinstance(element, Failed):
                        file.write(framed(encoded(as_arrays(element), dtypes)))
                    yield element
        except OSError as error:
            raise self.error(f"cannot keep the elements in {path}: {error.strerror}", SaveError) from None
