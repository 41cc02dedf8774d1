"""Derivatives of loops, which are loops again, so they have derivatives themselves.

The backward loop goes through the rounds in reverse. What it needs of the forward rounds is kept: a second
form of the forward loop, of the same family, writes those values into tensors with a row per round. The
compiler merges the two forms afterwards.

    forward   v' = body(v)                keeps r, the values that the derivative of the body is made of
    backward  g  = vjp of body at r (g')  and what captures receive is added up

Where a capture receives products of matrices and the number of rounds is known, their factors are kept too,
and one large product after the loop takes the place of a small one in each round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from staticgraph.compiler.autodiff.branches import zeros
from staticgraph.compiler.autodiff.cotangents import Cotangents, Unbounded, Vjp
from staticgraph.compiler.graph.builder import Builder, number
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.function import Function, Node, Value, substitute, toposort
from staticgraph.compiler.graph.lambda_lift import close, depends_on
from staticgraph.compiler.graph.opdef import OPS, Kind, ops
from staticgraph.compiler.graph.sizes import estimate, same
from staticgraph.compiler.support.dataclass import cached_property, dataclass

_CONSTANT = {"constant", "fill", "unset"}  # what arrays begin as


def loop_cotangents(
    build: Builder, node: Node, gs: Sequence[Value | None], vjp: Vjp
) -> Cotangents | Unbounded:
    """Return the cotangents of the inputs of a loop, given the cotangents `gs` of its outputs."""
    if node.attrs["bound"] is None:
        return Unbounded(node.attrs["family"])
    forward = _Forward(build, node)
    round_ = _backward_round(build, forward, gs, vjp)
    if isinstance(round_, Unbounded):
        return round_
    return _Backward(build, forward, round_, _keeping(forward, round_)).cotangents(gs)


@dataclass(frozen=True)
class _Forward:
    """The loop whose derivative is wanted."""

    build: Builder
    node: Node

    @property
    def body(self) -> Function:
        body: Function = self.node.attrs["body"]
        return body

    @property
    def bound(self) -> int:
        bound: int = self.node.attrs["bound"]
        return bound

    @property
    def exact(self) -> bool:
        return bool(self.node.attrs["exact"])

    @property
    def carried(self) -> tuple[Value, ...]:
        """The params of the body that stand for what it carries."""
        return self.body.params[: self.node.attrs["carried"]]

    @property
    def captured(self) -> tuple[Value, ...]:
        return self.body.params[self.node.attrs["carried"] :]

    @cached_property
    def counters(self) -> dict[Value, tuple[float, float]]:
        """Carried params that count: where they begin, and by how much they grow in a round."""
        found = {}
        for param, first, result in zip(
            self.carried, self.node.inputs[1:], self.body.results[1:], strict=False
        ):
            start, step = number(first), _growth(param, result)
            if param.rank == 0 and param.dtype.is_integer and start is not None and step is not None:
                found[param] = start, step
        return found

    @cached_property
    def filled(self) -> set[Value]:
        """Carried arrays that begin as constants, and of which a round does no more than write one row, each
        another one: what a row receives is then what the array does, at the row.
        """
        found = set()
        users = self.body.users
        results = self.body.results[1:]
        for param, first, result in zip(self.carried, self.node.inputs[1:], results, strict=False):
            node = result.node
            if node.op.name != "row_update" or node.inputs[0] is not param or users[param] != [node]:
                continue
            begins = all(n.op.name in _CONSTANT for n in toposort([first]))
            if begins and node.inputs[1] in self.counters and param not in node.inputs[1:]:
                found.add(param)
        return found

    @cached_property
    def round(self) -> Value:
        """The number of the round: something that it carries anyway, or a new param of the body."""
        for param, counted in self.counters.items():
            if counted == (0, 1) and param.dtype is int32:
                return param
        return self.build.parameter(f"round of {self.node.attrs['family']}", int32, ())


def _growth(param: Value, result: Value) -> float | None:
    """The constant that a round adds to a carried number."""
    result = result.plain
    if result.node.op.name != "add":
        return None
    left, right = result.node.inputs
    if left is param:
        return number(right)
    return number(left) if right is param else None


@dataclass(frozen=True, slots=True)
class _Round:
    """The derivative of one round, in terms of the body's own params and values."""

    received: dict[Value, Value]  # by carried param: the stand-in for what it has received so far
    rows: dict[Value, tuple[Value, Value]]  # for rows that arrays receive: their index, and all rows
    parts: dict[Value, Value]  # by param: what it receives
    varying: set[Value]  # values that differ from round to round, and do not depend on what is received
    backward: set[Value]  # values that depend on what is received


def _backward_round(
    build: Builder, forward: _Forward, gs: Sequence[Value | None], vjp: Vjp
) -> _Round | Unbounded:
    results = dict(zip(forward.carried, forward.body.results[1:], strict=True))
    active = _active(forward, gs)
    filled = {p: g for p, g in zip(forward.carried, gs, strict=True) if p in active and p in forward.filled}
    received = {p: build.fresh_parameter("received", p.type) for p in results if p in active - filled.keys()}
    pairs = [(results[p], stand_in) for p, stand_in in received.items()]
    rows: dict[Value, tuple[Value, Value]] = {}
    for param, all_rows in filled.items():
        _, index, row = results[param].node.inputs
        if all_rows is not None:
            stand_in = build.fresh_parameter("received", row.type)
            rows[stand_in] = index, all_rows
            pairs.append((row, stand_in))
    wanted = [*received, *(p for p in forward.captured if p.dtype.is_differentiable)]
    found = vjp(build, [r for r, _ in pairs], [w for _, w in pairs], wanted)
    if isinstance(found, Unbounded):
        return found
    given = {p: g for p, g in zip(wanted, found, strict=True) if g is not None or p in received}
    parts = {p: zeros(build, p) if g is None else g for p, g in given.items()}
    backward = depends_on([*received.values(), *rows], parts.values())
    varying = depends_on(forward.carried, [*parts.values(), *(index for index, _ in rows.values())])
    return _Round(received, rows, parts, varying - backward, backward)


def _active(forward: _Forward, gs: Sequence[Value | None]) -> set[Value]:
    """The carried params that can receive something, now or in an earlier round."""
    reals = [p for p in forward.carried if p.dtype.is_differentiable]
    results = dict(zip(forward.carried, forward.body.results[1:], strict=True))
    active = {p for p, g in zip(forward.carried, gs, strict=True) if g is not None and p in reals}
    grew = True
    while grew:
        below = depends_on(reals, [results[p] for p in active])
        found = {p for p in reals if any(results[a] in depends_on([p], [results[a]]) for a in active)}
        grew = not found <= active and bool(below)
        active |= found
    return active


def _keeping(forward: _Forward, round_: _Round) -> _Kept:
    """The second form of the forward loop, which keeps what a backward round is made of."""
    build, node, family = forward.build, forward.node, forward.node.attrs["family"]
    stacks = {
        r: build.parameter(f"rows {family}.{r.node.serial}.{r.index}", r.dtype, (forward.bound, *r.shape))
        for r in _residuals(forward, round_)
    }
    count = forward.round
    params, results, inputs = list(forward.body.params), list(forward.body.results), list(node.inputs)
    new = [(count, build.constant(0, int32), count + 1)]
    new += [(s, _unset(s), ops.row_update(s, count, r)) for r, s in stacks.items()]
    carried = len(forward.carried)
    for param, init, result in new:
        if param not in params:  # it may keep some of them already
            params.insert(carried, param)
            inputs.insert(1 + carried, init)
            results.append(result)
            carried += 1
    attrs = node.attrs | {"body": Function(tuple(params), tuple(results)), "carried": carried}
    with build.at(node.where):  # it takes the place of the loop, and is no derivative
        outputs = build.node(OPS["loop"], tuple(inputs), attrs).outputs
    place = dict(zip(params, outputs, strict=False))
    rounds = build.constant(forward.bound, int32) if forward.exact else place[count]
    return _Kept({r: place[s] for r, s in stacks.items()}, rounds)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Values that the forward loop caches: a tensor of rows for each value, and the trip count."""

    rows: dict[Value, Value]
    count: Value


def _unset(like: Value) -> Value:
    value: Value = ops.unset(dtype=like.dtype, shape=like.shape)
    return value


def _residuals(forward: _Forward, round_: _Round) -> list[Value]:
    """The values of a forward round that a backward round is made of, but for those that follow from others
    with little work.
    """
    wanted = dict.fromkeys(
        v
        for node in toposort(round_.parts.values())
        if any(o in round_.backward for o in node.outputs)
        for v in node.inputs
        if v in round_.varying
    )
    wanted |= dict.fromkeys(v for v in round_.parts.values() if v in round_.varying)

    def follows(value: Value, others: dict[Value, None]) -> bool:
        if value in forward.counters or value not in round_.varying:
            return True
        op = value.node.op
        cheap = op.kind is Kind.MOVEMENT or op.cheap or op.alias is not None
        return cheap and all(v in others or follows(v, others) for v in value.node.inputs)

    for value in sorted(wanted, key=lambda v: -v.node.serial):
        others = {v: None for v in wanted if v is not value}
        if follows(value, others):
            wanted = others
    return list(wanted)


@dataclass()
class _Backward:
    """The backward loop while it is built."""

    build: Builder
    forward: _Forward
    round: _Round
    kept: _Kept
    params: list[Value] = field(default_factory=list)
    init: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    stacked: dict[Value, int] = field(default_factory=dict)  # what it keeps itself, by what it carries

    def cotangents(self, gs: Sequence[Value | None]) -> Cotangents:
        """Return the cotangents of the forward loop's inputs, given the cotangents `gs` of its outputs."""
        forward, received = self.forward, self.round.received
        left = self._carry(self.kept.count)
        self.number = left - 1
        self.results.append(self.number)
        by_param = dict(zip(forward.carried, gs, strict=True))
        for param, stand_in in received.items():
            g = by_param[param]
            self.params.append(stand_in)
            self.init.append(zeros(self.build, param) if g is None else g)
        parts = self._moved()
        self.results += [self._sum(None, parts[p]) for p in received]
        after = {p: self._total(p, part) for p, part in parts.items() if p not in received}
        outputs = self._node().outputs
        found = dict(zip(received, outputs[1:], strict=False))
        found |= {p: finish(outputs) for p, finish in after.items()}
        return [None, *(found.get(p) for p in forward.body.params)]

    def _carry(self, init: Value) -> Value:
        self.init.append(init)
        self.params.append(self.build.fresh_parameter("carried", init.type))
        return self.params[-1]

    def _node(self) -> Node:
        results = [self.number > 0, *self.results]
        depends = depends_on(self.params, results)
        (function,), captured = close(self.build, self.params, [results], depends.__contains__)
        attrs = {
            "body": function,
            "carried": len(self.params),
            "family": self.build.serial,
            "bound": self.forward.bound,
            "exact": self.forward.exact,
            "brief": self.forward.node.attrs["brief"],
        }
        return self.build.node(OPS["loop"], (self.kept.count > 0, *self.init, *captured), attrs)

    def _moved(self) -> dict[Value, Value]:
        """The parts of a round in terms of kept rows, captures, and the number of the round."""
        forward, parts = self.forward, self.round.parts
        table = {r: ops.gather(rows, self.number) for r, rows in self.kept.rows.items()}
        table |= dict(zip(forward.captured, forward.node.inputs[1 + len(forward.carried) :], strict=True))
        for param, (start, step) in forward.counters.items():
            counted = self.number if param.dtype is int32 else ops.cast(self.number, dtype=param.dtype)
            counted = counted if step == 1 else counted * int(step)
            table[param] = counted if start == 0 else counted + int(start)
        for stand_in, (index, rows) in self.round.rows.items():
            table[stand_in] = ops.gather(rows, table[index])
        return dict(zip(parts, substitute(parts.values(), table), strict=True))

    def _total(self, param: Value, part: Value) -> Callable[[Sequence[Value]], Value]:
        """Add up what a capture receives; returns what makes the sum of the loop's outputs."""
        rest, rows = _addends(part)
        if self.forward.exact and not rest and [index for index, _ in rows] == [self.number]:
            if same(param.shape[0], self.forward.bound):  # each row is written, and once
                return self._stack(rows[0][1])
        if self.forward.exact and not rows and len(rest) == 1 and _is_outer(rest[0]):
            left, right = rest[0].node.inputs
            if estimate(left.size + right.size) <= 2 * estimate(param.size):
                a, b, attrs = self._stack(left), self._stack(right), rest[0].node.attrs
                return lambda outputs: ops.matmul(_all_rows(a(outputs)), _all_rows(b(outputs)), **attrs)
        place = len(self.params)
        total = self._carry(zeros(self.build, param))
        self.results.append(self._sum(total, part))
        return lambda outputs: outputs[place]

    def _stack(self, value: Value) -> Callable[[Sequence[Value]], Value]:
        """Keep a value of each round; returns what picks the tensor of rows among the loop's outputs."""
        if value.node.op.name == "gather" and value.node.inputs[1] is self.number:
            rows = value.node.inputs[0]
            if rows in self.kept.rows.values():
                return lambda outputs: rows
        if value not in self.stacked:
            empty = ops.unset(dtype=value.dtype, shape=(self.forward.bound, *value.shape))
            self.stacked[value] = len(self.params)
            self.results.append(ops.row_update(self._carry(empty), self.number, value))
        place = self.stacked[value]
        return lambda outputs: outputs[place]

    def _sum(self, total: Value | None, part: Value) -> Value:
        """`total`, if there is one, plus `part`; rows are added in place."""
        rest, rows = _addends(part)
        if not rows and total is None:
            return part
        terms = rest if total is None else [total, *rest]
        found = sum(terms[1:], terms[0]) if terms else zeros(self.build, part)
        for index, row in rows:
            found = ops.row_add(found, index, row)
        return found


def _addends(value: Value) -> tuple[list[Value], list[tuple[Value, Value]]]:
    """Return the terms of a sum: whole tensors, and single rows with their index.

    Rows of the same index are added up.
    """
    rest: list[Value] = []
    rows: dict[Value, Value] = {}
    stack = [value]
    while stack:
        node = (value := stack.pop()).node
        if node.op.name == "add" and all(v.type == value.type for v in node.inputs):
            stack += reversed(node.inputs)
        elif node.op.name == "gather_grad" and node.attrs["axis"] == 0 and node.inputs[1].rank == 0:
            row, index = node.inputs
            rows[index] = rows[index] + row if index in rows else row
        else:
            rest.append(value)
    return rest, list(rows.items())


def _is_outer(value: Value) -> bool:
    """Return True if a value is a matrix product that sums over the first axis of both operands."""
    attrs = value.node.attrs
    return value.node.op.name == "matmul" and attrs["transpose_a"] and not attrs["transpose_b"]


def _all_rows(stacked: Value) -> Value:
    """The matrices of all rounds as one."""
    rounds, rows, columns = stacked.shape
    return ops.reshape(stacked, shape=(rounds * rows, columns))
