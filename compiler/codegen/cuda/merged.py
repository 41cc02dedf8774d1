"""Several functions as one, for work that takes less time than to launch it.

    __device__ void part0(block_x, block_y, x, y) {...}      the functions, as parts
    __device__ void part1(block_x, block_y, z) {...}

    __global__ void merged(x0, y0, z1, z2) {
      if (blockIdx.x < 3) part0(blockIdx.x, 0, x0, y0);      three blocks of one function beside
      else { part1(0, 0, z1); __syncthreads(); part1(0, 0, z2); }      one that does two in order
    }

Parts are what the functions are, so results are the same, bit by bit. Those of one *lane* run in order, in a
single block that waits in between. Lanes run beside each other: no lane may write what another one uses.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

from staticgraph.compiler.codegen.cuda.function import CudaFunction, shared_arrays

Lanes = tuple[tuple[CudaFunction, ...], ...]

_HEAD = re.compile(
    r'extern "C" __global__ void __launch_bounds__\((\d+)(?:, (\d+))?\) (\w+)\(([^)]*)\) \{\n(.*)\n\}',
    re.DOTALL,
)
_BLOCK = re.compile(r"\bblockIdx\.([xy])\b")


class Parts(NamedTuple):
    """The text of a function, taken apart."""

    threads: int
    blocks_per_core: int
    pointers: tuple[str, ...]  # declarations
    sizes: tuple[str, ...]
    body: str

    @property
    def shared(self) -> int:
        """Bytes of shared memory, at most."""
        return sum(size for _, size in shared_arrays(self.body))


@lru_cache(4096)
def parts_of(function: CudaFunction) -> Parts | None:
    """Take a function apart; None if its blocks are given memory, or its text is not of the usual form."""
    found = _HEAD.fullmatch(function.text)
    if found is None or function.shared:
        return None
    threads, cores, _, declared, body = found.groups()
    each = [text for text in declared.split(", ") if text]
    pointers = tuple(text for text in each if "*" in text)
    sizes = tuple(text for text in each if "*" not in text)
    return Parts(int(threads), int(cores or 0), pointers, sizes, body)


@lru_cache(1024)
def merged(lanes: Lanes) -> CudaFunction:
    """The function that does lanes of functions, which all have as many threads in a block.

    Its parameters are the pointers of all functions in order, then their sizes in order, then, if the grid of
    some function depends on sizes, for each lane the number of its first block and its blocks along x.
    """
    known = [[parts_of(function) for function in lane] for lane in lanes]
    threads = {part.threads for lane in known for part in lane if part is not None}
    assert len(threads) == 1 and all(part is not None for lane in known for part in lane)
    said = repr([[(f.name, f.grid) for f in lane] for lane in lanes])
    digest = hashlib.sha256(said.encode()).hexdigest()[:10]
    opens = any(function.grid is None for lane in lanes for function in lane)
    definitions: dict[tuple[str, bool], tuple[str, str]] = {}  # names and texts
    pointers: list[str] = []
    sizes: list[str] = []
    branches: list[str] = []
    first = 0
    for n, (lane, parts) in enumerate(zip(lanes, known, strict=True)):
        alone = len(lane) == 1
        start, across = (
            (f"first{n}", f"across{n}") if opens else (f"{first}u", f"{(lane[0].grid or (1,))[0]}u")
        )
        calls = []
        for function, part in zip(lane, parts, strict=True):
            assert part is not None
            key = function.name, alone
            if key not in definitions:
                name = f"merged_{digest}_{len(definitions)}"
                definitions[key] = name, _part(name, part, alone)
            given = [f"p{len(pointers) + k}" for k in range(len(part.pointers))]
            pointers += [_renamed(text, name, alone) for text, name in zip(part.pointers, given, strict=True)]
            counts = [f"n{len(sizes) + k}" for k in range(len(part.sizes))]
            sizes += [f"const int {name}" for name in counts]
            block = [f"block % {across}", f"block / {across}"] if alone else ["0u", "0u"]
            calls.append(f"{definitions[key][0]}({', '.join([*block, *given, *counts])});")
        text = "\n__syncthreads();\n".join(calls)
        inside = f"const unsigned block = blockIdx.x - {start};\n{text}" if alone else text
        first += _blocks(lane[0])
        end = f"first{n + 1}" if opens else f"{first}u"
        head = "else " if n else ""
        head += f"if (blockIdx.x < {end}) " if n < len(lanes) - 1 else ""
        branches.append(f"{head}{{\n{_indented(inside)}\n}}")
    body = "\n".join(branches)
    if opens:
        sizes += [f"const unsigned {name}{n}" for n in range(len(lanes)) for name in ("first", "across")]
    cores = max(part.blocks_per_core for lane in known for part in lane if part is not None)
    bounds = f"{threads.pop()}" + (f", {cores}" if cores else "")
    name = f"merged_{digest}"
    declared = ", ".join([*pointers, *sizes])
    text = (
        f'extern "C" __global__ void __launch_bounds__({bounds}) {name}({declared}) {{\n{_indented(body)}\n}}'
    )
    meets = any(len(lane) > 1 or f.meets for lane in lanes for f in lane)
    before = "\n".join(text for _, text in definitions.values())
    return CudaFunction(name, f"{before}\n{text}", None if opens else (first, 1, 1), lanes[0][0].block, meets)


def _part(name: str, part: Parts, alone: bool) -> str:
    """A function as a part of others. Pointers of one in a longer lane may be those of others there."""
    pointers = part.pointers if alone else [text.replace(" __restrict__", "") for text in part.pointers]
    declared = ", ".join(["const unsigned block_x", "const unsigned block_y", *pointers, *part.sizes])
    body = _BLOCK.sub(r"block_\1", part.body)
    return f"SG_INLINE void {name}({declared}) {{\n{body}\n}}"


def _renamed(declaration: str, name: str, alone: bool) -> str:
    kind = declaration.rpartition(" ")[0]
    return f"{kind if alone else kind.replace(' __restrict__', '')} {name}"


def _blocks(function: CudaFunction) -> int:
    return 0 if function.grid is None else function.grid[0] * function.grid[1]


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
