"""Small data sets for first experiments (TF1's `tf.keras.datasets`), downloaded when they are first used."""

from staticgraph.compiler.support.lazy_names import lazy_names

_MODULES = "boston_housing cifar10 cifar100 fashion_mnist imdb mnist"

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {},
    modules={name: f"{__name__}.{name}" for name in _MODULES.split()},
)
