"""Exporters of a model that is trained and evaluated.

They export it after each evaluation, at the end, or if it is the best so far.
"""

from __future__ import annotations

import glob
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1 import summary

Results = Mapping[str, Any]


class Exporter(ABC):
    """Exports a model after evaluations, for `EvalSpec`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The folder below `model_dir/export`."""

    @abstractmethod
    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> bytes | None:
        """Export or not; returns the new folder or None."""


class _SavedModels(Exporter):
    """Exports below one folder."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Any,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if exports_to_keep is not None and exports_to_keep <= 0:
            text = f"`exports_to_keep`, if provided, must be a positive number. Got {exports_to_keep}"
            raise misuse(ValueError, text)
        self._name = name
        self._receiver = serving_input_receiver_fn
        self._assets = assets_extra
        self._as_text = as_text
        self._keep = exports_to_keep

    name: str = read_only("name")

    @abstractmethod
    def _is_due(self, estimator: Any, export_path: str, eval_result: Any, is_final: bool) -> bool:
        """Tell if the model is exported after this evaluation."""

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Any,
        is_the_final_export: bool,
    ) -> bytes | None:
        if not self._is_due(estimator, export_path, eval_result, is_the_final_export):
            return None
        made: bytes = estimator.export_saved_model(
            export_path, self._receiver, self._assets, self._as_text, checkpoint_path
        )
        if self._keep is not None:
            numbered = sorted(
                (p for p in Path(export_path).iterdir() if p.name.isdigit()), key=lambda p: int(p.name)
            )
            for old in numbered[: -self._keep]:
                shutil.rmtree(old, ignore_errors=True)
        return made


class LatestExporter(_SavedModels):
    """Exports after each evaluation, and keeps the newest `exports_to_keep`."""

    def _is_due(self, estimator: Any, export_path: str, eval_result: Any, is_final: bool) -> bool:
        return True


class FinalExporter(_SavedModels):
    """Exports once, at the end."""

    def __init__(
        self, name: str, serving_input_receiver_fn: Any, assets_extra: Any = None, as_text: bool = False
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, None)

    def _is_due(self, estimator: Any, export_path: str, eval_result: Any, is_final: bool) -> bool:
        if is_final:
            log.info("Performing the final export in the end of training.")
        return is_final


def _loss_smaller(best_eval_result: Results, current_eval_result: Results) -> bool:
    for results in (best_eval_result, current_eval_result):
        if not results or "loss" not in results:
            raise misuse(ValueError, f"an evaluation gave no loss to compare: {results}")
    return bool(best_eval_result["loss"] > current_eval_result["loss"])


class BestExporter(_SavedModels):
    """Exports when an evaluation is better than the best before, also of earlier runs.

    `compare_fn(best_eval_result, current_eval_result)`: whether it is; by default the smaller loss.
    `event_file_pattern`: the event files of earlier evaluations, below `model_dir`; None leaves them alone.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Any = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., bool] = _loss_smaller,
        assets_extra: Any = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        if compare_fn is None:
            raise misuse(ValueError, "`compare_fn` must not be None.")
        self._compare = compare_fn
        self._pattern = event_file_pattern
        self._best: Results | None = None
        self._has_started = False

    def _is_due(self, estimator: Any, export_path: str, eval_result: Any, is_final: bool) -> bool:
        if not self._has_started and self._pattern and os.path.isdir(export_path):
            self._best = self._best_before(os.path.join(estimator.model_dir, self._pattern))
        self._has_started = True
        if self._best is not None and not self._compare(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return False
        log.info("Performing best model export.")
        self._best = eval_result
        return True

    def _best_before(self, pattern: str) -> Results | None:
        """The best evaluation in the event files of earlier runs."""
        best: Results | None = None
        for path in sorted(glob.glob(pattern)):
            for event in summary.summary_iterator(path):
                found = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
                is_better = best is None or (
                    found and self._compare(best_eval_result=best, current_eval_result=found)
                )
                best = found if found and is_better else best
        return best
