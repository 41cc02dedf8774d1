"""A C program that calls the first function of a compiled graph."""

from __future__ import annotations

from staticgraph.runtime.aot.interface import Interface
from staticgraph.runtime.aot.names import CNames

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

_USED = ("state", "weights", "status", "i", "argc", "argv", "read_file", "fopen", "fread", "fclose", "printf")


def example(interface: Interface, separate: bool) -> str:
    """The text of the program. `separate`: the weights are in a file of their own."""
    name, function = interface.name, interface.functions[0]
    names = CNames(name, *_USED)
    arrays = [(names.new(a.name), a, size) for a, size in zip(function.arrays, function.sizes, strict=True)]
    declarations = [f"static {array.c_type} {variable}[{size}];" for variable, array, size in arrays]
    files = {f"{array.name}.bin": variable for variable, array, _ in arrays[: len(function.inputs)]}
    if separate:
        declarations.append(f"static uint64_t weights[{name.upper()}_WEIGHTS / 8];")
        files = {f"{name}.weights": "weights", **files}
    printing = ""
    for variable, array, size in arrays[len(function.inputs) :]:
        form, kind = ("%g", "double") if array.c_type in ("float", "double") else ("%lld", "long long")
        what = f'"{array.name} {form}\\n", ({kind}){variable}[i]'
        printing += f"    for (i = 0; i < {size}; i++) printf({what});\n"
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


def _reading(files: dict[str, str]) -> str:
    reads = (f" || !read_file(argv[{n}], {to}, sizeof {to})" for n, to in enumerate(files.values(), 1))
    return _READING.format(count=1 + len(files), reads="".join(reads), usage=" ".join(files))
