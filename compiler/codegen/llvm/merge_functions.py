"""Functions whose texts differ in whole numbers alone, as one that takes these numbers.

    define void @a(ptr %b0, ptr %shared, ...)
      %v1 = mul i64 %chunk, 4096
                                                     define void @c(ptr %b0, i64 %number0, ptr %shared, ...)
    define void @b(ptr %b0, ptr %shared, ...)  ->      %v1 = mul i64 %chunk, %number0
      %v1 = mul i64 %chunk, 1024

Each text is written for itself first, with loops and tails for its own sizes, and the one for all has the
same instructions in the same order: so the bits are the same, and the speed is nearly so. What LLVM decides
by, such as numbers of lanes, divisors and conditions that it knows, must be the same in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence

from staticgraph.compiler.codegen.abi import SCRATCH_PARAMETERS, KernelCode, Phase
from staticgraph.compiler.codegen.llvm.text import NAME, Code, function
from staticgraph.compiler.support.dataclass import replace

_MOST = 8  # numbers of a function: each takes a register in its loops
_NUMBER = re.compile(
    r"(= (?:(?:(?:add|sub|mul)(?: nuw| nsw)*|icmp \w+) i64 %[\w.]+, |getelementptr \w+, ptr %[\w.]+, i64 ))"
    r"(-?\d+)$",
    re.MULTILINE,
)
_PARTS = 3  # of what the pattern divides a text into, again and again: text, the instruction, its number


def merged(codes: Sequence[KernelCode]) -> list[KernelCode]:
    r"""Return the code of kernels, with one function in place of those that are alike.

    >>> head = f"define void {NAME}(ptr %b0, {', '.join(SCRATCH_PARAMETERS)}) {{"
    >>> own = [function(f"{head} %v1 = mul i64 %chunk, {n}\n ret void }}") for n in (4096, 1024)]
    >>> one, other = merged([KernelCode((Phase(code),)) for code in own])
    >>> one.phases[0].code is other.phases[0].code, one.phases[0].numbers, other.phases[0].numbers
    (True, (4096,), (1024,))
    """
    forms: dict[Hashable, dict[str, tuple[list[str], Code]]] = {}
    for phase in (phase for made in codes for phase in made.phases if not phase.numbers):
        code = phase.code
        parts = _NUMBER.split(code.text.replace(f"@{code.name}", NAME, 1))
        form = (*parts[::_PARTS], *parts[1::_PARTS], code.needs, code.calls, code.plain)
        forms.setdefault(form, {})[code.name] = parts, code
    found: dict[str, tuple[Code, tuple[int, ...]]] = {}
    for members in forms.values():
        if len(members) > 1:
            found |= _one(members)

    def changed(phase: Phase) -> Phase:
        code, numbers = found.get(phase.code.name, (phase.code, phase.numbers))
        return replace(phase, code=code, numbers=numbers)

    return [replace(made, phases=tuple(map(changed, made.phases))) for made in codes]


def _one(members: dict[str, tuple[list[str], Code]]) -> dict[str, tuple[Code, tuple[int, ...]]]:
    """Return the function for all members, with the numbers of each; nothing if there are too many."""
    columns = [*zip(*(parts[2::_PARTS] for parts, _ in members.values()), strict=True)]
    places: dict[tuple[str, ...], str] = {}
    for column in columns:
        if len({*column}) > 1:
            places.setdefault(column, f"%number{len(places)}")
    if len(places) > _MOST:
        return {}
    parts, code = next(iter(members.values()))
    texts = [*parts]
    texts[2::_PARTS] = [places.get(column, column[0]) for column in columns]
    parameters = "".join(f"i64 {name}, " for name in places.values())
    text = "".join(texts).replace(SCRATCH_PARAMETERS[0], parameters + SCRATCH_PARAMETERS[0], 1)
    made = replace(function(text, code.needs, code.calls), plain=code.plain)
    rows = zip(*places, strict=True)
    return {name: (made, tuple(map(int, row))) for name, row in zip(members, rows, strict=True)}
