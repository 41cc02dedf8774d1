"""Every op on the card against its meaning in NumPy, for every dtype that it takes.

The samples are those by which the registry describes each op. What takes time is to compile, so many ops
share a session run, and the runs are shared out among processes. Where a run fails altogether, its ops are
tried one by one, in processes that nothing has broken yet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import staticgraph as sg
from gpu_stages.crew import Broken, crew, processes
from gpu_stages.setting import Setting
from staticgraph.compiler.graph.dtypes import DTYPES, DType
from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef
from tests.ops.harness import TESTED, Build, Use, as_tuple, assert_same, dtype_choices, uses

TOGETHER = 20  # pairs of op and dtype that are compiled in one go
FEW = 40  # ops without a card, of usual dtypes
MOST_WRONG = 40  # more of them tell nothing new

Pair = tuple[str, dict[str, str]]  # an op, and its dtypes by letter: names, which can be sent to a process


def run(setting: Setting) -> None:
    """The stage. What does not fit into its time is left out, and so is the rest where much is wrong."""
    ops = [op for op in TESTED if op.effect is Effect.PURE]
    if setting.small:
        ops = ops[:: max(1, len(ops) // FEW)]
    everything = list(choices(ops))
    if setting.small:
        everything = everything[: len(ops)]
    compare(setting, everything)


def choices(ops: Sequence[OpDef]) -> Iterator[Pair]:
    """Usual dtypes first, so that what is left out are rarer ones."""
    by_op = [list(dtype_choices(op)) for op in ops]
    for place in range(max(map(len, by_op))):
        for op, of_op in zip(ops, by_op, strict=True):
            if place < len(of_op):
                yield op.name, {letter: dtype.name for letter, dtype in of_op[place].items()}


def compare(setting: Setting, pairs: Sequence[Pair]) -> None:
    """Try all of these, and tell which are wrong."""
    findings, count, done, wrong = setting.findings, processes(), 0, 0
    end = setting.began + setting.seconds - min(3.0, setting.seconds / 10)
    with crew(partial(differing, setting.device), count) as all_:
        all_.ask(pairs[at : at + TOGETHER] for at in range(0, len(pairs), TOGETHER))
        for group, answer in all_.answers(end):
            if isinstance(answer, Broken) and len(group) > 1:
                print(f"{len(group)} pairs one by one, since together: {answer.why}", flush=True)
                all_.ask(([pair] for pair in group), first=True)
                continue
            found = {named(group[0]): answer.why} if isinstance(answer, Broken) else answer
            for name, text in found.items():
                findings.check(name, False, text)
            done, wrong = done + len(group), wrong + len(found)
            print(f"{done} of {len(pairs)} pairs are done", flush=True)
            if wrong >= MOST_WRONG:
                break
        unfinished = [named(pair) for group in all_.unfinished for pair in group]
    findings.check(
        "ops equal their meaning",
        not wrong,
        f"{done - wrong} of {len(pairs)} pairs of op and dtype, by up to {count} processes",
    )
    if done < len(pairs):
        begun = f"; begun were {', '.join(unfinished)}"[:500] if unfinished else ""
        findings.note("ops", f"{len(pairs) - done} pairs were left out{begun}")


def named(pair: Pair) -> str:
    """An op and its dtypes, to be read."""
    name, dtypes = pair
    return "-".join([name, *dtypes.values()])


def differing(device: str, group: Sequence[Pair]) -> dict[str, str]:
    """The pairs whose results are not as they should be, with what they are."""
    feeds: dict[Any, np.ndarray] = {}
    results = []
    with sg.Graph().as_default():
        for pair in group:
            for use in _uses(pair):
                inputs = [sg.placeholder(dtype, array.shape) for array, dtype in use.seen]
                feeds.update(zip(inputs, (array for array, _ in use.seen), strict=True))
                results.append((named(pair), use, use.call(inputs)))
        with sg.Session(device=device) as session:
            found = session.run([list(made) for _, _, made in results], feeds)
    wrong = {}
    for (name, use, made), arrays in zip(results, found, strict=True):
        try:
            for tensor, array, meant in zip(made, arrays, _meaning(use), strict=True):
                assert_same(array, tensor.dtype.round(meant), tensor.dtype, str(use))
        except AssertionError as error:
            wrong[name] = " ".join(str(error).split())[:300]
    return wrong


def _uses(pair: Pair) -> list[Use]:
    name, dtypes = pair
    choice: dict[str, DType] = {letter: DTYPES[dtype] for letter, dtype in dtypes.items()}
    return uses(OPS[name], choice)


def _meaning(use: Use) -> tuple[np.ndarray, ...]:
    _, results = Build().add(use)
    node = results[0].node
    assert node.op.reference is not None
    with np.errstate(all="ignore"):
        return as_tuple(node.op.meaning(*use.arrays, **node.attrs))
