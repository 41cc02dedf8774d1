"""`Input`: where a model begins."""

from __future__ import annotations

from typing import Any

from staticgraph.building import inputs
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.tf1.keras import state
from staticgraph.tf1.keras.engine.arguments import axes
from staticgraph.tf1.keras.engine.layer import Layer
from staticgraph.tf1.keras.engine.node import Node
from staticgraph.tf1.keras.settings import dtype_name


class InputLayer(Layer):
    """A layer without inputs whose output is a placeholder, or `input_tensor`."""

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: int | None = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: str | None = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        if sparse or ragged:
            raise misuse(NotImplementedError, "Input(): sparse and ragged tensors are not offered")
        if "batch_input_shape" in kwargs:
            batch_size, *input_shape = axes("batch_input_shape", kwargs.pop("batch_input_shape"))
        if kwargs:
            raise misuse(ValueError, f"InputLayer() got an unknown argument {sorted(kwargs)[0]!r}")
        name = name or self._numbered()
        if input_tensor is not None and dtype is None:
            dtype = input_tensor.dtype
        super().__init__(name=name, dtype=dtype_name(dtype))
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            sizes = None if input_shape is None else [batch_size, *axes("input_shape", input_shape)]
            tensor = inputs.placeholder(dtype_name(dtype), sizes, name=self.name)
        else:
            tensor = inputs.convert_to_tensor(input_tensor)
        ndims = tensor.shape.ndims
        self.batch_input_shape = None if ndims is None else tuple(tensor.shape.as_list())
        self.sparse, self.ragged = sparse, ragged
        self.built = True
        Node(self, [], tensor, {})

    @staticmethod
    def _numbered() -> str:
        return f"input_{state.get_uid('input')}"

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_input_shape": self.batch_input_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Tensor:
    """A tensor at which a model begins: `shape` is that of one element of the batch.

    >>> import staticgraph as sg
    >>> x = sg.keras.Input([4])
    >>> y = sg.keras.layers.Dense(2)(x)
    >>> sg.keras.Model(x, y).count_params()
    10
    """
    if "batch_shape" in kwargs:
        batch_size, *shape = axes("batch_shape", kwargs.pop("batch_shape"))
    if shape is None and tensor is None:
        raise misuse(ValueError, "Input() needs a shape, without the batch: Input([784])")
    sizes = None if shape is None else axes("shape", shape)
    layer = InputLayer(sizes, batch_size, dtype, tensor, sparse, name, ragged, **kwargs)
    return layer.output


def inputs_like(arrays: Any) -> Any:
    """Return an input for each array of a list, or of a dict, whose keys are the names of the inputs."""
    if isinstance(arrays, dict):
        return {name: _input_like(array, name) for name, array in arrays.items()}
    return [_input_like(array) for array in arrays]


def _input_like(array: Any, name: str | None = None) -> Tensor:
    kind = array.dtype.kind
    dtype = array.dtype.name if kind in "iub" else "string" if kind in "SUO" else None
    return Input(array.shape[1:] or (1,), name=name, dtype=dtype)
