"""Operations that leave compiled code although they compute numbers: exactly those of a table, with reasons.

Ops of kind "host" are not asked: they deal with strings, with shapes that data decide, or with Python.
"""

import json
from pathlib import Path

import pytest

from staticgraph.compiler.fusion.group import is_alias, is_host
from staticgraph.compiler.graph.opdef import Effect, Kind
from staticgraph.compiler.passes.expand import expand
from tests.ops.harness import TESTED, Build, dtype_choices, uses

REASONS = json.loads(Path(__file__).with_name("host_calls.json").read_text())  # by the op that is called
_DATA = ("constant", "parameter", "unset")


@pytest.mark.takes_long
@pytest.mark.parametrize("op", TESTED, ids=lambda op: op.name)
def test_an_op_is_compiled_or_has_a_reason(op):
    """Every sample counts in the usual dtypes, and the first one in others."""
    called = set()
    for number, choice in enumerate(dtype_choices(op)):
        build = Build()
        used = uses(op, choice)[: 1 if number else None]
        made = [result for use in used for result in build.add(use)[1]]
        for node in expand(build.function(made)).nodes:
            data = node.op.name in _DATA or is_alias(node) or node.op.effect is Effect.EXCHANGE
            if not data and node.op.kind is not Kind.HOST and is_host(node):
                is_complex = any(v.dtype.is_complex for v in (*node.inputs, *node.outputs))
                called.add(node.op.name + (" of complex numbers" if is_complex else ""))
    unknown = {name for name in called if REASONS.get(name) is None}
    assert not unknown, "NumPy computes these; give them a formula, or a reason in host_calls.json"
    stale = {name for name in REASONS if name.removesuffix(" of complex numbers") == op.name} - called
    assert not stale, "these are compiled now: take them out of host_calls.json"
