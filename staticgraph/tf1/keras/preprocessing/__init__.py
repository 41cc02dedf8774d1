"""Data before it goes into a model (TF1's `tf.keras.preprocessing`)."""

from staticgraph.compiler.support.lazy_names import lazy_names

_MODULES = "image sequence text"

# Type checkers read `__init__.pyi`.
lazy_names(
    __name__,
    {},
    modules={name: f"{__name__}.{name}" for name in _MODULES.split()},
)
