"""Tables of the rules that write ops. The other modules of this folder fill them.

An op that is in none of the tables is written in terms of others: by the expansion of a composite, by the
body of an elementwise op or, if it only moves elements, by the source of each element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.opdef import Kind, OpDef
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.onnx.write.builder import Builder
from staticgraph.formats.onnx.write.value import Held, NoForm


@dataclass(frozen=True, slots=True)
class Use:
    """A use of an op that is being written: where to, and the types of its results."""

    writer: Builder
    op: OpDef
    types: tuple[TensorType, ...]

    @property
    def type(self) -> TensorType:
        """The type of the first result."""
        return self.types[0]

    @property
    def dtype(self) -> DType:
        return self.types[0].dtype

    def __call__(
        self, operator: str, *inputs: Held | None, type: TensorType | None = None, **attrs: Any
    ) -> Held:
        """One node: the first result of an ONNX operator, of the type of the op's first result but `type`."""
        return self.writer.node(operator, inputs, (type or self.type,), attrs)[0]

    def several(
        self, operator: str, *inputs: Held | None, types: Sequence[TensorType], **attrs: Any
    ) -> list[Held]:
        """One node with several results."""
        return self.writer.node(operator, inputs, types, attrs)

    def constant(self, value: Any, dtype: DType = int64) -> Held:
        return self.writer.constant(value, dtype)

    def by_definition(self, *inputs: Held, **attrs: Any) -> Any:
        """The op in terms of others."""
        return self.writer.by_definition(self.op, inputs, attrs, self.types)

    def ints(self, value: Any, what: str) -> tuple[int, ...]:
        """A vector of whole numbers that must be known."""
        entries = self.writer.entries(value)
        if any(isinstance(n, Held) for n in entries):
            raise NoForm(f"its {what} depends on what is fed")
        return tuple(entries)


Rule = Callable[..., Any]  # (use, *inputs, **attrs) -> what `OpDef.expand` would give

RULES: dict[str, Rule] = {}  # by the name of the op
KEEPS_ORDER: set[str] = set()  # ops whose rule takes inputs with their axes in another order
WITHOUT: dict[str, str] = {}  # ops that cannot be written, and why


def writes(*names: str, keeps_order: bool = False) -> Callable[[Rule], Rule]:
    """Decorator: the function writes the ops of these names.

    With `keeps_order` it may be given values with their axes in another order, and may give such values.
    """

    def declare(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        if keeps_order:
            KEEPS_ORDER.update(names)
        return rule

    return declare


def direct(operators: Mapping[str, str]) -> None:
    """Ops, by name, that an operator of ONNX has the inputs and the meaning of."""

    def rule(operator: str) -> Rule:
        return lambda use, *inputs, **_: use(operator, *inputs)

    for name, operator in operators.items():
        RULES[name] = rule(operator)


def reason(op: OpDef) -> str | None:
    """Return the reason that an op cannot be written, if there is one."""
    if op.name not in RULES and op.kind is Kind.HOST:
        return "only Python computes it, and ONNX has no such operator"
    return WITHOUT.get(op.name)


def without(reason: str, names: str) -> None:
    """Note ops that ONNX has nothing for, by their names with blanks between them."""
    WITHOUT.update(dict.fromkeys(names.split(), reason))
