"""Distributions of numbers between 0 and 1 that come near to classes as their temperature falls.

Gradients flow through their draws, unlike those of Bernoulli and OneHotCategorical (Jang et al., 2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.tf1.distributions.bijectors import Exp, Sigmoid
from staticgraph.tf1.distributions.location_scale import Logistic
from staticgraph.tf1.distributions.parameters import logits_and_probs, positive
from staticgraph.tf1.distributions.parametric import OfVectors, constructed, kept
from staticgraph.tf1.distributions.transformed import TransformedDistribution


class RelaxedBernoulli(TransformedDistribution):
    """A number between 0 and 1, the sigmoid of a Logistic: near to Bernoulli at a low temperature.

    Args:
        temperature: A number above 0.
        logits, probs: One of the two, of the Bernoulli.
        validate_args, allow_nan_stats, name: As for all distributions.

    >>> sg.distributions.RelaxedBernoulli(0.5, probs=[0.2, 0.7]).sample().shape
    TensorShape([Dimension(2)])
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        with sg.name_scope(name, values=[logits, probs, temperature]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            given = sg.convert_to_tensor(temperature, dtype=self._logits.dtype, name="temperature")
            self._temperature = positive(given, validate_args)
            count_more(given.graph, 1)
            logistic = Logistic(
                self._logits / self._temperature, 1.0 / self._temperature, validate_args, allow_nan_stats
            )
        super().__init__(logistic, Sigmoid(), validate_args=validate_args, name=scope)

    temperature: sg.Tensor = kept("temperature")
    logits: sg.Tensor = kept("logits")
    probs: sg.Tensor = kept("probs")


@constructed
class ExpRelaxedOneHotCategorical(OfVectors):
    """The logarithm of RelaxedOneHotCategorical, which does not underflow.

    Args:
        temperature: A number above 0.
        logits, probs: One of the two, of OneHotCategorical; the last axis lists the classes.
        dtype: The type of draws, by default that of the parameter.
        validate_args, allow_nan_stats, name: As for all distributions.
    """

    temperature = kept("temperature")
    logits = kept("logits")
    probs = kept("probs")

    def _build(
        self, temperature: Any, logits: Any = None, probs: Any = None, dtype: Any = None
    ) -> list[sg.Tensor]:
        self._logits, self._probs = logits_and_probs(logits, probs, self.validate_args, True)
        given = sg.convert_to_tensor(temperature, dtype=self._logits.dtype, name="temperature")
        self._temperature = positive(given, self.validate_args)
        self._dtype = self._logits.dtype if dtype is None else dtype
        count_more(given.graph, 9)  # the sizes of batch and event
        return [self._logits, self._probs]

    @property
    def event_size(self) -> sg.Tensor:
        """The number of classes."""
        return sg.shape(self._logits)[-1]

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], sg.shape(self._logits)], 0)
        count_more(self._logits.graph, 7)  # of a batch of parameters that are broadcast
        least = float(np.finfo(self.dtype.as_numpy_dtype).tiny)
        uniform = sg.random_uniform(shape, least, 1.0, self.dtype, seed=seed)
        gumbel = -sg.log(-sg.log(uniform))
        count_more(self._logits.graph, 1)
        return sg.nn.log_softmax((gumbel + self._logits) / self._temperature)

    def _log_prob(self, x: Any) -> Any:
        count = self._count()
        count_more(self._logits.graph, 5 if self._logits.type.is_static else 13)  # one shape for both
        constant = sg.lgamma(count) + (count - 1.0) * sg.log(self._temperature)
        return constant + sg.reduce_sum(sg.nn.log_softmax(self._logits - x * self._temperature), axis=-1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares of classes that sum to 1: near to OneHotCategorical at a low temperature.

    Args:
        temperature: A number above 0.
        logits, probs: One of the two, of OneHotCategorical; the last axis lists the classes.
        dtype: The type of draws, by default that of the parameter.
        validate_args, allow_nan_stats, name: As for all distributions.

    >>> sg.distributions.RelaxedOneHotCategorical(0.5, logits=sg.zeros([4, 3])).sample(2).shape
    TensorShape([Dimension(2), Dimension(4), Dimension(3)])
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        inner = ExpRelaxedOneHotCategorical(temperature, logits, probs, dtype, validate_args, allow_nan_stats)
        super().__init__(inner, Exp(), validate_args=validate_args, name=name)

    distribution: ExpRelaxedOneHotCategorical = read_only("distribution")
