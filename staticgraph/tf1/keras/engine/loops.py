"""Epochs and batches: `fit`, `evaluate` and `predict`, and the same for generators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.tf1.data.dataset import Dataset
from staticgraph.tf1.data.iterators import Iterator
from staticgraph.tf1.keras.callbacks.base import CallbackList, History
from staticgraph.tf1.keras.callbacks.progress import ProgbarLogger
from staticgraph.tf1.keras.engine.data import ArrayBatches, StreamBatches, arrays_for, is_stream, split
from staticgraph.tf1.keras.engine.graph_batches import GraphBatches, is_of_graph
from staticgraph.tf1.keras.engine.structure import listed, single

Batches = ArrayBatches | StreamBatches | GraphBatches


class Loops:
    """The methods of `Model` that go over data batch by batch."""

    _arrays: Callable[..., Any]
    _function: Callable[..., Any]
    _see: Callable[..., Any]
    _fed_inputs: Callable[[], list[Any]]
    reset_metrics: Callable[[], None]
    metrics_names: Any
    input_names: list[str]
    _strategy: Any
    stop_training: bool
    history: Any

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> History:
        """Train for `epochs` times over the data, and give the history of the loss and the metrics.

        `x` and `y` are arrays, lists or dicts of them, in batches of `batch_size` (32). Or `x` is a
        `data.Dataset`, an iterator of one, a generator or a `Sequence` of batches (inputs, targets) or
        (inputs, targets, weights). Or both are tensors that each run computes anew. An epoch is
        `steps_per_epoch` batches, or a whole dataset or `Sequence`. The metrics of `validation_data`, or of
        the last `validation_split` of the samples, are reported as `val_...`.

        `verbose`: 1 shows a bar, 2 a line per epoch, 0 nothing. `class_weight` maps numbers of classes to the
        weight of their samples. If it was compiled in the scope of a `MultiWorkerMirroredStrategy`, each
        process trains with its part of each batch. Batches are made between the steps: `max_queue_size`,
        `workers` and `use_multiprocessing` are taken and change nothing.
        """
        batches: Batches
        if self._strategy is not None:
            x, y, sample_weight, batch_size = self._strategy.own_part(x, y, sample_weight, batch_size)
            if not self._strategy.is_first:
                verbose, callbacks = 0, [each for each in listed(callbacks) if not _is_of_chief(each)]
        epochs = kwargs.pop("nb_epoch", epochs)
        if kwargs:
            raise misuse(TypeError, f"fit() got an unknown argument {sorted(kwargs)[0]!r}")
        if is_of_graph(x):
            given = source(x, y, sample_weight, batch_size or validation_split)
            batches, ranks = self._of_graph(given, steps_per_epoch, "steps_per_epoch", class_weight)
        elif is_stream(x):
            batches, ranks = self._stream(x, steps_per_epoch, shuffle, class_weight)
        else:
            arrays, ranks = self._arrays(x, y, sample_weight, class_weight)
            if validation_split and validation_data is None:
                arrays, held = split(arrays, validation_split)
                validation_data = _Prepared(held, ranks)
            batches = ArrayBatches(arrays, batch_size, shuffle, steps_per_epoch)
        _check_whole(epochs=epochs, initial_epoch=initial_epoch)
        checked = self._validation(validation_data, batch_size, validation_steps)
        if verbose == 1 and not batches.by_steps:
            _print_samples(batches, checked)
        return self._fit(
            batches, ranks, checked, callbacks, verbose, range(initial_epoch, epochs), epochs, validation_freq
        )

    def _fit(
        self,
        batches: Batches,
        ranks: Sequence[int | None],
        checked: Any,
        callbacks: Any,
        verbose: int,
        epochs: range,
        last: int,
        validation_freq: Any,
    ) -> History:
        step = self._function("train", ranks)
        self.history = History()
        names = self.metrics_names
        shown = [*names, *(f"val_{n}" for n in names)] if checked is not None else names
        called = [*listed(callbacks), self.history]
        every = self._told(called, batches, verbose, bool(verbose), shown, last, checked is not None)
        self.stop_training = False
        every.on_train_begin()
        for epoch in epochs:
            if self.stop_training:
                break
            self.reset_metrics()
            every.on_epoch_begin(epoch)
            values = _epoch(step, batches, names, every, "train", self)
            logs = dict(zip(names, values, strict=True))
            if checked is not None and _is_due(validation_freq, epoch) and not self.stop_training:
                found = checked(self, every)
                logs |= {f"val_{name}": value for name, value in zip(names, found, strict=True)}
            every.on_epoch_end(epoch, logs if self._strategy is None else dict(self._strategy.of_all(logs)))
        every.on_train_end()
        return self.history

    def _stream(
        self, x: Any, steps: int | None, shuffle: Any = False, class_weight: Any = None
    ) -> tuple[StreamBatches, list[int | None]]:
        """Batches from a generator, and the ranks of the weights of its first item."""
        first: list[Any] = []

        def convert(item: Any) -> list[Any]:
            found, _ = self._arrays(*parts(item), class_weight)
            return found

        batches = StreamBatches(x, steps, bool(shuffle), convert)
        if batches._iterator is None:
            first = [x[0]]
        else:
            first = [next(batches._iterator)]
            batches._iterator = _chained(first, batches._iterator)
        _, ranks = self._arrays(*parts(first[0]), class_weight)
        return batches, ranks

    def _of_graph(
        self, given: Any, steps: int | None, name: str, class_weight: Any = None, begin_anew: bool = False
    ) -> tuple[GraphBatches, list[int | None]]:
        """Return batches that the graph computes, and the ranks of the weights of the first one."""

        def convert(item: Any) -> tuple[list[Any], list[int | None]]:
            return self._arrays(*parts(item), class_weight)

        batches = GraphBatches(given, steps, lambda item: convert(item)[0], name, begin_anew)
        return batches, convert(batches.first())[1]

    def _validation(self, data: Any, batch_size: int | None, steps: int | None) -> _Validation | None:
        if data is None:
            return None
        if is_of_graph(data):
            return _Validation(*self._of_graph(data, steps, "validation_steps", begin_anew=True))
        if is_stream(data):
            batches, ranks = self._stream(data, steps)
            return _Validation(batches, ranks)
        if isinstance(data, _Prepared):
            arrays, ranks = data.arrays, data.ranks
        else:
            if len(data) not in (2, 3):
                raise misuse(
                    ValueError, f"validation_data must be (x, y) or (x, y, weights), not {len(data)} items"
                )
            arrays, ranks = self._arrays(*parts(tuple(data)))
        return _Validation(ArrayBatches(arrays, batch_size, False, steps), ranks)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The loss and the metrics over all samples: a number, or a list in the order of `metrics_names`."""
        batches: Batches
        if is_of_graph(x):
            batches, ranks = self._of_graph(source(x, y, sample_weight, batch_size), steps, "steps")
        elif is_stream(x):
            batches, ranks = self._stream(x, steps)
        else:
            arrays, ranks = self._arrays(x, y, sample_weight)
            batches = ArrayBatches(arrays, batch_size, False, steps)
        every = self._told(listed(callbacks), batches, verbose, verbose == 1, self.metrics_names)
        return single(_Validation(batches, ranks)(self, every))

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: int = 0,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
    ) -> Any:
        """The outputs for all samples: an array, or a list of them where the model has several outputs."""
        batches: Batches
        if is_of_graph(x):
            given = source(x, None, None, batch_size)
            batches = GraphBatches(given, steps, lambda item: self._inputs(parts(item)[0]), "steps")
        elif is_stream(x):
            batches = StreamBatches(x, steps, False, lambda item: self._inputs(parts(item)[0]))
        else:
            batches = ArrayBatches(self._inputs(x), batch_size, False, steps)
        every = self._told(listed(callbacks), batches, verbose, verbose == 1, [])
        every.on_predict_begin()
        found: list[list[Any]] = []
        step: Any = None
        for number, batch in enumerate(batches):
            step = self._function("predict") if step is None else step
            every.on_batch_begin("predict", number, batch.size)
            found.append(step(batch.arrays))
            every.on_batch_end("predict", number, batch.size, {})
        every.on_predict_end()
        return single([np.concatenate(parts) for parts in zip(*found, strict=True)])

    def _inputs(self, x: Any) -> list[Any]:
        self._see(x)
        return arrays_for(x, self.input_names, self._fed_inputs(), "x")

    def _told(
        self,
        callbacks: list[Any],
        batches: Batches,
        verbose: int,
        has_bar: bool,
        names: Sequence[str],
        epochs: int = 1,
        validates: bool = False,
    ) -> CallbackList:
        """Return the callbacks, and a bar of progress if `has_bar`, told about the model and what it runs."""
        bars = [ProgbarLogger("steps" if batches.by_steps else "samples")] if has_bar else []
        every = CallbackList([*callbacks, *bars], self)
        every.set_params(
            {
                "batch_size": batches.batch_size,
                "epochs": epochs,
                "steps": batches.steps,
                "samples": batches.samples,
                "verbose": verbose,
                "do_validation": validates,
                "metrics": list(names),
            }
        )
        return every

    # The same under the names for generators

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: int | None = None,
        validation_freq: Any = 1,
        class_weight: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> History:
        """`fit` on a generator or a `Sequence`."""
        return self.fit(
            generator,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_freq=validation_freq,
        )

    def evaluate_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """`evaluate` on a generator or a `Sequence`."""
        return self.evaluate(generator, steps=steps, callbacks=callbacks, verbose=verbose)

    def predict_generator(
        self,
        generator: Any,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        verbose: int = 0,
    ) -> Any:
        """`predict` on a generator or a `Sequence`."""
        return self.predict(generator, steps=steps, callbacks=callbacks, verbose=verbose)


class _Prepared:
    """Arrays that have been checked already."""

    def __init__(self, arrays: list[Any], ranks: list[int | None]) -> None:
        self.arrays, self.ranks = arrays, ranks


class _Validation:
    """One evaluation of a model on some data."""

    def __init__(self, batches: Batches, ranks: Sequence[int | None]) -> None:
        self.batches, self.ranks = batches, ranks
        self.samples = batches.samples

    def __call__(self, model: Any, every: CallbackList) -> list[float]:
        model.reset_metrics()
        step = model._function("test", self.ranks)
        every.on_test_begin()
        found = _epoch(step, self.batches, model.metrics_names, every, "test", model)
        every.on_test_end()
        return found


def _epoch(
    step: Callable[[list[Any]], Sequence[Any]],
    batches: Batches,
    names: Sequence[str],
    every: CallbackList,
    kind: str,
    model: Any,
) -> list[float]:
    """Run all batches; the mean loss and the metrics at the end.

    Metrics accumulate by themselves. The loss of a batch counts with the number of its samples, or, if
    there is no telling, as much as that of any other.
    """
    total, number, values = 0.0, 0, [0.0] * len(names)
    watched = every.watch_batches(kind)
    for index, batch in enumerate(batches):
        if watched:
            every.on_batch_begin(kind, index, batch.size)
        values = step(batch.arrays)  # type: ignore[assignment]
        size = 1 if batches.by_steps else batch.size
        total, number = total + float(values[0]) * size, number + size
        if watched:
            logs = {name: float(value) for name, value in zip(names, values, strict=True)}
            every.on_batch_end(kind, index, batch.size, logs)
        if model.stop_training and kind == "train":
            break
    if isinstance(batches, GraphBatches) and batches.ended:
        model.stop_training = True
    return [total / max(number, 1), *map(float, values[1:])]


def source(x: Any, y: Any, sample_weight: Any, others: Any = None) -> Any:
    """Return what the batches come from. ValueError for arguments that it leaves no room for."""
    if not isinstance(x, Dataset | Iterator):
        found = x if y is None else (x, y) if sample_weight is None else (x, y, sample_weight)
        if not is_of_graph(found):
            what = "x is made of tensors, and y or sample_weight is not"
            raise misuse(ValueError, what, "convert_to_tensor makes a tensor of an array")
        return found
    if y is not None or sample_weight is not None or others:
        what = "a dataset gives inputs, targets and weights by itself, in batches of its own"
        raise misuse(ValueError, what, "leave y, sample_weight, batch_size and validation_split out")
    return x


def _is_due(frequency: Any, epoch: int) -> bool:
    """Return True if an epoch, counted from 0, is validated.

    `frequency`: the number of epochs from one validation to the next, or the epochs, counted from 1.
    """
    if isinstance(frequency, Integral):
        return (epoch + 1) % int(frequency) == 0
    return epoch + 1 in frequency


def parts(item: Any) -> tuple[Any, Any, Any]:
    """Inputs, targets and weights of an item of a generator."""
    if not isinstance(item, tuple):
        return item, None, None
    x, y, weights = (*item, None, None)[:3]
    return x, y, weights


def _chained(first: list[Any], rest: Any) -> Any:
    yield from first
    yield from rest


def _print_samples(batches: Batches, checked: Any) -> None:
    more = f", validate on {checked.samples} samples" if isinstance(checked, _Validation) else ""
    print(f"Train on {batches.samples} samples{more}")


def _is_of_chief(callback: Any) -> bool:
    return getattr(callback, "_chief_worker_only", False)


def _check_whole(**counts: Any) -> None:
    for argument, count in counts.items():
        if not isinstance(count, int | np.integer):
            raise misuse(TypeError, f"{argument} is {shown(count)}, and must be a whole number")
