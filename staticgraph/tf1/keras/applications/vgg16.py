"""The VGG net of 16 layers."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions, preprocess_input
from staticgraph.tf1.keras.applications.vgg import VGG16

__all__ = ["VGG16", "decode_predictions", "preprocess_input"]

show_public_names(__name__)
