"""Variables by name: found where they exist, made where they do not."""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Sequence
from typing import Any

from staticgraph.building.framework import GraphKeys, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.checks.arguments import function_of
from staticgraph.compiler.graph.dtypes import DType, as_dtype
from staticgraph.compiler.graph.errors import DuplicateNameError, misuse
from staticgraph.compiler.graph.provenance import NAMES_OF_FILES, Provenance
from staticgraph.compiler.graph.shapes import TensorShape, as_shape
from staticgraph.state import replicas
from staticgraph.state.initializers import GlorotUniform, Zeros
from staticgraph.state.replicas import VariableAggregation, VariableSynchronization
from staticgraph.state.variables import Variable


class _Reuse(enum.Enum):
    """Third choice for `reuse` of `get_variable`: a variable that exists is found, any other is made.

    The other choices are True, if the variable must exist, and False, if it must not.
    """

    AUTO_REUSE = 1


AUTO_REUSE = _Reuse.AUTO_REUSE


def no_regularizer(_: Any) -> None:
    """As a regularizer: none, even where the scope has one."""


def find_or_make(
    known: dict[str, Variable],
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    reuse: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    constraint: Any = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
    partition_info: Any = None,
) -> Variable:
    """The variable of that full name in `known`, or a new one that is added to it, as `reuse` allows."""
    wanted = TensorShape(as_shape(shape))
    found = known.get(name)
    if found is not None:
        if reuse is False:
            hint = "to share it, open its variable_scope with reuse=True or reuse=sg.AUTO_REUSE"
            if NAMES_OF_FILES:  # a notebook
                hint = f"if the cell ran before, sg.reset_default_graph() begins with an empty graph; {hint}"
            text = f"there already is a variable {name}"
            raise misuse(DuplicateNameError, text, hint, made=[("it", found.where)])
        return _checked(found, wanted, dtype)
    if reuse is True:
        raise misuse(
            ValueError,
            f"there is no variable {name} to reuse that get_variable made",
            "reuse=sg.AUTO_REUSE makes it where it does not exist",
        )
    initial, made_dtype = _initial(name, wanted, dtype, initializer, partition_info)
    with replicas.within(None):  # others find it by its name
        variable = Variable(
            initial,
            trainable,
            collections,
            validate_shape,
            caching_device,
            name,
            dtype=made_dtype,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )
    known[name] = variable
    if regularizer and regularizer is not no_regularizer:
        with name_scope(f"{name}/Regularizer/"):
            loss = function_of(regularizer, "regularizer")(variable)
        if loss is not None:
            variable.graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _checked(found: Variable, shape: TensorShape, dtype: Any) -> Variable:
    place: Sequence[tuple[str, Provenance | None]] = [("it", found.where)]
    if not shape.is_compatible_with(found.shape):
        text = f"variable {found.op.name} has shape {found.shape}, not {shape}"
        raise misuse(ValueError, text, _OTHER, made=place)
    if dtype is not None and as_dtype(dtype) is not found.dtype:
        text = f"variable {found.op.name} has dtype {found.dtype}, not {as_dtype(dtype)}"
        raise misuse(ValueError, text, _OTHER, made=place)
    return found


_OTHER = "another variable needs another name, or a variable_scope of its own"


def _initial(
    name: str, shape: TensorShape, dtype: DType | None, initializer: Any, partition_info: Any
) -> tuple[Any, DType | None]:
    """Return the initial value for a Variable, and the dtype to convert it to."""
    if initializer is None:
        assert dtype is not None
        initializer = GlorotUniform() if dtype.is_floating else Zeros()
    if not callable(initializer):
        if shape.ndims is not None:
            text = f"variable {name}: the initializer is a value, so shape={shape} must not be given"
            raise misuse(ValueError, text)
        value = convert_to_tensor(initializer).dtype if dtype is not None else None
        if value is not None and value is not dtype:
            raise misuse(ValueError, f"variable {name}: the initializer is {value} and dtype is {dtype}")
        return initializer, dtype
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        make = functools.partial(initializer, shape.as_list(), dtype=dtype)
        if partition_info is not None and "partition_info" in inspect.signature(initializer).parameters:
            make = functools.partial(make, partition_info=partition_info)
        return make, dtype
    needed = [p for p in inspect.signature(initializer).parameters.values() if p.default is p.empty]
    if any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in needed):
        raise misuse(
            ValueError,
            f"variable {name} has shape {shape}, not fully known, and its initializer needs a shape",
            "give a shape, or an initializer that is a value or a function without arguments",
        )
    return initializer, None
