"""Small data sets for first experiments (TF1's `tf.keras.datasets`), downloaded when they are first used."""

from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.tf1.keras.datasets import boston_housing, cifar10, cifar100, fashion_mnist, imdb, mnist

__all__ = ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist"]

show_public_names(__name__)
