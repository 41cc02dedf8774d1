"""Small data sets for first experiments (TF1's `tf.keras.datasets`), downloaded when they are first used. Made by tools/type_stubs.py."""

from staticgraph.tf1.keras.datasets import (
    boston_housing as boston_housing,
    cifar10 as cifar10,
    cifar100 as cifar100,
    fashion_mnist as fashion_mnist,
    imdb as imdb,
    mnist as mnist,
)
