"""`tf.contrib.staging`: a buffer between two parts of a step, such as the copy of a batch and its use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

_UNBOUNDED = 2**31 - 1


class StagingArea:
    """A queue of tuples of tensors: the first that is put is got first.

    Args:
        dtypes: The types of a tuple.
        shapes: The shapes of a tuple; None if they are not known.
        names: Names for the tensors: then a tuple is a dictionary.
        shared_name: The name under which areas of sessions share elements.
        capacity: The largest number of elements, after which `put` waits; 0 for no limit.
        memory_limit: Not looked at: memory is limited by `capacity`.

    >>> import staticgraph as sg
    >>> area = StagingArea([sg.float32])
    >>> put, got = area.put([sg.constant(3.0)]), area.get()
    >>> with sg.Session() as sess:
    ...     _ = sess.run(put)
    ...     sess.run(got)
    [np.float32(3.0)]
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        for label, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise misuse(
                    ValueError, f"StagingArea: there are {len(given)} {label}, and {len(dtypes)} dtypes"
                )
        self.dtypes, self.names = list(dtypes), names and list(names)
        self.shapes = [sg.TensorShape(shape) for shape in shapes or [None] * len(self.dtypes)]
        are_known = all(shape.is_fully_defined() for shape in self.shapes)
        self._queue = sg.FIFOQueue(
            capacity or _UNBOUNDED,
            self.dtypes,
            self.shapes if are_known else None,
            shared_name=shared_name,
            name=shared_name or "StagingArea",
        )
        self.capacity, self.memory_limit = capacity, memory_limit

    @property
    def name(self) -> str:
        """The name of the area."""
        return str(self._queue.name)

    def put(self, values: Any, name: str | None = None) -> Any:
        """Return the operation that adds an element.

        Args:
            values: A list of tensors, one tensor, or a dictionary if the area has names.
            name: The name of the operation.

        Raises:
            ValueError: The tensors are not those of the area.
        """
        if isinstance(values, Mapping) != (self.names is not None):
            text = "a dictionary" if self.names is not None else "a list"
            raise misuse(ValueError, f"StagingArea.put: this area takes {text} of tensors")
        if self.names is not None:
            if set(values) != set(self.names):
                raise misuse(ValueError, f"StagingArea.put: the names are {self.names}, not {sorted(values)}")
            values = [values[key] for key in self.names]
        listed = list(values) if isinstance(values, list | tuple) else [values]
        listed = [sg.convert_to_tensor(value) for value in listed]
        if [value.dtype for value in listed] != [sg.as_dtype(dtype) for dtype in self.dtypes]:
            text = f"StagingArea.put: the types are {self.dtypes}, not {[v.dtype for v in listed]}"
            raise misuse(ValueError, text)
        for value, shape in zip(listed, self.shapes, strict=True):
            value.shape.assert_is_compatible_with(shape)
        return self._queue.enqueue(listed, name=name)

    def get(self, name: str | None = None) -> Any:
        """The oldest element, which is removed: a list, or a dictionary if the area has names."""
        found = self._queue.dequeue(name=name)
        listed = list(found) if isinstance(found, list | tuple) else [found]
        for value, shape in zip(listed, self.shapes, strict=True):
            value.set_shape(shape)
        return listed if self.names is None else dict(zip(self.names, listed, strict=True))

    def size(self, name: str | None = None) -> Any:
        """The number of elements, a scalar of int32."""
        return self._queue.size(name=name)

    def clear(self, name: str | None = None) -> Any:
        """Return the operation that removes all elements, of an area whose shapes are known."""
        return sg.group(self._queue.dequeue_up_to(self._queue.size()), name=name)
