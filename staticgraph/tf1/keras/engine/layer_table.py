"""The classes of layers that a config may name; each module of layers adds its own."""

from __future__ import annotations

from typing import Any

LAYERS: dict[str, Any] = {}
