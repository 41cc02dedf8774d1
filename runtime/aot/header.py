"""The header of a compiled graph: what a C program can call, and what it must know for that."""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.codegen.llvm.c_interface import (
    NO_NUMBER,
    NO_POINTER,
    NOT_READY,
    OUT_OF_RANGE,
    WRONG_WEIGHTS,
)
from staticgraph.compiler.codegen.llvm.open_interface import (
    NEGATIVE_SIZE,
    OTHER_SIZES,
    SIZES_DISAGREE,
    SMALL_WORKSPACE,
    TOO_LARGE,
    OpenEntryPoint,
)
from staticgraph.compiler.codegen.llvm.staged_interface import SMALL_RESULT, StagedEntryPoint
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.runtime.aot.interface import CFunction, Field, Interface

_HEADER = """\
/* {name}: {labels} of {source}, for {triple}, {cpu}.

   Prepare a {name} with {name}_init, then call its functions. Each {name} has variables of its own.
{sized}   Functions use no memory but what they are given: threads may call them at the same time, each with
   another {name}. Arrays are row-major; what a function writes must not overlap with anything else.
   {unusual}Functions return 0, or one of the errors below; then no variable has changed. */
#ifndef {guard}_H
#define {guard}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{errors}
{sizes}{pool}{variables}
typedef struct {name} {{
    uint64_t ready;
    const void *weights; /* the variables that no function changes */
{members}    unsigned char workspace[{workspace}];
}} {name};
typedef char {name}_has_its_size[sizeof({name}) == {bytes} ? 1 : -1]; /* the code relies on it */

{init}
{functions}
#ifdef __cplusplus
}}
#endif

#endif
"""

_SIZED = """\
   Sizes of arrays are parameters: `x_0` is the first size of `x`. They may be elements of inputs: `n[0]`.
   Such a function works in a workspace of the caller's, at any address: of as many bytes as NAME_sizes tells,
   or more. The content does not matter.
"""

_STAGED = """\
   A function without a NAME_sizes computes what the data decide the size of. `*bytes` says how large its
   workspace is, and `y_room` how many elements there is room for in `y`; the function tells the shape in
   `y_shape`. If the workspace is too small it returns SMALL_WORKSPACE, and tells in `*bytes` how large it
   must be at least; if there is too little room it returns SMALL_RESULT. Give it more and call it again.
"""

_VARIABLES = """
/* What functions change: variables, and the states of random operations, which are how much of the stream
   is used up, and two seeds. */
typedef struct {name}_variables {{
{fields}
}} {name}_variables;
"""

_POOL = """
/* Threads: call {name}_pool_help in up to {helpers} threads of yours, each with another number from 0 on, and
   put the pool's address into the member `pool` of each {name} that they are to help with. Results are
   the same. The threads return after {name}_pool_close. */
#define {guard}_HELPERS {helpers}
typedef struct {name}_pool {{
    uint64_t words[{words}];
}} {name}_pool;
int {name}_pool_open({name}_pool *pool, unsigned helpers);
int {name}_pool_help({name}_pool *pool, unsigned number);
int {name}_pool_close({name}_pool *pool);
"""

_INIT = """\
/* Makes `self` a {name} with the values that were saved. */
int {name}_init({name} *self);
"""

_INIT_FROM = """\
#define {guard}_WEIGHTS {size} /* bytes of {name}.weights */

/* Makes `self` a {name} with the values of a file, whose contents must stay in memory as long as `self` is
   used. They are aligned as a uint64_t is, or better. */
int {name}_init({name} *self, const void *file, size_t size);
"""


def header(interface: Interface, source: str, target: CpuTarget, separate: bool) -> str:
    """The text of the header. `separate`: the weights are in a file of their own."""
    name, guard, functions = interface.name, interface.name.upper(), interface.functions
    fields = "\n".join(map(_field, interface.fields))
    members = f"    {name}_pool *pool; /* may be null */\n" if interface.pool else ""
    members += f"    {name}_variables variables;\n" if fields else ""
    return _HEADER.format(
        name=name,
        guard=guard,
        triple=target.triple,
        cpu=target.cpu,
        source=_comment(source),
        labels=_comment(", ".join(f.label for f in functions)),
        unusual=_unusual(interface),
        sized=_sized(functions),
        errors="\n".join(_errors(interface, separate)),
        sizes=_known_sizes(functions),
        pool=_pool(interface),
        variables=_VARIABLES.format(name=name, fields=fields) if fields else "",
        members=members,
        workspace=interface.workspace,
        bytes=interface.size,
        init=_init(interface, separate),
        functions="\n".join(_prototype(name, f) for f in functions),
    )


def _sized(functions: Iterable[CFunction]) -> str:
    """Explain functions that take sizes, or tell them."""
    staged = [isinstance(function.entry, StagedEntryPoint) for function in functions]
    opened = any(function.axes for function in functions)
    return (_SIZED if opened else "") + (_STAGED if any(staged) else "")


def _known_sizes(functions: Iterable[CFunction]) -> str:
    lines = "".join(f"{line}\n" for f in functions for line in _sizes(f))
    return f"\n/* How many numbers are in the arrays that functions are given. */\n{lines}" if lines else ""


def _sizes(function: CFunction) -> Iterable[str]:
    for name, array in zip(function.sizes, function.arrays, strict=True):
        if name is not None:
            yield f"#define {name} {array.elements} /* {array.type} */"


def _errors(interface: Interface, separate: bool) -> Iterable[str]:
    guard = interface.name.upper()
    yield f"#define {guard}_NO_POINTER {NO_POINTER} /* a pointer is null */"
    yield f"#define {guard}_NOT_READY {NOT_READY} /* it was not initialised */"
    if separate:
        yield f"#define {guard}_WRONG_WEIGHTS {WRONG_WEIGHTS} /* the file is for other code */"
    if interface.pool is not None:
        yield f"#define {guard}_NO_NUMBER {NO_NUMBER} /* that of a helper is too large */"
    if any(function.entry.checked for function in interface.functions):
        yield f"#define {guard}_OUT_OF_RANGE {OUT_OF_RANGE} /* an index, a label or a divisor is */"
    staged = any(isinstance(function.entry, StagedEntryPoint) for function in interface.functions)
    if staged or any(function.axes for function in interface.functions):
        yield f"#define {guard}_NEGATIVE_SIZE {NEGATIVE_SIZE} /* a size is negative */"
        yield f"#define {guard}_TOO_LARGE {TOO_LARGE} /* sizes need more bytes than there are addresses */"
        yield f"#define {guard}_SIZES_DISAGREE {SIZES_DISAGREE} /* sizes that must be equal are not */"
        yield f"#define {guard}_OTHER_SIZES {OTHER_SIZES} /* the function is not for such sizes */"
        yield f"#define {guard}_SMALL_WORKSPACE {SMALL_WORKSPACE} /* it needs a larger workspace */"
    if staged:
        yield f"#define {guard}_SMALL_RESULT {SMALL_RESULT} /* it needs more room for a result */"


def _field(field: Field) -> str:
    array = field.array
    dims = "".join(f"[{n}]" for n in array.dims)
    return f"    {array.c_type} {array.name}{dims}; /* {_comment(field.tensor)} */"


def _pool(interface: Interface) -> str:
    pool = interface.pool
    if pool is None:
        return ""
    guard, words = interface.name.upper(), -(-pool.size // 8)
    return _POOL.format(name=interface.name, guard=guard, helpers=pool.helpers, words=words)


def _init(interface: Interface, separate: bool) -> str:
    size = len(interface.mark) + len(interface.content)
    text = _INIT_FROM if separate else _INIT
    return text.format(name=interface.name, guard=interface.name.upper(), size=size)


def _prototype(name: str, function: CFunction) -> str:
    inputs, outputs = (
        ", ".join(f"{a.name} {a.type}" for a in arrays) or "nothing"
        for arrays in (function.inputs, function.outputs)
    )
    sizes = [f"int64_t {axis}" for axis in function.axes]
    takes = [f"const {a.c_type} *{a.name}" for a in function.inputs]
    parameters = [f"{name} *self", *sizes, *takes]
    parameters += [f"{a.c_type} *{a.name}" for a in function.outputs]
    comment = f"/* {_comment(function.label)}: {inputs} -> {outputs} */"
    if isinstance(function.entry, StagedEntryPoint):
        parameters = parameters[: 1 + len(sizes) + len(takes)]
        for array in function.outputs:
            parameters.append(f"{array.c_type} *{array.name}")
            if array.is_open:
                rank = len(array.type.static_shape)
                parameters += [f"size_t {array.name}_room", f"int64_t {array.name}_shape[{rank}]"]
        parameters += ["void *workspace", "size_t *bytes"]
        return f"{comment}\nint {function.symbol}({', '.join(parameters)});\n"
    if not isinstance(function.entry, OpenEntryPoint):
        return f"{comment}\nint {function.symbol}({', '.join(parameters)});\n"
    told = [f"int64_t {a.name}[{len(a.type.static_shape)}]" for a in function.outputs if a.is_open]
    parameters += ["void *workspace", "size_t bytes"]
    return _OPEN.format(
        symbol=function.symbol, parameters=", ".join(parameters), comment=comment,
        sizes_symbol=function.entry.sizes_name,
        sizes=", ".join([*sizes, *(takes[n] for n in function.sized), *told, "size_t *bytes"]),
        conditions=_conditions(function),
        told="the shapes of results and the bytes of workspace" if told else "the bytes of workspace",
    )  # fmt: skip


_OPEN = """\
{comment}
int {symbol}({parameters});
/* Tells {told} of {symbol}; pointers may be null.{conditions} */
int {sizes_symbol}({sizes});
"""


def _conditions(function: CFunction) -> str:
    """Say for which sizes a function is, if not for all of them."""
    if "" in function.conditions:
        return ""
    listed = " or\n   ".join(_comment(text) for text in dict.fromkeys(function.conditions))
    return f" Sizes are\n   {listed}."


_UNUSUAL = {
    "bool": "A bool is 0 or 1. ",
    "float16": "A float16 is its 16 bits. ",
    "bfloat16": "A bfloat16 is its 16 bits. ",
    "complex64": "A complex64 is two floats. ",
    "complex128": "A complex128 is two doubles. ",
}


def _unusual(interface: Interface) -> str:
    """Explain the types in the interface that C does not have, for the header's comment."""
    arrays = [*(a for f in interface.functions for a in f.arrays), *(f.array for f in interface.fields)]
    found = {a.type.dtype.name for a in arrays}
    return "".join(text for name, text in _UNUSUAL.items() if name in found)


def _comment(text: str) -> str:
    """A name from a file, which must not end the comment that it stands in."""
    return text.encode("ascii", "backslashreplace").decode().replace("*/", "* /").replace("/*", "/ *")
