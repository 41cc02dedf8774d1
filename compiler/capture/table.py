"""Table of the operations that are captured in a way of their own, and the file of `rules/` that has each.

An operation is looked up by its name, then by its effect; all others only compute. A file is imported when
one of its rules is first asked for.
"""

from __future__ import annotations

from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.capture.walk import CaptureRule, Walk, no_inputs
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.support.lazy_names import LazyTable

# The values of these come from outside: from feeds, from variables, and from the loop around them.
_NONE = CaptureRule(lambda walk, op: None, no_inputs)
GIVEN = dict.fromkeys(("placeholder", "variable", "read_variable", "region_parameter"), _NONE)

# Rules by the name of an operation, or by a name with a star for all others of a kind.
RULES: LazyTable[CaptureRule] = LazyTable()
RULES.found_in(
    "staticgraph.compiler.capture.rules",
    {
        "operations": "constant select select_rows add_n *computed",
        "variables": (
            "placeholder_with_default read_value assign is_variable_initialized initialized_value *write"
        ),
        "arrays": "tensor_array tensor_array_write tensor_array_scatter",
        "loops": "while_region",
        "branches": "branch_region",
        "derivatives": "symbolic_gradients seed",
        "custom_gradients": "custom_gradient",
        "effects": "assert_true check_numerics *effect",
        "random_states": "*random",
        "host": "*host",
    },
)
BY_EFFECT = {Effect.EFFECT: "*effect", Effect.WRITE: "*write", Effect.RANDOM: "*random"}


def rule_of(walk: Walk, op: Operation) -> CaptureRule:
    """Return the rule of an operation. Python does host ops, unless a derivative flows through them."""
    definition = op.definition
    if definition.name in GIVEN:
        return GIVEN[definition.name]
    if is_host(op) and walk.wanted.overridden.isdisjoint(op.outputs):
        return RULES["*host"]
    if RULES.home(definition.name) is not None:
        return RULES[definition.name]
    return RULES[BY_EFFECT.get(definition.effect, "*computed")]
