"""Names of a graph as names of C."""

from __future__ import annotations

import re

# What C and C++ keep for themselves, and macros that many programs define.
_TAKEN = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const consteval constexpr constinit const_cast continue decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof union
    unsigned using virtual void volatile wchar_t while xor xor_eq assert errno far linux main near size
    stderr stdin stdout unix
"""


class CNames:
    """Names of one scope of C, each used once, capitals or not: macros are made of them.

    >>> names = CNames()
    >>> names.new("dense/kernel"), names.new("dense.kernel"), names.new("class"), names.new("3d")
    ('dense_kernel', 'dense_kernel_2', 'class_', 'n3d')
    """

    def __init__(self, *taken: str) -> None:
        self._used = {name.lower() for name in taken}

    def new(self, name: str) -> str:
        """The name in C of what the graph calls `name`."""
        plain = identifier(name)
        found, number = plain, 2
        while found.lower() in self._used:
            found, number = f"{plain}_{number}", number + 1
        self._used.add(found.lower())
        return found


def identifier(name: str) -> str:
    """The letters of a name that C allows, as a name that is not taken."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "unnamed"
    plain = f"n{plain}" if plain[0].isdigit() else plain
    return f"{plain}_" if plain in _TAKEN.split() else plain
