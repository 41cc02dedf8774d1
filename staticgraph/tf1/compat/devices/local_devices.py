"""`tensorflow.python.client.device_lib`: what there is to compute with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.placement import without_gpus

if TYPE_CHECKING:
    from staticgraph.runtime.gpu.cuda.driver import Card

__all__ = ["Device", "list_local_devices"]


@dataclass(frozen=True, slots=True)
class Device:
    """A device that computes."""

    name: str
    device_type: str
    memory_limit: int = 0
    physical_device_desc: str = ""


def list_local_devices(session_config: Any = None) -> list[Device]:
    """The devices of this machine that a session can use, with this ConfigProto.

    >>> from staticgraph.tf1.compat.devices.local_devices import list_local_devices
    >>> list_local_devices()[0].name
    '/device:CPU:0'
    """
    cards = () if without_gpus(session_config) else usable_cards()
    return [Device("/device:CPU:0", "CPU"), *(_device(number, card) for number, card in enumerate(cards))]


def usable_cards() -> tuple[Card, ...]:
    """The GPUs that sessions can run on."""
    from staticgraph.runtime.gpu.cuda import present  # what few machines have must not delay the others

    return present.cards() if present.usable() else ()


def cupy_packages() -> dict[str, str]:
    """The packages that are installed of those that drive GPUs."""
    from staticgraph.runtime.gpu.cuda import present

    return present.packages()


def capability(card: Card) -> tuple[int, int]:
    """A GPU's compute capability.

    >>> from staticgraph.runtime.gpu.cuda.driver import Card
    >>> capability(Card("NVIDIA B200", "sm_100", 148, 180 << 30))
    (10, 0)
    """
    return divmod(int(card.architecture.removeprefix("sm_")), 10)


def _device(number: int, card: Card) -> Device:
    major, minor = capability(card)
    about = f"device: {number}, name: {card.name}, compute capability: {major}.{minor}"
    return Device(f"/device:GPU:{number}", "GPU", card.memory, about)
