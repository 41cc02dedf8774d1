"""Variables of a new model that begin as those of a checkpoint."""

from __future__ import annotations

from typing import Any, NamedTuple

from staticgraph import train
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log


class WarmStartSettings(NamedTuple):
    """Variables that begin as those of a checkpoint, see `train.warm_start`."""

    ckpt_to_initialize_from: str
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Any = None
    var_name_to_prev_var_name: Any = None


def as_settings(given: Any) -> WarmStartSettings | None:
    """Return the settings of a warm start, given as they are, as the path of a checkpoint, or as None.

    Raises:
        ValueError: They are given as something else.
    """
    if given is None or isinstance(given, WarmStartSettings):
        return given
    if isinstance(given, str):
        return WarmStartSettings(given)
    text = f"warm_start_from must be a string or a WarmStartSettings, instead got {given!r}"
    raise misuse(ValueError, text)


def warm_start(settings: WarmStartSettings | None) -> None:
    """Change the initializers of the default graph's variables."""
    if settings is not None:
        log.info("Warm-starting with WarmStartSettings: %s", settings)
        train.warm_start(*settings)
