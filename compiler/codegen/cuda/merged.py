"""Several functions as one, for work that takes less time than to launch it.

    __device__ void part0(blockIdx, x, y) {...}      the functions, as parts
    __device__ void part1(blockIdx, z) {...}

    __global__ void merged(x0, y0, z1, z2) {
      if (blockIdx.x < 3) part0({blockIdx.x, 0}, x0, y0);      three blocks of one function beside
      else { part1({0, 0}, z1); __syncthreads(); part1({0, 0}, z2); }      one that does two in order
    }

A part has the body of its function: the block that it is told to be hides CUDA's own `blockIdx`. So results
are the same, bit by bit. Parts of one *lane* run in order, in a single block that waits in between. Lanes run
beside each other: no lane may write what another one uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from staticgraph.compiler.codegen.cuda.function import CudaFunction, Parameter, indented

# Merged functions have few blocks, and registers for all of them. If nothing is said on blocks, NVIDIA's
# compiler may spill a register where it could take eight more.
ONE_BLOCK = 1

Lanes = tuple[tuple[CudaFunction, ...], ...]


def can_be_part(function: CudaFunction) -> bool:
    """Return True for a function that can be a part of another: it calls none, and is given no memory."""
    return not function.shared and not function.before


def shared_by(lanes: Sequence[Sequence[CudaFunction]]) -> int:
    """Bytes of shared memory that a function of these lanes declares."""
    parts = {_key(function, lane): function for lane in lanes for function in lane}
    return sum(function.declared for function in parts.values())


@lru_cache(1024)
def merged(lanes: Lanes) -> CudaFunction:
    """The function that does lanes of functions, which all have as many threads in a block.

    Its parameters are the pointers of all functions in order, then their sizes in order, then, if the grid of
    some function depends on sizes, for each lane the number of its first block and its blocks along x.
    """
    functions = [function for lane in lanes for function in lane]
    assert len({f.threads for f in functions}) == 1 and all(map(can_be_part, functions))
    said = repr([[(f.name, f.grid) for f in lane] for lane in lanes])
    name = f"merged_{hashlib.sha256(said.encode()).hexdigest()[:10]}"
    opens = any(function.grid is None for function in functions)
    parts: dict[tuple[str, bool], str] = {}  # names of parts
    definitions: list[str] = []
    for lane in lanes:
        for function in lane:
            if _key(function, lane) not in parts:
                parts[_key(function, lane)] = part = f"{name}_{len(parts)}"
                definitions.append(_definition(part, function, len(lane) == 1))
    parameters = tuple(_parameters(lanes))
    sizes = [f"n{k}" for k in range(sum(len(function.sizes) for function in functions))]
    pointers, counts = iter(parameters), iter(sizes)
    branches: list[str] = []
    first = 0
    for n, lane in enumerate(lanes):
        alone = len(lane) == 1
        grid = lane[0].grid or (0, 0, 0)
        start, across = (
            (f"unsigned(first{n})", f"unsigned(across{n})") if opens else (f"{first}u", f"{grid[0]}u")
        )
        block = f"{{block % {across}, block / {across}, 0u}}" if alone else "{0u, 0u, 0u}"
        calls = []
        for function in lane:
            given = [next(pointers).name for _ in function.parameters]
            given += [next(counts) for _ in function.sizes]
            calls.append(f"{parts[_key(function, lane)]}({', '.join([f'uint3{block}', *given])});")
        text = "\n__syncthreads();\n".join(calls)
        inside = f"const unsigned block = blockIdx.x - {start};\n{text}" if alone else text
        first += grid[0] * grid[1]
        end = f"unsigned(first{n + 1})" if opens else f"{first}u"
        head = "else " if n else ""
        head += f"if (blockIdx.x < {end}) " if n < len(lanes) - 1 else ""
        branches.append(f"{head}{{\n{indented(inside)}\n}}")
    if opens:
        sizes += [f"{word}{n}" for n in range(len(lanes)) for word in ("first", "across")]
    return CudaFunction(
        name,
        parameters,
        tuple(sizes),
        "\n".join(branches),
        None if opens else (first, 1, 1),
        functions[0].block,
        any(len(lane) > 1 for lane in lanes) or any(f.meets for f in functions),
        declared=shared_by(lanes),
        blocks_per_core=max(f.blocks_per_core or ONE_BLOCK for f in functions),
        before=tuple(definitions),
    )


def _key(function: CudaFunction, lane: Sequence[CudaFunction]) -> tuple[str, bool]:
    """Return what tells parts apart: a function has two if it is alone in a lane and in a longer one."""
    return function.name, len(lane) == 1


def _parameters(lanes: Lanes) -> Iterator[Parameter]:
    """The pointers of all functions. Those of one in a longer lane may be those of others there."""
    count = 0
    for lane in lanes:
        for function in lane:
            for each in function.parameters:
                yield replace(each, name=f"p{count}", aliased=each.aliased or len(lane) > 1)
                count += 1


def _definition(name: str, function: CudaFunction, alone: bool) -> str:
    """A function as a part of others."""
    aliased = tuple(replace(each, aliased=each.aliased or not alone) for each in function.parameters)
    declared = ", ".join(
        [
            text
            for text in ("const uint3 blockIdx", replace(function, parameters=aliased).declarations)
            if text
        ]
    )
    return f"SG_INLINE void {name}({declared}) {{\n{indented(function.body)}\n}}"
