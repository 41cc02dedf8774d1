"""`tf.contrib.learn`: wide and deep models, a linear model and a network that are trained together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import staticgraph as sg
from staticgraph.building.signatures import made_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.contrib.learn.estimators import ModeKeys
from staticgraph.tf1.compat.contrib.learn.models import (
    DEEP_LEARNING_RATE,
    Classes,
    Model,
    Scores,
    classes_head,
    deep_logits,
    linear_logits,
    linear_rate,
    numbers_head,
)
from staticgraph.tf1.compat.contrib.optimizers.optimize_loss import optimize_loss
from staticgraph.tf1.estimator.heads import Head


class _Combined(Model):
    """The sum of the logits of a linear model and of a network, each with an optimizer of its own."""

    _OPTIMIZER = "Ftrl"

    def __init__(
        self,
        head: Head,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = sg.nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        linear, self._deep = list(linear_feature_columns or ()), list(dnn_feature_columns or ())
        if not linear and not self._deep:
            text = "Either linear_feature_columns or dnn_feature_columns must be defined."
            raise misuse(ValueError, text)
        if self._deep and not dnn_hidden_units:
            text = "dnn_hidden_units must be defined when dnn_feature_columns is specified."
            raise misuse(ValueError, text)
        self._units, self._activation = list(dnn_hidden_units or ()), dnn_activation_fn
        self._dropout, self._deep_optimizer = dnn_dropout, dnn_optimizer or "Adagrad"
        self._counts_once = fix_global_step_increment_bug
        given = locals() | {"optimizer": linear_optimizer}
        super().__init__(head, linear, linear_rate(linear) if linear else DEEP_LEARNING_RATE, given)

    def _logits(self, features: Any, mode: str) -> Any:
        outputs, parts = self._head.logits_dimension, []
        if self._deep:
            dropout = self._dropout if mode == ModeKeys.TRAIN else None
            units = [*self._units, outputs]
            parts.append(deep_logits(features, self._deep, units, self._activation, dropout))
        if self._columns:
            parts.append(linear_logits(features, self._columns, outputs))
        return sg.add_n(parts) if len(parts) > 1 else parts[0]

    def _train_op(self, loss: Any) -> Any:
        clip = None if self._clip is None else float(self._clip)
        step = sg.train.get_global_step()
        parts = []
        if self._deep:
            parts.append(("dnn", DEEP_LEARNING_RATE, self._deep_optimizer))
        if self._columns:
            parts.append(("linear", self._learning_rate, self._optimizer))
        made = [
            optimize_loss(
                loss,
                step,
                rate,
                optimizer,
                clip_gradients=clip,
                variables=sg.trainable_variables(f"{scope}/"),
                name=scope,
                increment_global_step=not self._counts_once,
            )
            for scope, rate, optimizer in parts
        ]
        if not self._counts_once:
            return sg.group(*made)
        with sg.control_dependencies(made):
            return sg.assign_add(step, 1).op


_PARTS = (
    "linear_feature_columns linear_optimizer _joint_linear_weights dnn_feature_columns dnn_optimizer "
    "dnn_hidden_units dnn_activation_fn dnn_dropout gradient_clip_norm enable_centered_bias"
)
_SETTINGS = "config feature_engineering_fn embedding_lr_multipliers input_layer_min_slice_size"


class DNNLinearCombinedClassifier(Classes, _Combined):
    """A classifier that is a linear model plus a network, see `sg.estimator.DNNLinearCombinedClassifier`.

    Each step of a model with both parts counts twice in the global step, as in TensorFlow, unless
    `fix_global_step_increment_bug` is True.
    """

    __init__ = made_of(
        _Combined,
        f"model_dir n_classes weight_column_name {_PARTS} {_SETTINGS} label_keys "
        "fix_global_step_increment_bug",
        head=classes_head,
    )


class DNNLinearCombinedRegressor(Scores, _Combined):
    """A model of numbers that is a linear model plus a network, see `DNNLinearCombinedClassifier`."""

    __init__ = made_of(
        _Combined,
        f"model_dir weight_column_name {_PARTS} label_dimension {_SETTINGS} fix_global_step_increment_bug",
        head=numbers_head,
    )
