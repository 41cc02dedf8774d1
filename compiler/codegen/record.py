"""Kernel code as bytes and back, so that a text which was generated once need not be generated again."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields as fields_of
from typing import Any

from staticgraph.compiler.codegen.abi import KernelCode, Phase
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.graph.open_sizes import of_data, to_data


def to_bytes(kernel: KernelCode) -> bytes:
    """`kernel` as `from_bytes` reads it: about a twentieth of its text."""
    fields = _shallow(kernel) | {
        "phases": [
            _shallow(phase) | {"code": _of_code(phase.code), "chunks": to_data(phase.chunks)}
            for phase in kernel.phases
        ],
        "time": to_data(kernel.time),
        "sizes": [to_data(size) for size in kernel.sizes],
    }
    return zlib.compress(json.dumps(fields).encode(), 1)


def from_bytes(data: bytes) -> KernelCode:
    """The kernel that `to_bytes` was given.

    >>> inner = Code("k0", "define void @k0() { ret void }")
    >>> code = Code("k1", "define void @k1() { ret void }", ("declare void @f()",), calls=(inner,))
    >>> phases = Phase(code, 3, (0,), numbers=(7,)), Phase(code, takes=(1,))
    >>> kernel = KernelCode(phases, shared_bytes=64, cost=1.5)
    >>> from_bytes(to_bytes(kernel)) == kernel
    True
    """
    fields = json.loads(zlib.decompress(data))
    phases = tuple(_phase(**phase) for phase in fields.pop("phases"))
    sizes = tuple(of_data(size) for size in fields.pop("sizes"))
    return KernelCode(phases, time=of_data(fields.pop("time")), sizes=sizes, **fields)


def _phase(
    code: dict[str, Any],
    chunks: Any,
    reads: list[int] | None,
    first: int,
    numbers: list[int],
    takes: list[int] | None,
) -> Phase:
    reading, taking = (None if each is None else tuple(each) for each in (reads, takes))
    return Phase(_to_code(**code), of_data(chunks), reading, first, tuple(numbers), taking)


def _of_code(code: Code) -> dict[str, Any]:
    return _shallow(code) | {"calls": [*map(_of_code, code.calls)]}


def _to_code(name: str, text: str, needs: list[str], plain: bool, calls: list[dict[str, Any]]) -> Code:
    return Code(name, text, tuple(needs), plain, tuple(_to_code(**each) for each in calls))


def _shallow(record: Any) -> dict[str, Any]:
    """A record as a dict, without a copy of what is in it."""
    return {field.name: getattr(record, field.name) for field in fields_of(record)}
