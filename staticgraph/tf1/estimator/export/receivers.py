"""Inputs of an exported model: placeholders that a server feeds, and the features made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from staticgraph.building.inputs import placeholder
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.tf1 import io


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: dict[str, Any]
    receiver_tensors_alternatives: dict[str, Any] | None


class ServingInputReceiver(_Receiver):
    """Features of a model by name, and the tensors that are fed.

    `receiver_tensors`: by name, or one, which has the name "input". `receiver_tensors_alternatives`: other
    sets of tensors that may be fed instead. A single tensor of features has the name "feature". ValueError
    for what is no tensor.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        features = features if isinstance(features, Mapping) else {"feature": features}
        return _made(cls, features, receiver_tensors, receiver_tensors_alternatives)


class TensorServingInputReceiver(_Receiver):
    """A `ServingInputReceiver` for a model whose features are a single tensor."""

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> TensorServingInputReceiver:
        if not isinstance(features, Tensor | SparseTensor):
            _refuse(f"feature must be a Tensor or SparseTensor, and not {features!r}")
        return _made(cls, features, receiver_tensors, receiver_tensors_alternatives)


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that gets features from serialised `Example` messages, a vector of strings."""

    def receive() -> ServingInputReceiver:
        examples = placeholder(string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(io.parse_example(examples, feature_spec), {"examples": examples})

    return receive


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that gets features as they are: a placeholder like each of the given tensors.

    The first size of each is `default_batch_size`.
    """

    def receive() -> ServingInputReceiver:
        fed = {}
        for name, tensor in features.items():
            shape = None if tensor.shape.ndims is None else [default_batch_size, *tensor.shape.as_list()[1:]]
            fed[name] = placeholder(tensor.dtype, shape, name=tensor.op.name)
        return ServingInputReceiver(dict(fed), fed)

    return receive


def _made(cls: type[Any], features: Any, fed: Any, alternatives: Any) -> Any:
    fed = fed if isinstance(fed, Mapping) else {"input": fed}
    for key, tensor in fed.items():
        if not isinstance(key, str) or not isinstance(tensor, Tensor | SparseTensor):
            _refuse(f"receiver_tensors must be tensors by name, and not {key!r}: {tensor!r}")
    return _Receiver.__new__(cls, features, dict(fed), alternatives)


def _refuse(text: str) -> NoReturn:
    raise misuse(ValueError, text)
