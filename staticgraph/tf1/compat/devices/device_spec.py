"""`tf.DeviceSpec`: the parts of a device's name."""

from __future__ import annotations

import re
from typing import Any

from staticgraph.compiler.graph.errors import misuse

_PARTS = ("job", "replica", "task", "device_type", "device_index")
_SHORT = re.compile(r"(cpu|gpu):(\d+|\*)", re.IGNORECASE)


class DeviceSpec:
    """The parts of a device's name, which `tf.device` takes in place of a string.

    Args:
        job: Name of the job in a cluster. Default of this and all others: not told.
        replica: Number of the replica.
        task: Number of the task.
        device_type: "CPU" or "GPU".
        device_index: Number of the device.

    >>> from staticgraph.compat import tf1 as tf
    >>> tf.DeviceSpec(job="worker", task=1, device_type="GPU", device_index=0).to_string()
    '/job:worker/task:1/device:GPU:0'
    """

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = replica if replica is None else int(replica)
        self.task = task if task is None else int(task)
        upper = device_type if device_type is None else device_type.upper()
        self.device_type = upper if upper in ("CPU", "GPU") else device_type
        self.device_index = device_index if device_index is None else int(device_index)

    def to_string(self) -> str:
        """Return the name."""
        parts = ((name, getattr(self, name)) for name in _PARTS[:3])
        text = "".join(f"/{name}:{value}" for name, value in parts if value is not None)
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Set the parts from a name, and return this object.

        Raises:
            ValueError: If the text is no name of a device.
        """
        found: dict[str, Any] = dict.fromkeys(_PARTS)
        for part in filter(None, (each.strip() for each in spec.split("/"))):
            name, _, value = part.partition(":")
            if name in ("job", "replica", "task"):
                found[name] = value if name == "job" else int(value)
                continue
            device = value if name == "device" else part if _SHORT.fullmatch(part) else None
            kind, _, index = (device or "").partition(":")
            if not kind:
                raise misuse(
                    ValueError, f"{spec!r} is no name of a device", "such as /job:worker/task:1/device:GPU:0"
                )
            found.update(device_type=kind, device_index=None if index in ("", "*") else int(index))
        DeviceSpec.__init__(self, **found)
        return self

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Return the parts of a name. ValueError if it is none."""
        return cls().parse_from_string(spec)

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """Return the same parts, but for those given."""
        return DeviceSpec(**{**{name: getattr(self, name) for name in _PARTS}, **kwargs})

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return the parts of another name, and of this one what the other does not tell."""
        told = {name: getattr(dev, name) for name in _PARTS if getattr(dev, name) is not None}
        return self.replace(**told)

    def merge_from(self, dev: DeviceSpec) -> None:
        """Take the parts that another name tells."""
        self.__dict__.update(self.make_merged_spec(dev).__dict__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"
