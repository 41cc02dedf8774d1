"""Distributions of whole numbers: Bernoulli, Categorical (also as one-hot vectors), Geometric, Poisson."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.operation_counts import constants
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import (
    BackwardCount,
    count_backward,
    count_more,
    counted_as,
    op_count,
    set_op_count,
)
from staticgraph.random_numbers.rejection import random_poisson
from staticgraph.tf1.distributions.base import NOT_REPARAMETERIZED
from staticgraph.tf1.distributions.divergence import RegisterKL
from staticgraph.tf1.distributions.parameters import checked, floating, logits_and_probs, positive, whole
from staticgraph.tf1.distributions.parametric import OfVectors, Parametric, constructed, kept


class _ByLogits(Parametric):
    """A distribution given by logits or by probabilities."""

    _REPARAMETERIZATION = NOT_REPARAMETERIZED

    logits = kept("logits")
    probs = kept("probs")

    def _build(self, logits: Any = None, probs: Any = None, dtype: Any = sg.int32) -> list[sg.Tensor]:
        classes = self._PARAMETER_NDIMS == 1
        self._logits, self._probs = logits_and_probs(logits, probs, self.validate_args, classes)
        self._dtype = self._probs.dtype if dtype is None else dtype
        self._count_construction(logits is None)
        return [self._logits]

    @classmethod
    def _shaped(cls) -> list[str]:
        return ["logits"]

    def _count_construction(self, of_probs: bool) -> None:
        """Count the operations of TensorFlow's constructor that ours does not make."""
        if of_probs:
            count_more(self._logits.graph, 1)  # 1 - probs


@constructed
class Bernoulli(_ByLogits):
    """1 with the probability `probs`, that is `sigmoid(logits)`, and 0 otherwise."""

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], self.batch_shape_tensor()], 0)
        return sg.cast(sg.random_uniform(shape, seed=seed, dtype=self._probs.dtype) < self._probs, self.dtype)

    def _log_prob(self, event: Any) -> Any:
        event = sg.cast(event, self._logits.dtype)
        event = checked(event, self.validate_args, lambda x: (x >= 0) & (x <= 1) & (x % 1 <= 0), "0 or 1")
        shape = sg.broadcast_dynamic_shape(sg.shape(event), sg.shape(self._logits))
        labels, logits = sg.broadcast_to(event, shape), sg.broadcast_to(self._logits, shape)
        count_more(self._logits.graph, -5 if event.type.is_static and self._logits.type.is_static else 3)
        return -sg.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _entropy(self) -> Any:
        count_more(self._logits.graph, 2)
        return self._logits * sg.sigmoid(-self._logits) + sg.nn.softplus(-self._logits)

    def _mean(self) -> Any:
        return sg.identity(self._probs)

    def _variance(self) -> Any:
        count_more(self._logits.graph, 1)  # the mean
        return self._probs * (1.0 - self._probs)

    def _mode(self) -> Any:
        return sg.cast(self._probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        softplus = sg.nn.softplus
        one = sg.sigmoid(a.logits) * (softplus(-b.logits) - softplus(-a.logits))
        return one + sg.sigmoid(-a.logits) * (softplus(b.logits) - softplus(a.logits))


class _Classes(_ByLogits):
    """A distribution of one of several classes, which the last axis of the logits lists."""

    _PARAMETER_NDIMS = 1

    def _count_construction(self, of_probs: bool) -> None:
        known = self._logits.type.is_static
        count_more(self._logits.graph, 4 if known else 7)  # the rank, and the sizes of batch and event

    @property
    def event_size(self) -> sg.Tensor:
        """The number of classes."""
        return sg.shape(self._logits)[-1]

    def _entropy(self) -> Any:
        return -sg.reduce_sum(sg.nn.log_softmax(self._logits) * self._probs, axis=-1)


@constructed
class Categorical(_Classes):
    """The number of a class, from 0; the last axis of `logits`, or of `probs`, lists the classes.

    >>> actions = sg.distributions.Categorical(logits=sg.placeholder(sg.float32, [None, 4]))
    >>> actions.log_prob(actions.sample())
    <sg.Tensor 'Categorical/log_prob/Neg:0' shape=(?,) dtype=float32>
    """

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        graph = self._logits.graph
        shaped = 0 if self._logits.shape.ndims == 2 else 3  # TensorFlow makes a matrix only of what is none
        start = op_count(graph)
        rows = sg.reshape(self._logits, sg.stack([-1, self.event_size]))
        dtype = sg.int64 if self.dtype.size > 4 else sg.int32
        set_op_count(graph, start + shaped)
        drawn = sg.transpose(sg.multinomial(rows, n, seed=seed, output_dtype=dtype))
        made = sg.cast(sg.reshape(drawn, sg.concat([[n], self.batch_shape_tensor()], 0)), self.dtype)
        set_op_count(graph, start + shaped + 8 + constants(n))
        return made

    def _classes(self, k: Any, parameter: sg.Tensor) -> tuple[sg.Tensor, sg.Tensor]:
        """Numbers of classes and a parameter, broadcast against each other."""
        if not (k.dtype.is_integer or k.dtype.is_floating):
            raise misuse(TypeError, f"a class is a whole number, not of dtype {k.dtype.name}")
        k = k if k.dtype.is_integer else sg.cast(k, sg.int32)
        batch = sg.broadcast_dynamic_shape(sg.shape(k), sg.shape(parameter)[:-1])
        return sg.broadcast_to(k, batch), sg.broadcast_to(parameter, sg.concat([batch, [self.event_size]], 0))

    def _log_prob(self, k: Any) -> Any:
        graph, batch = self._logits.graph, self._logits.shape[:-1]
        start = op_count(graph)
        labels, logits = self._classes(k, self._logits)
        count_more(graph, -1)
        made = -sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        same = (
            batch.is_fully_defined() and k.shape.is_fully_defined() and batch.as_list() == k.shape.as_list()
        )
        if same:
            set_op_count(graph, start + (3 if batch.ndims == 1 else 19))  # TensorFlow broadcasts nothing
        if logits is not self._logits:  # elsewhere TensorFlow has a product with ones
            count_backward(logits, BackwardCount(0) if same else BackwardCount(9, gates=3))
        return made

    def _cdf(self, k: Any) -> Any:
        k, probs = self._classes(k, self._probs)
        below = sg.range(self.event_size) < sg.cast(k, sg.int32)[..., None]
        return sg.reduce_sum(sg.where_v2(below, probs, 0.0), axis=-1)

    def _mode(self) -> Any:
        with counted_as(self._logits.graph, 2):
            return sg.cast(sg.argmax(self._logits, axis=-1), self.dtype)


@constructed
class OneHotCategorical(OfVectors, _Classes):
    """A class as a vector that is 1 at the class and 0 elsewhere."""

    def _count_construction(self, of_probs: bool) -> None:
        count_more(self._logits.graph, 6)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        graph = self._logits.graph
        start = op_count(graph) + (0 if self._logits.shape.ndims == 2 else 3)
        rows = sg.reshape(self._logits, sg.stack([-1, self.event_size]))
        set_op_count(graph, start + 4)
        classes = sg.transpose(sg.multinomial(rows, n, seed=seed))
        classes = sg.reshape(classes, sg.concat([[n], self.batch_shape_tensor()], 0))
        made = sg.cast(sg.equal(sg.cast(classes, sg.int32)[..., None], sg.range(self.event_size)), self.dtype)
        set_op_count(graph, start + 11 + constants(n))
        return made

    def _log_prob(self, x: Any) -> Any:
        labels = sg.cast(x, self._logits.dtype)
        with counted_as(self._logits.graph, 43 if self._logits.type.is_static else 51):
            logs = labels * sg.nn.log_softmax(self._logits)
            return sg.reduce_sum(sg.where_v2(labels > 0.0, logs, 0.0), -1)

    def _mean(self) -> Any:
        return sg.identity(self._probs)

    def _variance(self) -> Any:
        return self._probs * (1.0 - self._probs)

    def _covariance(self) -> Any:
        return sg.matrix_set_diag(-self._probs[..., None] * self._probs[..., None, :], self._variance())

    def _mode(self) -> Any:
        with counted_as(self._logits.graph, 4):
            best = sg.argmax(self._logits, -1, output_type=sg.int32)[..., None]
            return sg.cast(sg.equal(best, sg.range(self.event_size)), self.dtype)


@RegisterKL(Categorical, Categorical)
@RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_categorical_categorical(a: Any, b: Any, name: str | None = None) -> Any:
    with sg.name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        log_a, log_b = sg.nn.log_softmax(a.logits), sg.nn.log_softmax(b.logits)
        return sg.reduce_sum(sg.nn.softmax(a.logits) * (log_a - log_b), axis=-1)


@constructed
class Geometric(_ByLogits):
    """Distribution of the number of failures of a trial of probability `probs` before it succeeds."""

    def _build(self, logits: Any = None, probs: Any = None) -> list[sg.Tensor]:  # type: ignore[override]
        return super()._build(logits, probs, None)

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], self.batch_shape_tensor()], 0)
        least = float(np.finfo(self.dtype.as_numpy_dtype).tiny)
        uniform = sg.random_uniform(shape, least, 1.0, self.dtype, seed=seed)
        return sg.floor(sg.log(uniform) / sg.log1p(-self._probs))

    def _log_prob(self, count: Any) -> Any:
        count = whole(count, self.validate_args)
        return self._log_failures(sg.floor(count)) + sg.log(self._probs)

    def _cdf(self, count: Any) -> Any:
        return sg.where_v2(count < 0.0, 0.0, -sg.expm1(self._log_failures(1.0 + sg.floor(count))))

    def _log_failures(self, count: Any) -> Any:
        """The logarithm of the probability of so many failures; 0 for none, even where success is certain."""
        return count * sg.log1p(-sg.where_v2(sg.equal(count, 0.0), 0.0, self._probs))

    def _entropy(self) -> Any:
        return sg.nn.softplus(self._logits) / self._probs - self._logits

    def _mean(self) -> Any:
        return sg.exp(-self._logits)

    def _variance(self) -> Any:
        return self._mean() / self._probs

    def _mode(self) -> Any:
        return sg.zeros(self.batch_shape_tensor(), dtype=self.dtype)


@constructed
class Poisson(Parametric):
    """Distribution of the number of events of the rate `rate`, that is `exp(log_rate)`."""

    _REPARAMETERIZATION = NOT_REPARAMETERIZED

    rate = kept("rate")
    log_rate = kept("log_rate")

    def _build(self, rate: Any = None, log_rate: Any = None) -> list[sg.Tensor]:
        if (rate is None) == (log_rate is None):
            raise misuse(ValueError, "give rate or log_rate, and not both")
        if log_rate is None:
            [given] = floating(rate=rate)
            self._rate = positive(given, self.validate_args)
            self._log_rate = sg.log(self._rate, name="log_rate")
        else:
            [self._log_rate] = floating(log_rate=log_rate)
            self._rate = sg.exp(self._log_rate, name="rate")
        return [self._rate]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        return random_poisson(self._rate, [n], self.dtype, seed)

    def _log_prob(self, x: Any) -> Any:
        x = whole(x, self.validate_args)
        return sg.where_v2(x > 0.0, x * self._log_rate, 0.0) - sg.lgamma(1.0 + x) - self._rate

    def _cdf(self, x: Any) -> Any:
        return sg.igammac(1.0 + sg.floor(sg.maximum(x, 0.0)), self._rate)

    def _mean(self) -> Any:
        return sg.identity(self._rate)

    def _variance(self) -> Any:
        return sg.identity(self._rate)

    def _mode(self) -> Any:
        return sg.floor(self._rate)
