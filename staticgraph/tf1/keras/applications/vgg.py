"""The nets of the Visual Geometry Group: blocks of convolutions of 3 by 3, https://arxiv.org/abs/1409.1556."""

from __future__ import annotations

from typing import Any

from staticgraph.tf1.keras import layers
from staticgraph.tf1.keras.applications.building import ORIGIN, Net, image_input, known_net, model_of, pooled

_DEPTHS = (64, 128, 256, 512, 512)


def _vgg(net: Net, name: str, counts: tuple[int, ...]) -> Any:
    """Return a net of five blocks, each with some convolutions; see `Net` for what is asked of it."""
    images = x = image_input(net, 224, 32)
    for block, (depth, count) in enumerate(zip(_DEPTHS, counts, strict=True), 1):
        for number in range(1, count + 1):
            called = f"block{block}_conv{number}"
            x = layers.Conv2D(depth, (3, 3), padding="same", activation="relu", name=called)(x)
        x = layers.MaxPooling2D((2, 2), strides=(2, 2), name=f"block{block}_pool")(x)
    if net.include_top:
        x = layers.Flatten(name="flatten")(x)
        x = layers.Dense(4096, activation="relu", name="fc1")(x)
        x = layers.Dense(4096, activation="relu", name="fc2")(x)
        x = layers.Dense(net.classes, activation="softmax", name="predictions")(x)
    else:
        x = pooled(net, x)
    part = "" if net.include_top else "_notop"
    file = f"{name}_weights_tf_dim_ordering_tf_kernels{part}.h5"
    return model_of(net, images, x, name, lambda: (f"{ORIGIN}v0.1/", file))


VGG16 = known_net(224, "VGG16", "Return a VGG net of 16 layers.")(
    lambda net: _vgg(net, "vgg16", (2, 2, 3, 3, 3))
)
VGG19 = known_net(224, "VGG19", "Return a VGG net of 19 layers.")(
    lambda net: _vgg(net, "vgg19", (2, 2, 4, 4, 4))
)
