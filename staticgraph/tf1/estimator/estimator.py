"""`Estimator`: trains, evaluates and uses a model that a function builds, anew for each of these."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from staticgraph import train
from staticgraph.building import framework
from staticgraph.building.framework import (
    Graph,
    GraphKeys,
    add_to_collection,
    get_collection,
    set_random_seed,
)
from staticgraph.building.inputs import group
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.checks.arguments import path_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more, is_resource
from staticgraph.distribute.host_numbers import wait_for_all
from staticgraph.formats.tf.log import log
from staticgraph.tf1 import summary
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.estimator import evaluation, exporting
from staticgraph.tf1.estimator.run_config import RunConfig
from staticgraph.tf1.estimator.spec import EstimatorSpec, ModeKeys
from staticgraph.tf1.estimator.user_functions import (
    call_input_fn,
    call_model_fn,
    check_model_fn,
    features_and_labels,
)
from staticgraph.tf1.estimator.warm_start import as_settings, warm_start
from staticgraph.tf1.training.sync_replicas import BroadcastHook


class Estimator:
    """A model with its checkpoints.

    `model_fn(features, labels, mode, params, config)` builds the model in the default graph and returns an
    `EstimatorSpec`; it takes those of the parameters that it wants. `model_dir`: the folder of checkpoints
    and event files, a temporary one by default. `config`: a `RunConfig`. `params`: a dict for the function.
    `warm_start_from`: a checkpoint, or `WarmStartSettings`, that the variables begin as.

    An `input_fn` takes no parameters, or some of mode, params and config, and returns a `Dataset` of
    (features, labels), or these tensors.

    >>> import numpy as np
    >>> import staticgraph as sg
    >>> def model_fn(features, labels, mode):
    ...     y = sg.layers.dense(features["x"], 1)
    ...     loss = None if labels is None else sg.losses.mean_squared_error(labels, y)
    ...     step = loss if loss is None else sg.train.GradientDescentOptimizer(0.1).minimize(
    ...         loss, sg.train.get_global_step())
    ...     return sg.estimator.EstimatorSpec(mode, {"y": y}, loss, step)
    >>> x = np.float32([[0.0], [1.0]])
    >>> net = sg.estimator.Estimator(model_fn)
    >>> make_input = sg.estimator.inputs.numpy_input_fn
    >>> net = net.train(make_input({"x": x}, 2 * x, num_epochs=None, shuffle=False), steps=99)
    >>> found = list(net.predict(make_input({"x": x}, shuffle=False)))
    >>> found[1]["y"].round(1).tolist()
    [2.0]
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        self._config = _with_folder(config, model_dir)
        log.info("Using config: %s", vars(self._config))
        if model_fn is None:
            raise misuse(ValueError, "model_fn must be provided to Estimator.")
        check_model_fn(model_fn, bool(params))
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start = as_settings(warm_start_from)

    config: Any = read_only("config")

    @property
    def params(self) -> Any:
        """A copy of the parameters of the model function."""
        return copy.deepcopy(self._params)

    @property
    def model_dir(self) -> str:
        """The folder of the checkpoints."""
        folder: str = self._config.model_dir
        return folder

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """The model function, as a function of features, labels, mode and config."""

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return model_fn

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Any = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Any = None,
    ) -> Estimator:
        """Train, from the latest checkpoint on, until the input ends.

        `steps`: at most so many now. `max_steps`: at most so many in all; where there are, nothing is done.
        `hooks` are called around each step, `saving_listeners` around each checkpoint. ValueError for both
        kinds of limit, and for one below 1.
        """
        if steps is not None and max_steps is not None:
            raise misuse(ValueError, "Can not provide both steps and max_steps.")
        _check_count(steps, "steps")
        _check_count(max_steps, "max_steps")
        if max_steps is not None and max_steps <= self._trained_steps():
            log.info("Skipping training since max_steps has already saved.")
            return self
        hooks = _as_hooks(hooks)
        if steps is not None or max_steps is not None:
            hooks.append(train.StopAtStepHook(steps, max_steps))
        with Graph().as_default():
            with _scope(self._config.train_distribute, is_trained=True):
                step = self._begin()
                # TensorFlow reads the step, if it has a value, and adds 0: a resource twice.
                count_more(step.graph, 12 if is_resource(step.op) else 11)
                spec, input_hooks = self._to_train(input_fn)
                warm_start(self._warm_start)
            loss = self._run_training(spec, step, [*input_hooks, *hooks], list(saving_listeners or ()))
        log.info("Loss for final step: %s.", loss)
        return self

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Any = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """The metrics over all batches of the input, or `steps` of them, and "loss" and "global_step".

        `checkpoint_path`: by default the latest checkpoint; without one, variables are initialised. The
        results are also written to `eval_dir(name)`.
        """
        strategy = self._config.eval_distribute
        return self.evaluate_with(strategy, input_fn, steps, hooks, checkpoint_path, name)

    def evaluate_with(
        self,
        strategy: Any,
        input_fn: Callable[..., Any],
        steps: int | None,
        hooks: Any,
        checkpoint_path: str | None,
        name: str | None,
    ) -> dict[str, Any]:
        """Evaluate with replicas of a strategy, which all take part in it; None: this process by itself."""
        _check_count(steps, "steps")
        hooks = _as_hooks(hooks)
        if steps is not None:
            hooks.append(evaluation.StopAfterBatches(steps))
        checkpoint = self._checkpoint(checkpoint_path, "evaluate")
        with Graph().as_default(), _scope(strategy):
            update, values, scaffold, all_hooks = self.built_evaluation(input_fn, hooks, strategy)
            if not checkpoint:
                warm_start(self._warm_start)
            results = evaluation.evaluate_once(update, values, scaffold, all_hooks, checkpoint, self._config)
            evaluation.write_results(self.eval_dir(name), results, checkpoint)
        return results

    def built_evaluation(
        self, input_fn: Callable[..., Any], hooks: list[Any], strategy: Any = None
    ) -> tuple[Any, dict[str, Any], Any, list[Any]]:
        """Build an evaluation in the default graph.

        Returns:
            The operation that takes a batch into all metrics, the values of these and of the global step by
            name, the scaffold, and the hooks with those of the model.
        """
        step = self._begin()
        features, labels, input_hooks = self._input(input_fn, ModeKeys.EVAL, strategy)
        spec = self._call_model_fn(features, labels, ModeKeys.EVAL, self.config)
        update, values = evaluation.metrics_of(spec)
        all_hooks = [*input_hooks, *hooks, *spec.evaluation_hooks]
        return update, values | {"global_step": step}, _with_local_variables(spec.scaffold), all_hooks

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """The predictions for each example of the input, one after the other, computed as they are asked for.

        `predict_keys`: only these of the predictions. Without `yield_single_examples` whole batches are
        given.
        """
        hooks = _as_hooks(hooks)
        checkpoint = self._checkpoint(checkpoint_path, "predict")
        with Graph().as_default() as graph:
            self._begin()
            features, _, input_hooks = self._input(input_fn, ModeKeys.PREDICT, None)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            if not checkpoint:
                warm_start(self._warm_start)
            wanted = _chosen(spec.predictions, predict_keys)
            creator = train.ChiefSessionCreator(
                spec.scaffold, config=self._config.session_config, checkpoint_filename_with_path=checkpoint
            )
            all_hooks = [*input_hooks, *hooks, *spec.prediction_hooks]
            session = train.MonitoredSession(creator, all_hooks)
        with session:
            while not session.should_stop():
                with graph.as_default():  # not while the caller uses what is yielded
                    batch = session.run(wanted)
                yield from _examples(batch) if yield_single_examples else [batch]

    def export_saved_model(
        self,
        export_dir_base: str,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:
        """Write the model with the variables of a checkpoint into a new folder below `export_dir_base`.

        `serving_input_receiver_fn`: a function from `estimator.export` that makes the placeholders.
        The folder is a SavedModel, with the signatures of `export_outputs`; beside it, `sg.load` reads each
        of them from a file of its own, such as `serving_default.sg`.
        `assets_extra`: files to copy into the folder, by their names there. `as_text`: write the graph as
        text. Returns the folder's path. ValueError without a checkpoint.
        """
        if serving_input_receiver_fn is None:
            raise misuse(ValueError, "An input_receiver_fn must be defined.")
        checkpoint = checkpoint_path or self.latest_checkpoint()
        if not checkpoint:
            raise misuse(ValueError, f"Couldn't find trained model at {self.model_dir}.")
        with Graph().as_default():
            self._begin()
            receiver = serving_input_receiver_fn()
            labels = getattr(receiver, "labels", None)
            spec = self._call_model_fn(receiver.features, labels, experimental_mode, self.config)
            given = (checkpoint, assets_extra, self._config, as_text)
            return exporting.export(export_dir_base, receiver, spec, *given)

    def export_savedmodel(
        self,
        export_dir_base: str,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """`export_saved_model` under its older name."""
        return self.export_saved_model(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path
        )

    def latest_checkpoint(self) -> str | None:
        """The prefix of the latest checkpoint, or None."""
        return train.latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """The names in the latest checkpoint. ValueError without one."""
        return [name for name, _ in train.list_variables(self._trained())]

    def get_variable_value(self, name: str) -> Any:
        """A variable in the latest checkpoint. ValueError without one."""
        return train.load_variable(self._trained(), name)

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the event files of an evaluation."""
        return os.path.join(self.model_dir, f"eval_{name}" if name else "eval")

    def _begin(self) -> Any:
        """Prepare a new graph; returns its global step."""
        set_random_seed(self._config.tf_random_seed)
        return self._create_global_step(framework.get_default_graph())

    def _create_global_step(self, graph: Any) -> Any:
        """Make the global step of a graph; estimators of users override it too."""
        return train.create_global_step(graph)

    def _to_train(self, input_fn: Callable[..., Any]) -> tuple[EstimatorSpec, list[Any]]:
        """Return the model to train, and the hooks of its input."""
        strategy, mode = self._config.train_distribute, ModeKeys.TRAIN
        if getattr(strategy, "has_copies", False):
            from staticgraph.tf1.estimator.replicated import model_of_replicas

            with framework.device("/cpu:0"):
                made = self._call_input_fn(input_fn, mode, strategy)
            model = partial(self._call_model_fn, mode=mode, config=self.config)
            return model_of_replicas(strategy, made, model)
        features, labels, hooks = self._input(input_fn, mode, strategy)
        spec = self._call_model_fn(features, labels, mode, self.config)
        if getattr(strategy, "num_processes", 1) > 1:
            spec = spec._replace(loss=strategy.reported(spec.loss))
        return spec, hooks

    def _input(self, input_fn: Callable[..., Any], mode: str, strategy: Any) -> tuple[Any, Any, list[Any]]:
        with framework.device("/cpu:0"):
            made = self._call_input_fn(input_fn, mode, strategy)
            if mode == ModeKeys.TRAIN and isinstance(made, Dataset):
                made = getattr(strategy, "own_batches", lambda dataset: dataset)(made)
            return features_and_labels(made)

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, strategy: Any) -> Any:
        return call_input_fn(input_fn, mode, self.params, self.config, strategy)

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        made: EstimatorSpec = call_model_fn(self._model_fn, features, labels, mode, self.params, config)
        return made

    def _run_training(self, spec: EstimatorSpec, step: Any, hooks: list[Any], listeners: list[Any]) -> Any:
        """Make training steps until there is a reason to stop; returns the last loss."""
        config = self._config
        if all(each.op.name != "loss" for each in get_collection(GraphKeys.SUMMARIES)):
            summary.scalar("loss", spec.loss)
        add_to_collection(GraphKeys.LOSSES, spec.loss)
        hooks.append(train.NanTensorHook(spec.loss))
        if config.log_step_count_steps is not None:
            shown = {"loss": spec.loss, "step": step}
            hooks.append(train.LoggingTensorHook(shown, every_n_iter=config.log_step_count_steps))
        hooks += spec.training_hooks
        if not (spec.scaffold.saver or get_collection(GraphKeys.SAVERS)):
            saver = train.Saver(
                sharded=True,
                max_to_keep=config.keep_checkpoint_max,
                defer_build=True,
                save_relative_paths=True,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
            )
            add_to_collection(GraphKeys.SAVERS, saver)
        if config.num_worker_replicas > 1:
            hooks.insert(0, BroadcastHook())
        chief_hooks = [*self._saving(spec, hooks, listeners), *spec.training_chief_hooks]
        session = train.MonitoredTrainingSession(
            is_chief=config.is_chief,
            checkpoint_dir=self.model_dir,
            scaffold=spec.scaffold,
            hooks=hooks,
            chief_only_hooks=chief_hooks,
            save_checkpoint_secs=0,
            save_summaries_steps=config.save_summary_steps,
            config=config.session_config,
            log_step_count_steps=config.log_step_count_steps,
        )
        loss = None
        with session as running:
            while not running.should_stop():
                _, loss = running.run([spec.train_op, spec.loss])
        if config.num_worker_replicas > 1:  # the last checkpoint is the same for all
            wait_for_all()
        if loss is None:
            log.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
        return loss

    def _saving(self, spec: EstimatorSpec, hooks: list[Any], listeners: list[Any]) -> list[Any]:
        """The hook that saves checkpoints, where none of the others does."""
        config = self._config
        for hook in (*hooks, *spec.training_chief_hooks):
            if isinstance(hook, train.CheckpointSaverHook):
                hook._listeners += [each for each in listeners if each not in hook._listeners]
                return []
        seconds, steps = config.save_checkpoints_secs, config.save_checkpoints_steps
        if seconds or steps:
            folder, scaffold = self.model_dir, spec.scaffold
            return [train.CheckpointSaverHook(folder, seconds, steps, scaffold=scaffold, listeners=listeners)]
        if listeners:
            text = "There should be a CheckpointSaverHook to use saving_listeners."
            raise misuse(ValueError, text, "set an interval of checkpoints in RunConfig")
        return []

    def _checkpoint(self, given: str | None, purpose: str) -> str | None:
        found = given or self.latest_checkpoint()
        if not found:
            log.info(
                "Could not find trained model in model_dir: %s, running initialization to %s.",
                self.model_dir,
                purpose,
            )
        return found

    def _trained(self) -> str:
        found = self.latest_checkpoint()
        if found is None:
            raise misuse(ValueError, f"Couldn't find trained model at {self.model_dir}.")
        return found

    def _trained_steps(self) -> int:
        found = self.latest_checkpoint()
        return 0 if found is None else int(train.load_variable(found, "global_step"))


def _with_folder(config: Any, model_dir: Any) -> Any:
    """The settings, with the folder of an estimator. ValueError if two are given."""
    config = RunConfig() if config is None else config
    if not isinstance(config, RunConfig):
        raise misuse(ValueError, f"config must be an instance of `RunConfig`, but provided {config!r}.")
    if model_dir is not None:
        model_dir = path_of(model_dir, "model_dir")
        if config.model_dir not in (None, model_dir):
            text = "`model_dir` are set both in constructor and `RunConfig`, but with different values"
            raise misuse(ValueError, f"{text}: {model_dir!r}, {config.model_dir!r}")
        return config.replace(model_dir=model_dir)
    if config.model_dir is not None:
        return config
    folder = tempfile.mkdtemp()
    log.warning("Using temporary folder as model directory: %s", folder)
    return config.replace(model_dir=folder)


@contextmanager
def _scope(strategy: Any, is_trained: bool = False) -> Iterator[None]:
    """Context in which a model is built: the replica of the strategy, if there is one.

    To train several replicas in this process, it is outside of them.
    """
    if not hasattr(strategy, "replica"):
        yield
        return
    with strategy.averaging(), strategy.scope() if is_trained and strategy.has_copies else strategy.replica():
        yield


def _with_local_variables(scaffold: Any) -> Any:
    """A scaffold that initialises local variables, those of metrics, besides what its own operation does."""
    if scaffold.local_init_op is None:
        return scaffold
    both = group(scaffold.local_init_op, train.Scaffold.default_local_init_op())
    return train.Scaffold(local_init_op=both, copy_from_scaffold=scaffold)


def _check_count(count: int | None, what: str) -> None:
    if count is not None and count <= 0:
        raise misuse(ValueError, f"Must specify {what} > 0, given: {count}")


def _as_hooks(hooks: Sequence[Any] | None) -> list[Any]:
    for hook in hooks or ():
        if not isinstance(hook, train.SessionRunHook):
            raise misuse(TypeError, f"Hooks must be a SessionRunHook, given: {hook!r}")
    return list(hooks or ())


def _chosen(predictions: Any, keys: Any) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, Mapping):
        raise misuse(ValueError, "predict_keys argument is not valid in case of non-dict predictions.")
    keys = [keys] if isinstance(keys, str) else keys
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        text = f"Expected to run at least one output from {list(predictions)}, provided {keys}."
        raise misuse(ValueError, text)
    return chosen


def _examples(batch: Any) -> Iterator[Any]:
    """The predictions for single examples, of a batch of them. ValueError if parts have other sizes."""
    if not isinstance(batch, Mapping):
        yield from batch
        return
    sizes = {key: len(value) for key, value in batch.items()}
    if len(set(sizes.values())) > 1:
        text = f"Batch length of predictions should be same: {sizes}"
        raise misuse(ValueError, text, "yield_single_examples=False gives whole batches")
    for number in range(next(iter(sizes.values()), 0)):
        yield {key: value[number] for key, value in batch.items()}
