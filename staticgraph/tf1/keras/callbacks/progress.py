"""The progress of `fit` on standard output."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.keras.callbacks.base import Callback
from staticgraph.tf1.keras.utils.progress import Progbar


class ProgbarLogger(Callback):
    """A bar per epoch; `fit`, `evaluate` and `predict` make one where `verbose` asks for it.

    `count_mode`: whether "samples" or "steps" are counted.
    """

    def __init__(self, count_mode: str = "samples", stateful_metrics: Any = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise misuse(ValueError, f"count_mode={count_mode!r} is not samples or steps")
        self.use_steps = count_mode == "steps"
        self.progbar: Progbar | None = None
        self._testing = False

    def _begin(self) -> None:
        unit = "steps" if self.use_steps else "samples"
        names = self.params.get("metrics", [])
        self.progbar = Progbar(
            self.params.get(unit),
            verbose=self.params.get("verbose", 1),
            stateful_metrics=[n for n in names if n not in ("loss", "val_loss") or n.startswith("val_")],
            unit_name=unit.removesuffix("s"),
        )
        self._held: dict[str, Any] = {}

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._testing = True  # validation runs inside an epoch, and has no bar of its own
        self._begin()
        if self.params.get("verbose") and self.params.get("epochs", 1) > 1:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")

    def _advance(self, logs: Any) -> None:
        assert self.progbar is not None
        found = dict(logs or {})
        size = 1 if self.use_steps else found.get("size", 0)
        values = [(n, found[n]) for n in self.params.get("metrics", ()) if n in found]
        target = self.progbar.target
        if target is not None and self.progbar.seen + size >= target and self._testing:
            self._held = {"size": size, **found}  # the end of the bar waits for the validation
            return
        self.progbar.add(size, values)

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        self._advance(logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.progbar is None:
            return
        found = dict(logs or {})
        shown = [(name, found[name]) for name in self.params.get("metrics", ()) if name in found]
        self.progbar.stateful_metrics |= {name for name, _ in shown}
        self.progbar.update(self.progbar.target or self.progbar.seen, shown)

    def on_test_begin(self, logs: Any = None) -> None:
        if not self._testing:
            self._begin()

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        if not self._testing:
            self._advance(logs)

    def on_predict_begin(self, logs: Any = None) -> None:
        self._begin()

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        self._advance(logs)
