"""Small data sets for first experiments (TF1's `tf.keras.datasets`), downloaded when they are first used."""

from staticgraph.tf1.keras.datasets import boston_housing, cifar10, cifar100, fashion_mnist, imdb, mnist

__all__ = ["boston_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist"]
