"""The residual net of 50 layers."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.applications.imagenet_utils import decode_predictions, preprocess_input
from staticgraph.tf1.keras.applications.resnet import ResNet50

__all__ = ["ResNet50", "decode_predictions", "preprocess_input"]

show_public_names(__name__)
