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
    "control_flow_v2_enabled",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_control_flow_v2",
    "enable_resource_variables",
    "executing_eagerly",
    "resource_variables_enabled",
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


def resource_variables_enabled() -> bool:
    """True: every variable has the meaning of a resource variable."""
    return True


def control_flow_v2_enabled() -> bool:
    """True: the bodies of loops and branches are functions."""
    return True


def enable_control_flow_v2() -> None:
    """Nothing: the bodies of loops and branches are functions."""


def disable_control_flow_v2() -> None:
    """Nothing: loops and branches give the same results in both manners."""


def disable_v2_tensorshape() -> None:
    """Nothing: shapes have Dimensions, as in TF1."""
