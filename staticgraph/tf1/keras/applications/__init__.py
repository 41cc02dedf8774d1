"""Known nets for images (TF1's `tf.keras.applications`), and their weights, which are downloaded."""

from staticgraph.compiler.support.lazy_names import lazy_names

_MODULES = "imagenet_utils inception_v3 mobilenet mobilenet_v2 resnet resnet50 vgg16 vgg19"

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        f"{__name__}.inception_v3": "InceptionV3",
        f"{__name__}.mobilenet": "MobileNet",
        f"{__name__}.mobilenet_v2": "MobileNetV2",
        f"{__name__}.resnet": "ResNet50 ResNet101 ResNet152",
        f"{__name__}.vgg16": "VGG16",
        f"{__name__}.vgg19": "VGG19",
    },
    modules={name: f"{__name__}.{name}" for name in _MODULES.split()},
)
