"""Messages of `.proto` files, which declare them in the language of protocol buffers.

A comment before a message is its docstring. Files are part of this project, as Python's are.
"""

from __future__ import annotations

import re
import sys
from dataclasses import field
from pathlib import Path
from typing import Any

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.messages.message import Message
from staticgraph.formats.tf.messages.scalars import Enum

_SCHEMAS = Path(__file__).parents[2] / "schemas"
_PIECE = re.compile(r"//[^\n]*|[{};]|[^{};/]+")
_NAME = re.compile(r"[\w.]+")


@dataclass(slots=True)
class _Block:
    """A message, an enum or a `oneof` that is being read, or the file."""

    kind: str = ""
    name: str = ""  # with those of the messages around it
    doc: str = ""
    statements: list[str] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)


def declare(module: str, base: type[Message] = Message) -> None:
    """Define the messages of a module, which the file of its name in `formats/schemas` declares.

    Args:
        module: The module's name.
        base: The class of all messages, which tells the package of their types and the folder of the file.
    """
    here = vars(sys.modules[module])
    blocks, comments, head = [_Block(members=here)], [], ""
    enums = {"DataType"}  # fields of an enum are numbers, those of a message are not
    file = _SCHEMAS / (base.package or "tensorflow") / f"{module.rpartition('.')[2]}.proto"
    for piece in _PIECE.findall(file.read_text(encoding="utf-8")):
        text = " ".join(piece.split())
        if text.startswith("//"):
            comments.append(piece[2:].removeprefix(" ").rstrip())
        elif text == "{":
            kind, name = head.split()
            outer = blocks[-1].name
            blocks.append(_Block(kind, f"{outer}.{name}" if outer else name, "\n".join(comments)))
            comments = []
        elif text == "}":
            block = blocks.pop()
            _close(block, blocks[-1], module, base)
            if block.kind == "enum":
                enums.add(f"{base.package}.{block.name}".removeprefix("."))
        elif text == ";":
            type_name = head.partition("=")[0]
            typed = _NAME.sub(lambda found: f"enum {found[0]}" if found[0] in enums else found[0], type_name)
            blocks[-1].statements.append(typed + head[len(type_name) :])
        elif text:
            head = text


def _close(block: _Block, outer: _Block, module: str, base: type[Message]) -> None:
    """Put what was read into the block around it."""
    name = block.name.rpartition(".")[2]
    if block.kind == "oneof":
        outer.statements += [f"{statement} in {name}" for statement in block.statements]
    elif block.kind == "enum":
        numbers = (statement.split(" = ") for statement in block.statements)
        outer.members[name] = Enum(**{key: int(number) for key, number in numbers})
    else:
        named = {"__module__": module, "__qualname__": block.name, "__doc__": block.doc or None}
        schema = "\n".join(block.statements)
        outer.members[name] = type(name, (base,), {**block.members, **named, "schema": schema})
