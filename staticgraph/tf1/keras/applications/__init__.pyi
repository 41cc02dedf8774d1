"""Known nets for images (TF1's `tf.keras.applications`), and their weights, which are downloaded. Made by tools/type_stubs.py."""

from staticgraph.tf1.keras.applications import (
    densenet as densenet,
    imagenet_utils as imagenet_utils,
    inception_resnet_v2 as inception_resnet_v2,
    inception_v3 as inception_v3,
    mobilenet as mobilenet,
    mobilenet_v2 as mobilenet_v2,
    nasnet as nasnet,
    resnet as resnet,
    resnet50 as resnet50,
    resnet_v2 as resnet_v2,
    vgg16 as vgg16,
    vgg19 as vgg19,
    xception as xception,
)
from staticgraph.tf1.keras.applications.densenet import (
    DenseNet121 as DenseNet121,
    DenseNet169 as DenseNet169,
    DenseNet201 as DenseNet201,
)
from staticgraph.tf1.keras.applications.inception_resnet_v2 import (
    InceptionResNetV2 as InceptionResNetV2,
)
from staticgraph.tf1.keras.applications.inception_v3 import (
    InceptionV3 as InceptionV3,
)
from staticgraph.tf1.keras.applications.mobilenet import (
    MobileNet as MobileNet,
)
from staticgraph.tf1.keras.applications.mobilenet_v2 import (
    MobileNetV2 as MobileNetV2,
)
from staticgraph.tf1.keras.applications.nasnet import (
    NASNetLarge as NASNetLarge,
    NASNetMobile as NASNetMobile,
)
from staticgraph.tf1.keras.applications.resnet import (
    ResNet101 as ResNet101,
    ResNet152 as ResNet152,
    ResNet50 as ResNet50,
)
from staticgraph.tf1.keras.applications.resnet_v2 import (
    ResNet101V2 as ResNet101V2,
    ResNet152V2 as ResNet152V2,
    ResNet50V2 as ResNet50V2,
)
from staticgraph.tf1.keras.applications.vgg16 import (
    VGG16 as VGG16,
)
from staticgraph.tf1.keras.applications.vgg19 import (
    VGG19 as VGG19,
)
from staticgraph.tf1.keras.applications.xception import (
    Xception as Xception,
)
