"""Every op on the card against its meaning in NumPy, for every dtype that it takes.

The samples are those by which the registry describes each op. Many ops share a session run: what takes time
is to compile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

import staticgraph as sg
from gpu_stages.setting import Setting
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.opdef import Effect, OpDef
from tests.ops.harness import TESTED, Build, Use, as_tuple, assert_same, dtype_choices, uses

TOGETHER = 40  # pairs of op and dtype that are compiled in one go
FEW = 40  # ops without a card, of usual dtypes
MOST_WRONG = 40  # more of them tell nothing new


def run(setting: Setting) -> None:
    """The stage. What does not fit into its time is left out, and so is the rest where much is wrong."""
    ops = [op for op in TESTED if op.effect is Effect.PURE]
    if setting.small:
        ops = ops[:: max(1, len(ops) // FEW)]
    done, wrong, everything = 0, 0, list(_choices(ops))
    if setting.small:
        everything = everything[: len(ops)]
    pending = iter(everything)
    while wrong < MOST_WRONG and setting.left > 3 and (group := list(islice(pending, TOGETHER))):
        wrong += _checked(setting, group)
        done += len(group)
    setting.findings.check(
        "ops equal their meaning", not wrong, f"{done - wrong} of {len(everything)} pairs of op and dtype"
    )
    if done < len(everything):
        setting.findings.note("ops", f"{len(everything) - done} pairs were left out")


def _choices(ops: Sequence[OpDef]) -> Iterator[tuple[OpDef, dict[str, DType]]]:
    """Usual dtypes first, so that what is left out are rarer ones."""
    by_op = [list(dtype_choices(op)) for op in ops]
    for place in range(max(map(len, by_op))):
        for op, choices in zip(ops, by_op, strict=True):
            if place < len(choices):
                yield op, choices[place]


def _checked(setting: Setting, group: Sequence[tuple[OpDef, dict[str, DType]]]) -> int:
    """How many of these are wrong. Where one of them fails altogether, each is tried alone."""
    try:
        wrong = _differing(setting, group)
    except Exception as error:
        if len(group) > 1:
            return sum(_checked(setting, [each]) for each in group)
        op, choice = group[0]
        what = " ".join(str(error).split())[:300]
        setting.findings.check(_named(op, choice), False, f"{type(error).__name__}: {what}")
        return 1
    for text in wrong.values():
        setting.findings.check("an op", False, text)
    return len(wrong)


def _named(op: OpDef, choice: dict[str, DType]) -> str:
    return "-".join([op.name, *(dtype.name for dtype in choice.values())])


def _differing(setting: Setting, group: Sequence[tuple[OpDef, dict[str, DType]]]) -> dict[str, str]:
    """The pairs whose results are not as they should be, with what they are."""
    feeds, results = {}, []
    with sg.Graph().as_default():
        for op, choice in group:
            for use in uses(op, choice):
                inputs = [sg.placeholder(dtype, array.shape) for array, dtype in use.seen]
                feeds.update(zip(inputs, (array for array, _ in use.seen), strict=True))
                results.append((_named(op, choice), use, use.call(inputs)))
        with sg.Session(device=setting.device) as session:
            found = session.run([list(made) for _, _, made in results], feeds)
    wrong = {}
    for (name, use, made), arrays in zip(results, found, strict=True):
        try:
            for tensor, array, meant in zip(made, arrays, _meaning(use), strict=True):
                assert_same(array, tensor.dtype.round(meant), tensor.dtype, str(use))
        except AssertionError as error:
            wrong[name] = " ".join(str(error).split())[:300]
    return wrong


def _meaning(use: Use) -> tuple[np.ndarray, ...]:
    _, results = Build().add(use)
    node = results[0].node
    with np.errstate(all="ignore"):
        return as_tuple(node.op.reference(*use.arrays, **node.attrs))
