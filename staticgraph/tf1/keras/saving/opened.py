"""A model in a file as a function that commands and pictures take."""

from __future__ import annotations

from staticgraph.compiler.graph.errors import InvalidFileError, UnimplementedError, layout
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.formats.functions import Opened
from staticgraph.runtime.session import Session
from staticgraph.tf1.keras.saving.files import load_model
from staticgraph.tf1.keras.state import get_session


@extension("keras_function")
def keras_function(path: str) -> Opened:
    """Return the function from the inputs of a model to its outputs.

    Args:
        path: A file of `model.save`, of HDF5 or of our own. Models with layers that a program defines are
            loaded by that program.

    Raises:
        InvalidFileError: If the file holds weights alone, or is no model.
        UnimplementedError: If the package that reads HDF5 is not installed.
    """
    graph = Graph()
    with graph.as_default(), Session(graph=graph).as_default():
        try:
            model = load_model(path, compile=False)
        except ImportError as error:  # files of HDF5 need a package
            raise UnimplementedError(str(error)) from None
        except ValueError as error:
            hint = "a layer that a program defines is known to that program alone: load the model there"
            text = f"{path} cannot be opened as a model: {str(error).splitlines()[0]}"
            raise InvalidFileError(layout(text, hint=hint)) from None
        session = get_session()
    inputs = {tensor.op.name: tensor for tensor in model.inputs}
    outputs = {tensor.op.name: tensor for tensor in model.outputs}
    return Opened("predict", session, inputs, frozenset(inputs), outputs)
