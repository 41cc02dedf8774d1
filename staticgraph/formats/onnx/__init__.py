"""Models in ONNX format, without any other package: `load`, `export`, and an `onnx.backend` in `backend`.

>>> import staticgraph as sg
>>> ("", "Conv") in sg.onnx.supported_operators()
True
"""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.formats.onnx import backend
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError, UnsupportedOnnxError
from staticgraph.formats.onnx.export import export
from staticgraph.formats.onnx.load import OnnxModel, load
from staticgraph.formats.onnx.nodes import supported as supported_operators

__all__ = [
    "OnnxError",
    "OnnxModel",
    "UnknownValueError",
    "UnsupportedOnnxError",
    "backend",
    "export",
    "load",
    "supported_operators",
]

show_public_names(__name__)
