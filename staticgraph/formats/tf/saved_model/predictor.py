"""`tf.contrib.predictor`: a SavedModel as a function of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.formats.tf.saved_model import tag_constants
from staticgraph.formats.tf.saved_model.loader import load
from staticgraph.formats.tf.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from staticgraph.formats.tf.saved_model.utils import get_tensor_from_tensor_info
from staticgraph.runtime.session import Session

__all__ = ["from_saved_model"]


class Predictor:
    """A loaded model: called with a map from names of inputs to arrays, it returns one from names of outputs.

    Attributes:
        feed_tensors: Map from the names of inputs to tensors.
        fetch_tensors: Map from the names of outputs to tensors.
    """

    def __init__(self, session: Session, feeds: dict[str, Any], fetches: dict[str, Any]) -> None:
        self._session, self._feeds, self._fetches = session, feeds, fetches

    feed_tensors: dict[str, Any] = read_only("feeds")
    fetch_tensors: dict[str, Any] = read_only("fetches")
    session: Session = read_only("session")
    graph: Graph = read_only("session.graph")

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs by name. ValueError for an input that the model does not have."""
        unknown = sorted(set(input_dict) - set(self._feeds))
        if unknown:
            hint = f"the inputs are {', '.join(sorted(self._feeds))}"
            raise misuse(ValueError, f"the model has no input {', '.join(unknown)}", hint)
        feeds = {self._feeds[name]: value for name, value in input_dict.items()}
        outputs: dict[str, Any] = self._session.run(self._fetches, feeds)
        return outputs

    def __repr__(self) -> str:
        return f"<sg.Predictor inputs={sorted(self._feeds)} outputs={sorted(self._fetches)}>"


def from_saved_model(
    export_dir: Any,
    signature_def_key: str | None = None,
    signature_def: Any = None,
    input_names: Mapping[str, str] | None = None,
    output_names: Mapping[str, str] | None = None,
    tags: str | Iterable[str] | None = None,
    graph: Graph | None = None,
    config: Any = None,
) -> Predictor:
    """Load a SavedModel, and return it as a function of arrays.

    Args:
        export_dir: The folder of the SavedModel.
        signature_def_key: The signature that names inputs and outputs; `serving_default` by default.
        signature_def: The signature itself.
        input_names: Map from names of inputs to tensor names, in place of a signature.
        output_names: The same for outputs. Both are given, or none.
        tags: The tags of the graph in the model, between commas or as a list; `serve` by default.
        graph: The graph to load into; a new one by default.
        config: The options of the session, a `ConfigProto`.

    Returns:
        A `Predictor`.

    Raises:
        ValueError: If the model has no such signature, or more than one description of it is given.
        RuntimeError: If the model has no graph with these tags.
    """
    ways = [signature_def_key, signature_def, input_names]
    if sum(way is not None for way in ways) > 1:
        what = "the inputs are described by more than one of signature_def_key, signature_def and input_names"
        raise misuse(ValueError, what, "give one of them")
    if (input_names is None) != (output_names is None):
        raise misuse(ValueError, "input_names and output_names are given together")
    tags = tag_constants.SERVING if tags is None else tags
    listed = [tag.strip() for tag in tags.split(",")] if isinstance(tags, str) else list(tags)
    graph = graph or Graph()
    session = Session(graph=graph, config=config)
    model = load(session, listed, export_dir)
    if input_names is not None and output_names is not None:
        return Predictor(
            session,
            {name: graph.get_tensor_by_name(text) for name, text in input_names.items()},
            {name: graph.get_tensor_by_name(text) for name, text in output_names.items()},
        )
    key = signature_def_key or DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if signature_def is None:
        if key not in model.signature_def:
            hint = f"it has {', '.join(sorted(model.signature_def)) or 'no signatures'}"
            raise misuse(ValueError, f"the model has no signature {key!r}", hint)
        signature_def = model.signature_def[key]
    return Predictor(
        session,
        {name: get_tensor_from_tensor_info(info, graph) for name, info in signature_def.inputs.items()},
        {name: get_tensor_from_tensor_info(info, graph) for name, info in signature_def.outputs.items()},
    )
