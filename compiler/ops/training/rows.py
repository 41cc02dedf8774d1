"""Training steps on some rows: those that `indices` name, while the others stay as they are.

Each op has the formula of the one on whole variables. A row that is listed several times moves once, by the
sum of its gradients.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import verified
from staticgraph.compiler.graph.dtypes import int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OPS, OpDef, Param, Role, ops, register
from staticgraph.compiler.graph.shapes import TensorType, compatible, shape_text
from staticgraph.compiler.ops.samples import Sample, indices
from staticgraph.compiler.ops.training.row_sums import summed_by_row
from staticgraph.compiler.ops.training.steps import FORMULAS, ValueCell


def _step_of_rows(whole: OpDef) -> OpDef:
    """Make the op that does with rows what `whole` does with a variable. `indices` follows the gradient."""
    gradient = [param.name for param in whole.params].index("grad")
    place, name = gradient + 1, f"sparse_{whole.name}"

    def split(inputs: tuple[Any, ...]) -> tuple[list[Any], Any]:
        """Inputs as `whole` takes them, and the indices."""
        return [*inputs[:place], *inputs[place + 1 :]], inputs[place]

    def type(*types: TensorType, **attrs: Any) -> tuple[TensorType, ...]:
        given, at = split(types)
        _check_rows(given[0], given[gradient], at)
        given[gradient] = given[0]
        made: tuple[TensorType, ...] = whole.type(*given, **attrs)
        return made

    def expand(*values: Any, use_locking: bool = False, **attrs: Any) -> tuple[Any, ...]:
        given, at = split(values)
        variables, rest = given[: whole.variables], given[whole.variables :]
        rest[gradient - whole.variables] = summed_by_row(given[gradient], at, variables[0].shape[0])
        cells = [ValueCell(ops.gather(variable, at, axis=0)) for variable in variables]
        FORMULAS[whole.name](*cells, *rest, **attrs)
        pairs = zip(variables, cells, strict=True)
        return tuple([ops.scatter_update(variable, at, cell.new) for variable, cell in pairs])

    def meaning(*arrays: Any, **attrs: Any) -> tuple[np.ndarray, ...]:
        given, at = split(arrays)
        rows, numbers = np.unique(at, return_inverse=True)
        inside = (rows >= 0) & (rows < len(given[0]))
        sums = np.zeros((len(rows), *given[0].shape[1:]), given[0].dtype)
        np.add.at(sums, numbers, given[gradient])
        changed = [array.copy() for array in given[: whole.variables]]
        given = [array[rows[inside]] if n < whole.variables else array for n, array in enumerate(given)]
        given[gradient] = sums[inside]
        assert whole.reference is not None
        for array, new in zip(changed, whole.reference(*given, **attrs), strict=True):
            array[rows[inside]] = new
        return tuple(changed)

    def requires(*values: Any, **attrs: Any) -> list[Any]:
        return [ops.in_range(values[place], low=0, high=values[0].shape[0], of=name, operand="indices")]

    return register(
        replace(
            whole, name=name, tf=f"Sparse{whole.tf}", doc=f"The same as `{whole.name}`, for the rows that "
            "`indices` name: a row that is listed several times moves once, by the sum of its gradients.\n\n"
            f"    {_attributes(whole)}",
            params=(*whole.params[:place], Param("indices", Role.TENSOR, var="I"), *whole.params[place:]),
            type=type, expand=expand, reference=verified(requires, meaning), unchecked=meaning,
            requires=requires, dtypes={**whole.dtypes, "I": frozenset({int32, int64})},
            samples=[
                _of_rows(whole, 0, place, (5, 2), indices(3, below=5)),
                _of_rows(whole, -1, place, (4,), indices(6, below=4, dtype="int64")),
                _of_rows(whole, -1, place, (3, 2), indices(0, below=3)),
            ],
        )
    )  # fmt: skip


def _check_rows(var: TensorType, grad: TensorType, at: TensorType) -> None:
    """Raise a RuleError unless a gradient has a row of the variable for each index."""
    require(at.rank in (None, 1), f"indices has the shape {shape_text(at.shape)}, and must be a vector")
    if var.shape is not None and at.shape is not None and grad.shape is not None:
        require(var.rank != 0, "the variable is a scalar, it has no rows")
        wanted = at.shape + var.shape[1:]
        text = f"grad has the shape {shape_text(grad.shape)}, and needs {shape_text(wanted)}: a row for "
        require(compatible(grad.shape, wanted), f"{text}each index")


def _attributes(whole: OpDef) -> str:
    names = [f"`{param.name}`" for param in whole.params if param.role is Role.ATTR]
    return f"{' and '.join(names)}: as there."


def _of_rows(whole: OpDef, which: int, place: int, shape: tuple[int, ...], at: Any) -> Sample:
    """A sample of `whole` with variables of another shape, and the gradient of rows."""
    sample = whole.samples[which]
    draws = list(sample.draws)
    for n in range(whole.variables):
        draws[n] = replace(draws[n], shape=shape)
    draws[place - 1] = replace(draws[place - 1], shape=at.shape + shape[1:])
    return Sample(*draws[:place], at, *draws[place:], **sample.attrs)


for _name in (
    "apply_momentum", "apply_adagrad", "apply_adagrad_da", "apply_adadelta", "apply_rms_prop",
    "apply_centered_rms_prop", "apply_ftrl", "apply_ftrl_v2", "apply_proximal_gradient_descent",
    "apply_proximal_adagrad",
):  # fmt: skip
    _step_of_rows(OPS[_name])
