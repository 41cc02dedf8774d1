"""Make a failing program smaller, as long as it still fails."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from tests.witness.programs import Block, Call, Code, Program, Ref, Statement

Fails = Callable[[Program], bool]


def shrunk(program: Program, fails: Fails, most: int = 600) -> Program:
    """Return a small program that fails too.

    Args:
        program: A program that fails.
        fails: Tells whether a program fails. One that cannot be built does not.
        most: How many programs are tried.

    Returns:
        A program that no single step makes smaller, or the smallest that was found in time.
    """
    tried = 0
    while True:
        for candidate in _smaller(program):
            tried += 1
            if tried > most:
                return program
            if fails(candidate):
                program = candidate
                break
        else:
            return program


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are one step smaller, those that leave out most first."""
    if len(program.runs) > 1:
        for run in program.runs:
            yield _with(program, runs=[run])
        yield _with(program, runs=program.runs[:-1])
    if program.fetches:
        yield _with(program, fetches=[])
    if len(program.fetches) > 1:
        for name in program.fetches:
            yield _with(program, fetches=[name])
    used = _uses(program)
    for path in _places(program):
        statement = _at(program, path)
        if not used.intersection(statement.outs):
            yield _without(program, path, {})
    for path in reversed(list(_places(program))):
        statement = _at(program, path)
        for name in dict.fromkeys(_names(statement)):
            yield _without(program, path, dict.fromkeys(map(Ref, statement.outs), Ref(name)))
        if len(path) == 1 and isinstance(statement, Call) and refs_of(statement) and not statement.writes:
            for shape in ((), (3,), (2, 3), (3, 3)):
                yield _as_constant(program, path, shape)
    for path in _places(program):
        for number, block in enumerate(_at(program, path).blocks):
            for at, result in enumerate(block.results):
                for name in block.params:
                    if name != result:
                        yield _with_result(program, path, number, at, name)
    for name in [*program.feeds, *program.variables]:
        if name not in used and name not in program.fetches:
            feeds = {k: v for k, v in program.feeds.items() if k != name}
            variables = {k: v for k, v in program.variables.items() if k != name}
            runs = [{k: v for k, v in run.items() if k != name} for run in program.runs]
            yield _with(program, feeds=feeds, variables=variables, runs=runs)


def refs_of(statement: Statement) -> list[str]:
    """The names that a statement needs."""
    return [str(n) for n in statement.uses()]


def _names(statement: Statement) -> list[str]:
    inside = {o for b in statement.blocks for s in b.statements for o in s.outs}
    inside |= {p for b in statement.blocks for p in b.params}
    return [n for n in refs_of(statement) if n not in inside]


def _uses(program: Program) -> set[str]:
    return {str(n) for s in program.statements for n in s.uses()} | set(program.fetches)


def _places(program: Program) -> list[tuple[int, ...]]:
    """Yield places of statements: positions, and for inner ones the numbers of their blocks in between."""

    def walk(statements: list[Statement], prefix: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for i, s in enumerate(statements):
            yield (*prefix, i)
            for n, block in enumerate(s.blocks):
                yield from walk(block.statements, (*prefix, i, n))

    return list(walk(program.statements, ()))


def _holder(program: Program, path: tuple[int, ...]) -> list[Statement]:
    statements: list[Statement] = program.statements
    for i, n in zip(path[:-1:2], path[1::2], strict=True):
        statements = statements[i].blocks[n].statements
    return statements


def _at(program: Program, path: tuple[int, ...]) -> Statement:
    return _holder(program, path)[path[-1]]


def _with(program: Program, **changes: Any) -> Program:
    made = copy.deepcopy(program)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def _without(program: Program, path: tuple[int, ...], names: dict[Ref, Ref]) -> Program:
    made = copy.deepcopy(program)
    del _holder(made, path)[path[-1]]
    made.statements = _replaced(made.statements, names)
    made.fetches = list(dict.fromkeys(names.get(Ref(f), f) for f in made.fetches))
    return made


def _as_constant(program: Program, path: tuple[int, ...], shape: tuple[int, ...]) -> Program:
    made = copy.deepcopy(program)
    value: Any = 0.75
    for n in reversed(shape):
        value = [value] * n
    out = _at(made, path).outs[0]
    _holder(made, path)[path[-1]] = Call(out, "tf.constant", [value, Code("tf.float64")])
    return made


def _with_result(program: Program, path: tuple[int, ...], block: int, at: int, name: str) -> Program:
    made = copy.deepcopy(program)
    _at(made, path).blocks[block].results[at] = Ref(name)
    return made


def _replaced(value: Any, names: dict[Ref, Ref]) -> Any:
    """A structure of statements with other names in it."""
    if isinstance(value, Code):
        return value
    if isinstance(value, Ref):
        return names.get(value, value)
    if isinstance(value, list | tuple):
        return type(value)(_replaced(v, names) for v in value)
    if isinstance(value, dict):
        return {k: _replaced(v, names) for k, v in value.items()}
    if isinstance(value, Statement | Block):
        for key, item in vars(value).items():
            if key != "outs":
                setattr(value, key, _replaced(item, names))
    return value
