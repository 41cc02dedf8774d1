"""Nodes of the steps of TensorFlow's optimizers: on variables by handle, or on some rows of a variable.

Those on variables of the old kind are single operations of ours. The formulas are those of these operations.
For rows they get the values of the rows; each is listed once, as TensorFlow's optimizers see to.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.ops.training.steps import FORMULAS, Cell
from staticgraph.formats.tf.graph_def.nodes import Node, reads
from staticgraph.formats.tf.graph_def.read.state import variable_input

# Our ops by what follows "Apply" in TensorFlow's types; all of these have a form for rows.
_OPS = {
    "Momentum": "apply_momentum",
    "Adagrad": "apply_adagrad",
    "AdagradDA": "apply_adagrad_da",
    "Adadelta": "apply_adadelta",
    "RMSProp": "apply_rms_prop",
    "CenteredRMSProp": "apply_centered_rms_prop",
    "Ftrl": "apply_ftrl",
    "FtrlV2": "apply_ftrl_v2",
    "ProximalGradientDescent": "apply_proximal_gradient_descent",
    "ProximalAdagrad": "apply_proximal_adagrad",
}
_OF_WHOLE_VARIABLES = {
    **_OPS,
    "GradientDescent": "apply_gradient_descent",
    "Adam": "apply_adam",
    "AdaMax": "apply_ada_max",
}


@reads(*(f"ResourceApply{name}" for name in _OF_WHOLE_VARIABLES))
def _step(node: Node) -> Operation:
    op = OPS[_OF_WHOLE_VARIABLES[node.type.removeprefix("ResourceApply")]]
    variable_input(node)
    made = op(*node.tensors, **_attributes(node), name=node.out).op
    assert isinstance(made, Operation)
    return made


@reads(*(f"{kind}Apply{name}" for kind in ("Sparse", "ResourceSparse") for name in _OPS))
def _step_of_rows(node: Node) -> Any:
    op = OPS[_OPS[node.type.removeprefix("Resource").removeprefix("SparseApply")]]
    names = [argument.name for argument in node.signature.inputs]
    indices = node.tensors[names.index("indices")]
    variable, *rest = [t for name, t in zip(names, node.tensors, strict=True) if name != "indices"]
    variable_input(node)
    changed = [variable, *rest[: op.variables - 1]]
    cells = [Cell(ops.gather(each, indices, axis=0)) for each in changed]
    given = {name: value for name, value in _attributes(node).items() if name != "use_locking"}
    FORMULAS[op.name](*cells, *rest[op.variables - 1 :], **given)
    slots = [
        ops.scatter_update(slot, indices, cell.new).op
        for slot, cell in zip(changed[1:], cells[1:], strict=True)
    ]
    with node.graph.control_dependencies(slots):
        made = ops.scatter_update(variable, indices, cells[0].new, name=node.out)
    return made.op if node.type.startswith("Resource") else made


def _attributes(node: Node) -> dict[str, Any]:
    return {name: node.attrs[name] for name in node.attrs if not name.startswith("T")}
