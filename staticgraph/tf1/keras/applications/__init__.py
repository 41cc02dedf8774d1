"""Known nets for images (TF1's `tf.keras.applications`), and their weights, which are downloaded."""

from staticgraph.compiler.support.lazy_names import lazy_names

_MODULES = (
    "densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 nasnet resnet resnet50 "
    "resnet_v2 vgg16 vgg19 xception"
)

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {
        f"{__name__}.densenet": "DenseNet121 DenseNet169 DenseNet201",
        f"{__name__}.inception_resnet_v2": "InceptionResNetV2",
        f"{__name__}.inception_v3": "InceptionV3",
        f"{__name__}.mobilenet": "MobileNet",
        f"{__name__}.mobilenet_v2": "MobileNetV2",
        f"{__name__}.nasnet": "NASNetLarge NASNetMobile",
        f"{__name__}.resnet": "ResNet50 ResNet101 ResNet152",
        f"{__name__}.resnet_v2": "ResNet50V2 ResNet101V2 ResNet152V2",
        f"{__name__}.vgg16": "VGG16",
        f"{__name__}.vgg19": "VGG19",
        f"{__name__}.xception": "Xception",
    },
    modules={name: f"{__name__}.{name}" for name in _MODULES.split()},
)
