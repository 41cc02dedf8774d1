"""References to objects whose `==` does not tell if they are the same one, as keys of dicts and sets."""

from __future__ import annotations

from typing import Any


class Reference:
    """A key that is equal to another reference if both are to the same object; `deref()` returns it."""

    __slots__ = ("_object",)

    def __init__(self, object: Any) -> None:
        self._object = object

    def deref(self) -> Any:
        """Return the object."""
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __repr__(self) -> str:
        return f"<Reference to {self._object!r}>"
