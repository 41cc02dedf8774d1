"""Known nets of Keras without downloads: their layers and weights, what they compute and take."""

import numpy as np

from tests.golden.cases.keras_layers import drawn, measures
from tests.golden.runner import answer, error

NETS = {
    "ResNet50": {"include_top": False, "pooling": "max"},
    "MobileNet": {"alpha": 0.5, "input_shape": (160, 160, 3), "include_top": False, "pooling": "avg"},
    "MobileNet of any size": {"alpha": 0.25, "include_top": False},
    "MobileNetV2": {"alpha": 0.35, "input_shape": (96, 96, 3), "classes": 7},
    "InceptionV3": {"include_top": False, "pooling": "avg"},
    "VGG16": {"input_shape": (32, 32, 3), "classes": 5},
    "VGG19": {"include_top": False},
    "Xception": {"input_shape": (71, 71, 3), "classes": 3},
    "DenseNet121": {"input_shape": (64, 64, 3), "include_top": False, "pooling": "avg"},
    "ResNet50V2": {"input_shape": (64, 64, 3), "classes": 3},
    "InceptionResNetV2": {"include_top": False, "pooling": "max"},
    "NASNetMobile": {"input_shape": (64, 64, 3), "include_top": False},
}
WIRED = ("Xception", "DenseNet121", "ResNet50V2", "NASNetMobile")


def made(tf, name, **options):
    tf.keras.backend.reset_uids()
    return getattr(tf.keras.applications, name.split()[0])(weights=None, **options)


def described(tf, name, options):
    """Each layer of a net: its name and class, the shape of its output and those of its weights."""
    model = made(tf, name, **options)
    lines = [[model.name, model.count_params()]]
    for layer in model.layers:
        shape = layer.output_shape[0] if isinstance(layer.output_shape, list) else layer.output_shape
        weights = [w.shape.as_list() for w in layer.weights]
        lines.append([layer.name, type(layer).__name__, list(shape), weights])
    return lines


def wired(tf, name):
    """The layers whose results each layer of a net takes."""
    found = made(tf, name, **NETS[name]).get_config()["layers"]
    return {each["name"]: [one[0] for node in each["inbound_nodes"] for one in node] for each in found}


def predicted(tf, name, **options):
    """Predictions of a net whose weights keep its numbers at a size."""
    model = made(tf, name, **options)
    weights = []
    for number, weight in enumerate(model.get_weights()):
        values = drawn("weight %d" % number, *weight.shape)
        if weight.ndim > 1:  # of a sum over all axes but the last
            values = values / np.sqrt(np.prod(weight.shape[:-1]))
        weights.append(values.astype("float32") if weight.ndim > 1 else abs(values) + 0.5)
    model.set_weights(weights)
    return [model.predict(drawn("images", 2, 32, 32, 3))]


def prepared(tf):
    """Images as nets take them, arrays and tensors, with channels last and first."""
    images, utils = drawn("pixels", 2, 2, 3, 3, low=0, high=255), tf.keras.applications.imagenet_utils
    found = []
    for mode in ("caffe", "tf", "torch"):
        for order in ("channels_last", "channels_first"):
            x = images if order == "channels_last" else images.transpose(0, 3, 1, 2)
            found += [utils.preprocess_input(x.copy(), order, mode)]
            if mode != "torch":  # TensorFlow subtracts the means of the first call from tensors
                found += [tf.Session().run(utils.preprocess_input(tf.constant(x), order, mode))]
        found.append(utils.preprocess_input(images[0].copy(), "channels_last", mode))
    return found + [tf.keras.applications.mobilenet.preprocess_input(images.copy()),
                    tf.keras.applications.vgg16.preprocess_input(images.astype("uint8"))]  # fmt: skip


def on_a_tensor(tf):
    """A net over a tensor of Keras, and over one that is none; its inputs and its first layers."""
    x = tf.keras.Input([40, 40, 3])
    first = made(tf, "VGG16", input_tensor=tf.keras.layers.ReLU()(x), include_top=False)
    second = made(tf, "VGG16", input_tensor=tf.placeholder(tf.float32, [None, 40, 40, 3]), include_top=False)
    found = [[len(m.inputs), list(m.input_shape), list(m.output_shape)] for m in (first, second)]
    return found + [[type(each).__name__ for each in m.layers[:3]] for m in (first, second)]


REFUSED = {
    "a file that is not there": lambda tf: tf.keras.applications.VGG16(weights="nowhere.h5"),
    "classes beside ImageNet's weights": lambda tf: tf.keras.applications.ResNet50(classes=10),
    "small images": lambda tf: made(tf, "InceptionV3", input_shape=(50, 50, 3), include_top=False),
    "a shape of two sizes": lambda tf: made(tf, "VGG16", input_shape=(50, 50)),
    "an open shape with the top": lambda tf: made(tf, "VGG16", input_shape=(None, None, 3)),
    "another shape than the weights are for": lambda tf: tf.keras.applications.VGG16(input_shape=(64, 64, 3)),
    "predictions of another shape": lambda tf: tf.keras.applications.vgg16.decode_predictions(
        np.ones([1, 9])),
}

CASES = [
    [answer("layers of %s" % name, lambda tf, name=name, options=options: described(tf, name, options))
     for name, options in NETS.items()],
    [answer("connections of %s" % name, lambda tf, name=name: wired(tf, name)) for name in WIRED],
    measures("predictions of MobileNet",
             lambda tf: predicted(tf, "MobileNet", alpha=0.25, input_shape=(32, 32, 3), classes=4), 100.0),
    measures("predictions of MobileNetV2", lambda tf: predicted(
        tf, "MobileNetV2", alpha=0.35, input_shape=(32, 32, 3), classes=4), 100.0),
    measures("predictions of ResNet50", lambda tf: predicted(
        tf, "ResNet50", input_shape=(32, 32, 3), include_top=False, pooling="avg"), 100.0),
    measures("images for nets", prepared, 4.0),
    answer("nets over tensors", on_a_tensor),
    [error("a net with %s" % title, build) for title, build in REFUSED.items()],
]  # fmt: skip
