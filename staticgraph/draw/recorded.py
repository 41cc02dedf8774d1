"""The drawing of a graph as the user built it.

What is there only to set the stage is drawn into the box that it serves: a variable's box holds its reads
and its initialiser, and small constants become a line in the label of the operation that uses them. The
backward operations of one call of `gradients` are one box, beside the model that they are made of. Each loop
or branch is an area around the operations inside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile

from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.opdef import Role as ParamRole
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors, regions_of, whole
from staticgraph.compiler.graph.tensor import Region as GraphRegion
from staticgraph.compiler.ops.structural import changed_variables
from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Region, Role, Work
from staticgraph.draw.wording import (
    attribute_lines,
    counted,
    is_short,
    lines_of,
    place_lines,
    place_of,
    shorten,
    stem,
    type_text,
    value_text,
)

Arrow = tuple[Tensor, Operation, Flow, str]  # from, to, what it is, its text or "" for the type


def holds_regions(op: Operation) -> bool:
    """Return True if an operation is a loop or branch."""
    return bool(regions_of(op))


def twin_of(op: Operation) -> Operation | None:
    """For a param of a loop's condition, that of the body, as which it is drawn."""
    if op.region is None or op.region.owner is None or op.definition.name != "region_parameter":
        return None
    cond, body = op.region.owner.attrs["cond"], op.region.owner.attrs["body"]
    return body.params[cond.params.index(op.outputs[0])].op if op.region is cond else None


def frame(region: GraphRegion) -> tuple[str, Region]:
    """The name of the area of a region in a path, and how it is shown."""
    owner = region.owner
    assert owner is not None, region
    if owner.definition.name == "while_region":
        return f"{owner.name} rounds", Region("while: rounds", Work.ROUNDS, f"the rounds of {owner.name}")
    number = owner.attrs["branches"].index(region)
    two = owner.tensors[0].dtype.is_bool
    title = ("cond: true", "cond: false")[number] if two else f"branch {number}"
    return f"{owner.name} {title}", Region(title, Work.BRANCH, f"{title} of {owner.name}")


def arrows(op: Operation) -> Iterator[Arrow]:
    """The arrows of a loop or branch. What the operations inside capture goes to them."""
    if op.definition.name == "branch_region":
        yield op.tensors[0], op, Flow.DATA, "condition"
        for branch in op.attrs["branches"]:
            for result in branch.results:
                yield result, op, Flow.DATA, ""
        return
    body = op.attrs["body"]
    yield op.attrs["cond"].results[0], op, Flow.DATA, "condition"
    for start, param, result in zip(op.tensors, body.params, body.results, strict=False):
        yield start, param.op, Flow.DATA, ""
        yield result, op, Flow.DATA, ""
        if result is not param:
            yield result, param.op, Flow.NEXT, ""


def start_of(param: Operation) -> Tensor:
    """Return the tensor that is the value of a parameter before the first iteration."""
    assert param.region is not None and param.region.owner is not None, param
    return param.region.owner.tensors[param.region.params.index(param.outputs[0])]


def passes_on(op: Operation) -> bool:
    """Return True if an operation only passes on the result of a loop or branch in the same region."""
    plain = op.definition.name == "identity" and holds_regions(op.tensors[0].op)
    return plain and op.region is op.tensors[0].op.region and not op.controls


def given_inside(operations: Iterable[Operation]) -> set[Operation]:
    """Return the operations whose outputs are results of regions."""
    return {t.op for op in operations for region in regions_of(op) for t in region.results}


def recorded(graph: Graph, roots: Sequence[Operation] | None, fetched: Collection[Operation]) -> Drawing:
    """The part of `graph` that `roots` need, all of it where they are None; `fetched` ones stand out."""
    operations = _model_of(graph) if roots is None else whole(ancestors(roots))
    return _Recorded(operations, set(fetched)).drawing()


def _model_of(graph: Graph) -> list[Operation]:
    """All operations but those that only initialize variables together: each variable's box tells its own."""
    operations = graph.get_operations()
    used = {source for op in operations for source in (*(t.op for t in op.all_inputs), *op.controls)}
    together = {
        op
        for op in operations
        if op.type == "NoOp" and op not in used and op.controls and all(map(_is_initializer, op.controls))
    }
    return [op for op in operations if op not in together]


class _Recorded:
    def __init__(self, operations: list[Operation], fetched: set[Operation]) -> None:
        self.operations = operations
        self.fetched = fetched
        self.users: dict[Operation, list[Operation]] = {op: [] for op in operations}
        for op in operations:
            for source in dict.fromkeys([*(t.op for t in op.all_inputs), *op.controls]):
                self.users[source].append(op)
        self.given = given_inside(operations)
        self.regions: dict[Path, Region] = {}
        self.home: dict[Operation, Operation] = {}  # folded operation -> the one into whose box it goes
        self.inlined: set[Operation] = set()
        self.ordered: set[tuple[Operation, Operation]] = set()  # boxes with an arrow for "runs after"
        self.backward = backward(operations)
        self.home.update((op, first) for op, first in self.backward.items() if op is not first)
        self._fold_loops()
        self._fold_variables()
        self._inline_constants()
        shown = [op for op in operations if op not in self.home and op not in self.inlined]
        self.folded: dict[Operation, list[Operation]] = {}
        for op, home in self.home.items():
            self.folded.setdefault(home, []).append(op)
        self.variables = {op.name for op in shown if role_of(op) is Role.VARIABLE}
        self.scopes = {op.name.rpartition("/")[0] for op in shown}
        self.shown = shown

    def drawing(self) -> Drawing:
        links = [link for op in self.operations if op not in self.inlined for link in self._links(op)]
        boxes = tuple(map(self._box, self.shown))
        return Drawing(boxes, tuple(without_plain_references(links)), regions=self.regions)

    # What is folded

    def _fold_loops(self) -> None:
        """Fold each operation that only passes on a value of a loop or branch into that loop or branch."""
        for op in self.operations:
            if op in self.backward:
                continue
            if (twin := twin_of(op)) is not None:
                self.home[op] = twin
            elif op not in self.fetched and self._is_used(op) and passes_on(op):
                self.home[op] = op.tensors[0].op

    def _is_used(self, op: Operation) -> bool:
        return bool(self.users[op]) or op in self.given

    def _fold_variables(self) -> None:
        for op in reversed(self.operations):  # users before what they use
            definition = op.definition
            if op in self.fetched or op in self.home:
                continue
            if definition.name in ("read_variable", "read_value") or _is_initializer(op):
                self.home[op] = op.tensors[0].op
            elif role_of(op) not in (Role.VARIABLE, Role.INPUT, Role.CARRIED):
                homes = {self.home.get(user) for user in self.users[op]}
                if len(homes) == 1 and (home := homes.pop()) is not None and role_of(home) is Role.VARIABLE:
                    self.home[op] = home

    def _inline_constants(self) -> None:
        for op in self.operations:
            short = op.definition.name == "constant" and is_short(op.attrs["value"].array)
            apart = op in self.home or op in self.fetched or op in self.given
            if short and not apart and self.users[op]:
                self.inlined.add(op)

    # Boxes

    def _box(self, op: Operation) -> Box:
        role = role_of(op)
        path, title = self._placed(op)
        leaf = op.name.rpartition("/")[2]
        return Box(
            op.name,
            path,
            title,
            role,
            op.id,
            self._lines(op, role, title),
            _tooltip(op),
            *place_of(op.where),
            f"{op.type} {stem(leaf)}",
            self._is_fetched(op),
            of=op,
        )

    def _is_fetched(self, op: Operation) -> bool:
        if op in self.backward:
            return any(each in self.fetched for each in (op, *self.folded.get(op, ())))
        return op in self.fetched

    def _placed(self, op: Operation) -> tuple[Path, str]:
        """The scope of a box and its title in it."""
        parts = op.name.split("/")
        if op in self.backward:
            return self._inside(op, parts[:-2]), parts[-2]
        if op.name in self.variables:
            return self._placed_variable(op, parts)
        if op.name in self.scopes:
            return self._inside(op, parts), op.type  # the result of a scope is in it, though it has its name
        return self._inside(op, parts[:-1]), parts[-1]

    def _inside(self, op: Operation, scopes: Sequence[str]) -> Path:
        """The scopes of an operation, and the loops and branches that it is a part of."""
        if op.region is None or (owner := op.region.owner) is None:
            return tuple(scopes)
        around = owner.name.split("/")[:-1]
        name, look = frame(op.region)
        path = (*self._inside(owner, around), name)
        self.regions[path] = look
        return (*path, *(scopes[len(around) :] if list(scopes[: len(around)]) == around else scopes))

    def _placed_variable(self, op: Operation, parts: list[str]) -> tuple[Path, str]:
        """A variable is drawn where it is used: an optimizer's slot in the optimizer's scope."""
        owner = next((d for d in range(1, len(parts)) if "/".join(parts[:d]) in self.variables), len(parts))
        own = parts[: owner - 1]
        used = [user.name.split("/")[:-1] for user in self._users(op)]
        common = _common(used) if used else own
        if common[: len(own)] == own or (owner < len(parts) and common):
            return tuple(common), "/".join(parts[len(own) :])
        return tuple(own), "/".join(parts[len(own) :])

    def _users(self, op: Operation) -> list[Operation]:
        """The drawn operations that use `op` or what is folded into it."""
        users = [user for part in (op, *self.folded.get(op, ())) for user in self.users[part]]
        return [user for user in users if user not in self.home]

    def _lines(self, op: Operation, role: Role, title: str) -> tuple[str, ...]:
        match role:
            case Role.INPUT | Role.VARIABLE | Role.CONSTANT:
                return (type_text(op.outputs[0].type),)
            case Role.CARRIED:
                start = start_of(op)
                from_constant = (
                    [f"from {value_text(start.op.attrs['value'].array)}"] if start.op in self.inlined else []
                )
                return (type_text(op.outputs[0].type), *from_constant)
            case Role.GRADIENTS:
                ys, count = self._differentiated(op)
                return (shorten(f"of {', '.join(t.op.name for t in ys)}"), f"by {counted(count, 'tensor')}")
            case Role.CONTROL:
                return ()
        parts = [] if stem(title).lower() == stem(op.type).lower() else [op.type]
        if role is Role.ASSIGN:
            parts.append(f"→ {shorten(op.tensors[0].op.name, 28)}")
        return lines_of([*parts, *self._constants(op), *attribute_lines(op.definition, op.attrs)])

    def _differentiated(self, op: Operation) -> tuple[Sequence[Tensor], int]:
        """Return what the box of `op` has the derivatives of, and how many derivatives it has."""
        if op not in self.backward:
            return op.tensors[: op.attrs["ys"]], op.attrs["xs"]
        inside = [op, *self.folded.get(op, ())]
        ys = [each.tensors[0] for each in inside if each.definition.name == "seed"]
        given = {t for each in inside for t in each.outputs if each in self.fetched}
        for user in {user for each in inside for user in self.users[each] if user not in self.backward}:
            given.update(t for t in user.all_inputs if self.backward.get(t.op) is op)
        return [y for y in ys if self.backward.get(y.op) is not op], len(given)

    def _constants(self, op: Operation) -> list[str]:
        found = [
            f"{name} = {value_text(tensor.op.attrs['value'].array)}"
            for name, tensor in op.operands.items()
            if tensor.op in self.inlined
        ]
        names = [p.name for p in op.definition.params if p.role is ParamRole.TENSOR]
        if len(names) == len(op.tensors):  # a list of tensors has no names of its own
            for name, tensor in zip(names, op.tensors, strict=True):
                if tensor.op in self.inlined:
                    found.append(f"{name} = {value_text(tensor.op.attrs['value'].array)}")
        return found

    # Links

    def _links(self, op: Operation) -> list[Link]:
        target = self.home.get(op, op)
        out = []
        if holds_regions(op):
            for tensor, to, flow, text in arrows(op):
                if tensor.op not in self.inlined:
                    out.append(self._link(tensor, to, flow, text))
        for position, tensor in enumerate(op.all_inputs):
            if tensor.op not in self.inlined and not holds_regions(op):
                plain = op not in self.backward or op.definition.name == "seed"
                out.append(self._link(tensor, target, _flow(op, position) if plain else Flow.REFERENCE))
        for control in op.controls:
            source = self.home.get(control, control)
            if control not in self.inlined and (source, target) not in self.ordered:
                self.ordered.add((source, target))
                text = f"{op.name} runs after {control.name}"
                out.append(Link(source.name, target.name, f"^{control.name}", "", text, Flow.CONTROL))
        return [link for link in out if link.source != link.target]

    def _link(self, tensor: Tensor, target: Operation, flow: Flow, text: str = "") -> Link:
        source = self.home.get(tensor.op, tensor.op)
        text = text or (type_text(tensor.type) if flow is Flow.DATA else "")
        return Link(source.name, target.name, tensor.name, text, f"{tensor.name}: {tensor.type}", flow)


def backward(operations: Sequence[Operation]) -> dict[Operation, Operation]:
    """Return the backward operations among `operations`, each with the first one of its call of `gradients`.

    A call begins with the cotangents of what it differentiates, and all of its operations are in one scope.
    """
    first: dict[str, Operation] = {}
    found = {}
    for op in operations:
        if op.definition.name == "seed" and _call_of(op, first) is None and "/" in op.name:
            first[op.name.rpartition("/")[0]] = op
    for op in operations:
        if not holds_regions(op) and role_of(op) not in _STATE:
            if (scope := _call_of(op, first)) is not None and op.region is first[scope].region:
                found[op] = first[scope]
    return found


def gradient_scopes(operations: Sequence[Operation]) -> set[Path]:
    """Return the scope of each call of `gradients`."""
    return {tuple(first.name.split("/")[:-1]) for first in backward(operations).values()} - {()}


_STATE = (Role.VARIABLE, Role.INPUT, Role.ASSIGN)


def _call_of(op: Operation, calls: Collection[str]) -> str | None:
    parts = op.name.split("/")
    scopes = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    return next((scope for scope in scopes if scope in calls), None)


def _is_initializer(op: Operation) -> bool:
    return op.definition.name == "assign" and op.name == f"{op.tensors[0].op.name}/Assign"


def _common(scopes: list[list[str]]) -> list[str]:
    """The innermost scope that holds all `scopes`."""
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*scopes, strict=False))
    return [names[0] for names in shared]


def without_plain_references(links: list[Link]) -> list[Link]:
    """Links without the references from boxes that also give their value to something.

    Labels tell what is assigned; an arrow from each variable to its update would only be in the way, unless
    the update has no other.
    """
    used = {link.source for link in links if link.flow is not Flow.REFERENCE}
    joined = {link.target for link in links if link.flow is not Flow.REFERENCE}
    return [
        link
        for link in links
        if link.flow is not Flow.REFERENCE or link.source not in used or link.target not in joined
    ]


def role_of(op: Operation) -> Role:
    """Return the role of an operation, which decides what its box looks like."""
    definition = op.definition
    match definition.name:
        case "placeholder" | "placeholder_with_default":
            return Role.INPUT
        case "variable":
            return Role.VARIABLE
        case "constant":
            return Role.CONSTANT
        case "symbolic_gradients" | "seed":
            return Role.GRADIENTS
        case "region_parameter":
            return Role.CARRIED
    if definition.effect is Effect.RANDOM:
        return Role.RANDOM
    if definition.effect is Effect.WRITE:
        return Role.ASSIGN
    return Role.OP if op.outputs else Role.CONTROL


def _flow(op: Operation, position: int) -> Flow:
    if position < len(changed_variables(op)):
        return Flow.REFERENCE
    if op.definition.name == "symbolic_gradients" and position >= op.attrs["ys"] + op.attrs["seeds"]:
        return Flow.REFERENCE
    return Flow.DATA


def _tooltip(op: Operation) -> str:
    lines = [f"{op.name} ({op.type})"]
    lines += [f"{t.name}: {t.type}" for t in op.outputs[:6]]
    if len(op.outputs) > 6:
        lines.append(f"and {len(op.outputs) - 6} more outputs")
    if op.device:
        lines.append(f"device {op.device}")
    return "\n".join(lines + place_lines(op.where))
