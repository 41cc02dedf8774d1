"""Facts about the library that a program may ask for: its version, its build, and its TF1 behaviour."""

from __future__ import annotations

__all__ = [
    "COMPILER_VERSION",
    "CXX11_ABI_FLAG",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "MONOLITHIC_BUILD",
    "VERSION",
    "__version__",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "enable_resource_variables",
    "executing_eagerly",
]

__version__ = VERSION = "1.15.5"
GIT_VERSION = "v1.15.5"
COMPILER_VERSION = "LLVM"
CXX11_ABI_FLAG = MONOLITHIC_BUILD = 0
GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER = 134, 0, 0


def executing_eagerly() -> bool:
    """False: a graph is declared, and then run."""
    return False


def disable_v2_behavior() -> None:
    """Nothing: the manner of TF1 is the only one."""


def disable_eager_execution() -> None:
    """Nothing: a graph is declared, and then run."""


def disable_tensor_equality() -> None:
    """Nothing: `==` compares tensors by identity."""


def enable_resource_variables() -> None:
    """Nothing: every variable has the meaning of a resource variable."""


def disable_resource_variables() -> None:
    """Nothing: a read of a variable sees the writes before it, in the order of construction."""
