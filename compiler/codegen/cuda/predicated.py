"""Predicated functions: those of a loop's iterations that may be asked for after the loop has ended, and of
branches that may not be taken.

    __global__ void predicated(y, loop, x_row, x_from) {
      if (loop[ENDED]) return;
      const float* x = loop[ROWS + x_row] + x_from;      a row that the iteration works on
      ...                                                what the function does
    }

Before each iteration, the function `ADVANCE` finds out if there is one, and where its rows are. So a GPU may
be asked for several iterations before anyone knows how many there are: those that there are not do nothing.

A branch has a state like that of the loop around it, which the function `choose` makes: it has ended if the
branch is not taken.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache

from staticgraph.compiler.codegen.cuda.function import CudaFunction, FunctionCall, Parameter, call
from staticgraph.compiler.graph.dtypes import int32, int64, uint8
from staticgraph.compiler.kernel.schedule_gpu.target import THREADS, WARP

# State of a loop, in numbers of 8 bytes: iterations, the present one too; 1 after the end; addresses of rows.
DONE, ENDED, ROWS = range(3)
_STATE = Parameter("sg_loop", int64)
_WORDS = {16: "Vector<uint32_t, 4>", 4: "uint32_t", 1: "uint8_t"}  # that copies are made of, by bytes


@lru_cache(4096)
def predicated(function: CudaFunction, rows: tuple[bool, ...] = ()) -> CudaFunction:
    """Return the function that does the same if the loop goes on, and nothing if not.

    Its parameters are the pointers, then the state of the loop, then the sizes. `rows` tells which pointers
    are not given, since they are in rows: for each there are two more sizes, the number of the row among
    those of the iteration, and how many bytes after its begin.
    """
    rows = rows or (False,) * len(function.parameters)
    pointers = [each for each, is_row in zip(function.parameters, rows, strict=True) if not is_row]
    in_rows = [each for each, is_row in zip(function.parameters, rows, strict=True) if is_row]
    lines = [f"if (sg_loop[{ENDED}]) return;"]
    lines += [
        f"{each.text} = reinterpret_cast<{each.pointer}>"
        f"(sg_loop[{ROWS} + {each.name}_row] + {each.name}_from);"
        for each in in_rows
    ]
    sizes = [f"{each.name}_{word}" for each in in_rows for word in ("row", "from")]
    digest = hashlib.sha256(f"{function.name} {rows}".encode()).hexdigest()[:10]
    return replace(
        function,
        name=f"predicated_{function.kind}_{digest}",
        parameters=(*pointers, _STATE),
        sizes=(*function.sizes, *sizes),
        body="\n".join([*lines, function.body]),
    )


@lru_cache(16)
def copy(size: int, alignment: int) -> FunctionCall:
    """The call of a function that copies so many bytes, which begin at multiples of `alignment` bytes."""
    width = next(width for width in _WORDS if size % width == alignment % width == 0)
    word = _WORDS[width]
    body = f"""\
const unsigned i = blockIdx.x * {THREADS} + threadIdx.x;
if (i < unsigned(count)) reinterpret_cast<{word}*>(target)[i] = reinterpret_cast<const {word}*>(source)[i];"""
    parameters = Parameter("source", uint8), Parameter("target", uint8, written=True)
    function = CudaFunction(f"copy_{width}", parameters, ("count",), body, None, (THREADS, 1, 1))
    count = size // width
    return FunctionCall(function, ("source", "target"), (False, True), (count,), (-(-count // THREADS), 1, 1))


@lru_cache(256)
def choose(branches: int, words: int, apart: int) -> FunctionCall:
    """The call of a function that makes the states of so many branches, each of so many `words`, numbers of 8
    bytes. The states are `apart` numbers from each other.

    Its arguments are the states, that of the loop around the branches, and the number of the branch to be
    taken. A number that no branch has means the last one.
    """
    body = f"""\
const int number = *index;
const int taken = number >= 0 && number < count ? number : count - 1;
const int branch = blockIdx.x;
for (int i = threadIdx.x; i < words; i += {WARP})
  states[branch * apart + i] = i == {ENDED} && branch != taken ? 1 : loop[i];"""
    parameters = [
        Parameter("states", int64, written=True),
        Parameter("loop", int64),
        Parameter("index", int32),
    ]
    made = call("choose", parameters, body, (1, 1, 1), (WARP, 1, 1))
    function = replace(made.function, sizes=("count", "words", "apart"), grid=None)
    return replace(made, function=function, sizes=(branches, words, apart), blocks=(branches, 1, 1))


# What a loop is, in numbers of 8 bytes: the address of the condition before the first iteration, that of the
# condition after each, the trip count or -1 if that depends on values, the number of rows. Then for each row
# the address of row 0, bytes of a row, their number, what is to be added to the counter, the address of
# memory for a row that does not exist; addresses of the counter in even and odd iterations and its bytes, or
# 0 bytes and then its first value and its step.
LOOP_NUMBERS, ROW_NUMBERS = 4, 10
ADVANCE = call(
    "advance",
    [Parameter("loop", int64, written=True), Parameter("about", int64)],
    f"""
const int64_t number = loop[{DONE}];
const bool ended = loop[{ENDED}];
__syncthreads();
if (ended) return;
const int64_t count = about[2];
const uint8_t* condition = reinterpret_cast<const uint8_t*>(about[number ? 1 : 0]);
const bool goes_on = number != count && (*condition || (number && count >= 0));
if (threadIdx.x == 0) loop[goes_on ? {DONE} : {ENDED}] += 1;
if (!goes_on) return;
for (int i = threadIdx.x; i < about[3]; i += {WARP}) {{
  const int64_t* row = about + {LOOP_NUMBERS} + i * {ROW_NUMBERS};
  const int64_t counter = row[5 + number % 2];
  int64_t at = row[3];
  if (row[7] == 0) at += row[8] + row[9] * number;
  else if (row[7] == 4) at += *reinterpret_cast<const int32_t*>(counter);
  else at += *reinterpret_cast<const int64_t*>(counter);
  loop[{ROWS} + i] = at >= 0 && at < row[2] ? row[0] + at * row[1] : row[4];
}}
""",
    (1, 1, 1),
    (WARP, 1, 1),
    True,
)
