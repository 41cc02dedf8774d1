"""Known nets for images (TF1's `tf.keras.applications`), and their weights, which are downloaded."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.applications import (
    imagenet_utils,
    inception_v3,
    mobilenet,
    mobilenet_v2,
    resnet,
    resnet50,
    vgg16,
    vgg19,
)
from staticgraph.tf1.keras.applications.inception_v3 import InceptionV3
from staticgraph.tf1.keras.applications.mobilenet import MobileNet
from staticgraph.tf1.keras.applications.mobilenet_v2 import MobileNetV2
from staticgraph.tf1.keras.applications.resnet import ResNet50, ResNet101, ResNet152
from staticgraph.tf1.keras.applications.vgg16 import VGG16
from staticgraph.tf1.keras.applications.vgg19 import VGG19

__all__ = [
    "InceptionV3",
    "MobileNet",
    "MobileNetV2",
    "ResNet50",
    "ResNet101",
    "ResNet152",
    "VGG16",
    "VGG19",
    "imagenet_utils",
    "inception_v3",
    "mobilenet",
    "mobilenet_v2",
    "resnet",
    "resnet50",
    "vgg16",
    "vgg19",
]

show_public_names(__name__)
