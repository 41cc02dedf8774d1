"""`tf.contrib.tpu.TPUEstimator` on a machine without TPUs: an estimator that tells its functions the batch
size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.formats.tf.log import log
from staticgraph.tf1.compat.devices.accelerators import TPUConfig
from staticgraph.tf1.estimator.spec import EstimatorSpec
from staticgraph.tf1.estimator.user_functions import call_input_fn, call_model_fn, parameters

_RESERVED = ("batch_size", "context", "use_tpu")


class RunConfig(sg.estimator.RunConfig):
    """`sg.estimator.RunConfig` with settings of TPUs, which are kept. `kwargs`: the others, by name.

    ValueError for both a `cluster` and a `master`.
    """

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        if cluster is not None and master is not None:
            raise misuse(ValueError, "You cannot provide both cluster and master.")
        super().__init__(**kwargs)
        vars(self).update(tpu_config=tpu_config or TPUConfig(), cluster=cluster)
        vars(self).update(master=master or "", evaluation_master=evaluation_master or master or "")


class TPUEstimatorSpec(NamedTuple):
    """An `EstimatorSpec` whose metrics and scaffold are functions.

    `eval_metrics`: a pair of a function that makes metrics by name, and the tensors that it takes, as a
    list or by name. `host_call`: a pair of a function and tensors too, whose operations run with every
    step.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Any = None
    scaffold_fn: Callable[[], Any] | None = None
    host_call: Any = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None

    def as_estimator_spec(self) -> EstimatorSpec:
        """Return the `EstimatorSpec` of the same fields."""
        beside = [] if self.host_call is None else [_Beside(_applied(self.host_call))]
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            None if self.eval_metrics is None else _applied(self.eval_metrics),
            self.export_outputs,
            scaffold=None if self.scaffold_fn is None else self.scaffold_fn(),
            training_hooks=[*(self.training_hooks or ()), *beside],
            evaluation_hooks=[*(self.evaluation_hooks or ()), *beside],
            prediction_hooks=[*(self.prediction_hooks or ()), *beside],
        )


class TPUEstimator(sg.estimator.Estimator):
    """An estimator whose functions find the size of their batches in `params["batch_size"]`.

    `train_batch_size`, `eval_batch_size` and `predict_batch_size` are these sizes. The model function may
    return a `TPUEstimatorSpec`. With `use_tpu`, training and everything else is an UnimplementedError. The
    parameters `batch_axis`, `eval_on_tpu`, `export_to_tpu`, `export_to_cpu`, `embedding_config_spec` and
    `export_saved_model_api_version` change nothing.

    ValueError if `params` has an entry of the estimator's own.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Any = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        export_to_cpu: bool = True,
        warm_start_from: Any = None,
        embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = None,
    ) -> None:
        if not isinstance(config, RunConfig):
            raise misuse(ValueError, "`config` must be provided with type `tpu_config.RunConfig`")
        if taken := [key for key in _RESERVED if key in (params or {})]:
            raise misuse(ValueError, f"{taken} are reserved keys but existed in params {params}.")
        modes = sg.estimator.ModeKeys
        self._sizes = {
            modes.TRAIN: train_batch_size,
            modes.EVAL: eval_batch_size,
            modes.PREDICT: predict_batch_size,
        }
        self._uses_tpu = use_tpu
        self._log_every = config.log_step_count_steps  # by a hook that counts examples too
        quiet = config.replace(log_step_count_steps=None)
        super().__init__(model_fn, model_dir, quiet, params or {"use_tpu": use_tpu}, warm_start_from)

    def _with_size(self, mode: str) -> Any:
        """The parameters of the user's functions in a mode. UnimplementedError if they want a TPU."""
        if self._uses_tpu:
            text = "use_tpu=True, and there are no TPUs here"
            raise misuse(UnimplementedError, text, "TPUEstimator(..., use_tpu=False)")
        params = self.params
        entries = {"use_tpu": False} | (
            {"batch_size": self._sizes[mode]} if self._sizes[mode] is not None else {}
        )
        for key, value in entries.items():
            if hasattr(params, "add_hparam"):
                params.add_hparam(key, value)
            else:
                params[key] = value
        return params

    def _create_global_step(self, graph: Any) -> Any:
        """Make the global step a resource, as TensorFlow does for TPUs: it counts as more operations."""
        keys = sg.GraphKeys
        return sg.get_variable(
            keys.GLOBAL_STEP, [], sg.int64, sg.zeros_initializer(), trainable=False,
            collections=[keys.GLOBAL_VARIABLES, keys.GLOBAL_STEP], use_resource=True,
        )  # fmt: skip

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, strategy: Any) -> Any:
        names = parameters(input_fn)
        if "params" not in names:
            text = f"input_fn ({input_fn}) does not include params argument, required by TPUEstimator"
            hint = 'def input_fn(params): ... params["batch_size"]'
            raise misuse(ValueError, text, hint)
        return call_input_fn(input_fn, mode, self._with_size(mode), self.config, strategy)

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        params = self._with_size(mode)
        log.info("Running %s on CPU", mode)
        spec = call_model_fn(self._model_fn, features, labels, mode, params, config, TPUEstimatorSpec)
        found: EstimatorSpec = spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec
        size = self._sizes[mode]
        if mode != sg.estimator.ModeKeys.TRAIN or self._log_every is None or size is None:
            return found
        counter = _ExamplesCounter(size, self._log_every, self.model_dir)
        return found._replace(training_hooks=(*found.training_hooks, counter))

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """See `Estimator.predict`; `predict_batch_size` must have been given."""
        if self._sizes[sg.estimator.ModeKeys.PREDICT] is None:
            text = "TPUEstimator.predict needs a predict_batch_size"
            raise misuse(ValueError, text, "TPUEstimator(..., predict_batch_size=8)")
        return super().predict(input_fn, predict_keys, hooks, checkpoint_path, yield_single_examples)


class _Beside(sg.train.SessionRunHook):
    """Runs operations with every step."""

    def __init__(self, operations: Any) -> None:
        self._operations = operations

    def before_run(self, run_context: Any) -> Any:
        return sg.train.SessionRunArgs(self._operations)


class _ExamplesCounter(sg.train.StepCounterHook):
    """Logs how many steps and examples are made per second, and writes it to an event file."""

    def __init__(self, batch_size: int, every_n_steps: int, output_dir: str) -> None:
        super().__init__(every_n_steps=every_n_steps, output_dir=output_dir)
        self._size = batch_size

    def _write(self, rate: float, step: int) -> None:
        super()._write(rate, step)
        examples = rate * self._size
        if self._writer is not None:
            value = sg.summary.Summary.Value(tag="examples/sec", simple_value=examples)
            self._writer.add_summary(sg.summary.Summary(value=[value]), step)
        log.info("examples/sec: %g", examples)


def _applied(call: Any) -> Any:
    function, tensors = call
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)
