"""A C program that calls the first function of a compiled graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from staticgraph.compiler.codegen.llvm.open_interface import OpenEntryPoint
from staticgraph.compiler.codegen.llvm.staged_interface import StagedEntryPoint
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.aot.interface import Array, CFunction, CNames, Interface

_MAIN = """\
/* Calls {symbol} once{source}. */
#include <stdio.h>
#include "{name}.h"

static {name} state;
{declarations}
{read_file}
int main({parameters}) {{
{variables}    int status;
{reading}    status = {name}_init(&state{weights});
    if (!status) status = {symbol}(&state{arguments});
    if (status) {{
        fprintf(stderr, "{symbol}: error %d\\n", status);
        return 1;
    }}
{printing}    return 0;
}}
"""

_OPEN_MAIN = """\
/* Calls {symbol} once, with sizes from the command line{source}. */
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

static {name} state;
{weights_array}{read_file}
int main(int argc, char **argv) {{
{variables}    size_t bytes;
    void *workspace;
    int status;
    if (argc != {count}) {{
        fprintf(stderr, "usage: %s {usage}\\n", argv[0]);
        return 1;
    }}
{sizes}{reading}    status = {sizes_symbol}({asked}&bytes);
    if (status) {{
        fprintf(stderr, "{sizes_symbol}: error %d\\n", status);
        return 1;
    }}
    workspace = malloc(bytes);
{memory}    if (!workspace{missing}) return 1;
    status = {name}_init(&state{weights});
    if (!status) status = {symbol}(&state, {arguments}, workspace, bytes);
    if (status) {{
        fprintf(stderr, "{symbol}: error %d\\n", status);
        return 1;
    }}
{printing}    return 0;
}}
"""

_STAGED_MAIN = """\
/* Calls {symbol} until it has as much memory as it asks for,
   with sizes from the command line{source}. */
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

static {name} state;
{weights_array}{read_file}
int main(int argc, char **argv) {{
{variables}    size_t bytes = 0;
    void *workspace = NULL;
    int status;
    if (argc != {count}) {{
        fprintf(stderr, "usage: %s {usage}\\n", argv[0]);
        return 1;
    }}
{sizes}{reading}{memory}    status = {name}_init(&state{weights});
    while (!status || status == {guard}_SMALL_WORKSPACE || status == {guard}_SMALL_RESULT) {{
        status = {symbol}(&state, {arguments}, workspace, &bytes);
        if (!status) break;
        if (status == {guard}_SMALL_WORKSPACE) {{
            free(workspace);
            workspace = malloc(bytes);
            if (!workspace) return 1;
        }}
{more}    }}
    if (status) {{
        fprintf(stderr, "{symbol}: error %d\\n", status);
        return 1;
    }}
{printing}    return 0;
}}
"""

_READ_FILE = """
static int read_file(const char *path, void *to, size_t bytes) {
    FILE *file = fopen(path, "rb");
    size_t found = file ? fread(to, 1, bytes, file) : 0;
    if (file) fclose(file);
    return found == bytes;
}
"""

_READING = """\
    if (argc != {count}{reads}) {{
        fprintf(stderr, "usage: %s {usage}\\n", argv[0]);
        return 1;
    }}
"""

_USED = (
    "state", "weights", "workspace", "bytes", "status", "i", "argc", "argv", "read_file", "fopen", "fread",
    "fclose", "printf", "malloc", "strtoll", "free",
)  # fmt: skip


def example(interface: Interface, separate: bool) -> str:
    """The text of the program. `separate`: the weights are in a file of their own."""
    name, function = interface.name, interface.functions[0]
    if isinstance(function.entry, OpenEntryPoint):
        return _open_example(interface, function, function.entry.sizes_name, separate)
    if isinstance(function.entry, StagedEntryPoint):
        return _staged_example(interface, function, separate)
    names = CNames(name, *_USED)
    arrays = [(names.new(a.name), a, size) for a, size in zip(function.arrays, function.sizes, strict=True)]
    declarations = [f"static {array.c_type} {variable}[{size}];" for variable, array, size in arrays]
    files = {f"{array.name}.bin": variable for variable, array, _ in arrays[: len(function.inputs)]}
    if separate:
        declarations.append(f"static uint64_t weights[{name.upper()}_WEIGHTS / 8];")
        files = {f"{name}.weights": "weights", **files}
    printing = _printing((v, array, str(size)) for v, array, size in arrays[len(function.inputs) :])
    return _MAIN.format(
        name=name,
        symbol=function.symbol,
        source=", with inputs from files that hold them as they are in memory" if function.inputs else "",
        declarations="\n".join(declarations),
        read_file=_READ_FILE if files else "",
        parameters="int argc, char **argv" if files else "void",
        variables="    size_t i;\n" if function.outputs else "",
        reading=_reading(files) if files else "",
        weights=", weights, sizeof weights" if separate else "",
        arguments="".join(f", {variable}" for variable, _, _ in arrays),
        printing=printing,
    )


def _open_example(interface: Interface, function: CFunction, sizes_symbol: str, separate: bool) -> str:
    """The text of a program that calls a function with sizes."""
    sized = _Sized.of(interface, function, separate)
    inputs, told = sized.inputs, sized.shapes
    asked = [*sized.axes, *(inputs[n][0] for n in function.sized), *told.values()]
    arguments = [*sized.axes, *(variable for variable, _ in (*inputs, *sized.outputs))]
    return _OPEN_MAIN.format(
        sizes_symbol=sizes_symbol,
        asked="".join(f"{each}, " for each in asked),
        memory="".join(sized.memory[variable] for variable, _ in sized.outputs),
        missing="".join(f" || !{variable}" for variable, _ in sized.outputs),
        arguments=", ".join(arguments),
        variables=sized.declared(),
        **sized.texts,
    )


def _staged_example(interface: Interface, function: CFunction, separate: bool) -> str:
    """The text of a program that calls a function which tells how much memory it needs."""
    sized, guard = _Sized.of(interface, function, separate), interface.name.upper()
    arguments = [*sized.axes, *(variable for variable, _ in sized.inputs)]
    memory, more, rooms = "", "", ""
    for variable, array in sized.outputs:
        arguments.append(variable)
        if (shape := sized.shapes.get(variable)) is None:
            memory += f"{sized.memory[variable]}    if (!{variable}) return 1;\n"
            continue
        room = sized.names.new(f"{variable}_room")
        arguments += [room, shape]
        rooms += f"    size_t {room} = 0;\n"
        memory += f"    {variable} = NULL;\n"
        elements = _count(Array(array.name, TensorType(int32, array.type.shape)), shape)
        more += f"            {room} = {elements};\n            free({variable});\n"
        more += f"        {sized.memory[variable]}            if (!{variable}) return 1;\n"
    told = f"        if (status == {guard}_SMALL_RESULT) {{\n{more}        }}\n" if more else ""
    return _STAGED_MAIN.format(
        guard=guard,
        memory=memory,
        more=told,
        arguments=", ".join(arguments),
        variables=rooms + sized.declared(),
        **sized.texts,
    )


@dataclass(frozen=True, slots=True)
class _Sized:
    """The parts of a program that calls a function with sizes.

    Attributes:
        names: Names of variables that are taken.
        axes: The variables of sizes.
        inputs: The variable of each input.
        outputs: The variable of each result.
        shapes: The variable of the shape of each result whose size is told.
        memory: The statement that allocates each array.
        texts: Parts of the text by name.
    """

    names: CNames
    axes: list[str]
    inputs: list[tuple[str, Array]]
    outputs: list[tuple[str, Array]]
    shapes: dict[str, str]
    memory: dict[str, str]
    texts: dict[str, Any]

    @classmethod
    def of(cls, interface: Interface, function: CFunction, separate: bool) -> _Sized:
        """Return what a program that calls this function has."""
        name, names = interface.name, CNames(interface.name, *_USED)
        axes = [names.new(axis) for axis in function.axes]
        arrays = [(names.new(a.name), a) for a in function.arrays]
        inputs, outputs = arrays[: len(function.inputs)], arrays[len(function.inputs) :]
        shapes = {variable: names.new(f"{variable}_shape") for variable, a in outputs if a.is_open}
        left = iter(axes)
        counts = [
            _count(array, left if number < len(inputs) else shapes.get(variable, ""))
            for number, (variable, array) in enumerate(arrays)
        ]
        files = [f"{array.name}.bin" for _, array in inputs]
        first = 1 + len(axes) + separate
        memory = {
            variable: f"    {variable} = malloc({count} * sizeof *{variable} + 1);\n"
            for (variable, _), count in zip(arrays, counts, strict=True)
        }
        reading = [
            memory[variable] + f"    if (!{variable} || !read_file(argv[{first + n}], {variable}, "
            f"{count} * sizeof *{variable})) {{\n"
            + f'        fprintf(stderr, "cannot read %s\\n", argv[{first + n}]);\n        return 1;\n    }}\n'
            for n, ((variable, _), count) in enumerate(zip(inputs, counts, strict=False))
        ]
        if separate:
            reading.insert(0, f"    if (!read_file(argv[{first - 1}], weights, sizeof weights)) return 1;\n")
        texts = {
            "name": name,
            "symbol": function.symbol,
            "source": " and inputs from files that hold them as they are in memory" if inputs else "",
            "weights_array": f"static uint64_t weights[{name.upper()}_WEIGHTS / 8];\n" if separate else "",
            "read_file": _READ_FILE if reading else "",
            "count": first + len(files),
            "usage": " ".join([*axes, *([f"{name}.weights"] if separate else []), *files]),
            "sizes": "".join(f"    {axis} = strtoll(argv[{n}], 0, 10);\n" for n, axis in enumerate(axes, 1)),
            "reading": "".join(reading),
            "weights": ", weights, sizeof weights" if separate else "",
            "printing": _printing(
                (v, a, n) for (v, a), n in zip(outputs, counts[len(inputs) :], strict=True)
            ),
        }
        return cls(names, axes, inputs, outputs, shapes, memory, texts)

    def declared(self) -> str:
        """Return the declarations of variables."""
        lines = [f"int64_t {axis};" for axis in self.axes]
        for variable, array in self.outputs:
            if variable in self.shapes:
                lines.append(f"int64_t {self.shapes[variable]}[{len(array.type.static_shape)}];")
        lines += [f"{array.c_type} *{variable};" for variable, array in (*self.inputs, *self.outputs)]
        lines += ["size_t i;"] if self.outputs else []
        return "".join(f"    {line}\n" for line in lines)


def _count(array: Array, told: str | Iterator[str]) -> str:
    """The number of elements of an array, as an expression in C.

    Args:
        array: The array.
        told: Where its open sizes are: the variable that has its shape, or a variable for each.
    """
    factors = [
        str(n) if not isinstance(n, Size) else f"{told}[{axis}]" if isinstance(told, str) else next(told)
        for axis, n in enumerate(array.type.static_shape)
    ]
    if array.type.dtype.is_complex:
        factors.append("2")
    return " * ".join(f"(size_t){factor}" for factor in factors) or "1"


def _printing(arrays: Iterable[tuple[str, Array, str]]) -> str:
    """The statements that print arrays: variables, what they hold, and their numbers of elements."""
    lines = ""
    for variable, array, count in arrays:
        form, kind = ("%g", "double") if array.c_type in ("float", "double") else ("%lld", "long long")
        what = f'"{array.name} {form}\\n", ({kind}){variable}[i]'
        lines += f"    for (i = 0; i < {count}; i++) printf({what});\n"
    return lines


def _reading(files: dict[str, str]) -> str:
    reads = (f" || !read_file(argv[{n}], {to}, sizeof {to})" for n, to in enumerate(files.values(), 1))
    return _READING.format(count=1 + len(files), reads="".join(reads), usage=" ".join(files))
