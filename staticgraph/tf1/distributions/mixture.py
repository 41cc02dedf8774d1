"""Mixtures: a draw from one of several distributions, which one being drawn first."""

from __future__ import annotations

from functools import reduce
from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.distributions.base import NOT_REPARAMETERIZED, Distribution
from staticgraph.tf1.distributions.discrete import Categorical
from staticgraph.tf1.distributions.parameters import other_seed


class Mixture(Distribution):
    """A draw from `components[k]`, where k is drawn from `cat`, a Categorical over as many classes.

    A sample draws from all components and keeps one of the draws, which `use_static_graph` asks TF1 for.

    >>> import staticgraph.distributions as ds
    >>> two = ds.Mixture(ds.Categorical(probs=[0.3, 0.7]), [ds.Normal(-1.0, 0.1), ds.Normal(1.0, 0.5)])
    >>> two.log_prob(0.0)
    <sg.Tensor 'Mixture/log_prob/ReduceLogSumExp/Add:0' shape=() dtype=float32>
    """

    def __init__(
        self,
        cat: Categorical,
        components: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        if not isinstance(cat, Categorical):
            raise misuse(TypeError, f"cat must be a Categorical, not {cat!r}")
        if not isinstance(components, list | tuple):
            raise misuse(TypeError, f"components must be a list of distributions, not {components!r}")
        if not components:
            raise misuse(ValueError, "components must not be empty")
        if any(not isinstance(each, Distribution) for each in components):
            raise misuse(TypeError, f"components must be distributions, not {components}")
        if len({each.dtype for each in components}) > 1:
            listed = ", ".join(f"{each.name} {each.dtype.name}" for each in components)
            raise misuse(TypeError, f"components must have one dtype: {listed}")
        classes = cat.logits.shape.as_list()[-1]
        if classes != len(components):
            raise misuse(ValueError, f"cat has {classes} classes, and there are {len(components)} components")
        self._cat = cat
        self._components = list(components)
        super().__init__(
            components[0].dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            graph_parents=[cat.logits],
            name=name,
        )

    cat: Categorical = read_only("cat")
    components: list[Distribution] = read_only("components")

    @property
    def num_components(self) -> int:
        return len(self._components)

    def _batch_shape(self) -> Any:
        shapes = [each.batch_shape for each in self._components]
        return reduce(lambda a, b: a.merge_with(b), shapes, self._cat.batch_shape)

    def _batch_shape_tensor(self) -> Any:
        return self._cat.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return reduce(lambda a, b: a.merge_with(b), [each.event_shape for each in self._components])

    def _event_shape_tensor(self) -> Any:
        return self._components[0].event_shape_tensor()

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        chosen = self._per_event(self._cat.sample(n, seed=seed))
        total = None
        for k, component in enumerate(self._components):
            seed = other_seed(seed, "mixture")
            drawn = component.sample(n, seed=seed)
            kept = sg.where_v2(sg.equal(chosen, k), drawn, sg.zeros_like(drawn))
            total = kept if total is None else total + kept
        return total

    def _per_event(self, x: Any) -> Any:
        """One number per draw, with the dimensions of an event."""
        for _ in range(self.event_shape.ndims or 0):
            x = x[..., None]
        return x

    def _log_prob(self, x: Any) -> Any:
        return self._log_total([each.log_prob(x) for each in self._components])

    def _log_cdf(self, x: Any) -> Any:
        return self._log_total([each.log_cdf(x) for each in self._components])

    def _log_total(self, terms: list[Any]) -> Any:
        weights = sg.unstack(sg.nn.log_softmax(self._cat.logits), axis=-1)
        weighted = [weight + term for weight, term in zip(weights, terms, strict=True)]
        return sg.reduce_logsumexp(sg.stack(weighted, axis=0), axis=0)

    def _average(self, statistics: list[Any]) -> Any:
        weights = map(self._per_event, sg.unstack(sg.nn.softmax(self._cat.logits), axis=-1))
        return sg.add_n([weight * each for weight, each in zip(weights, statistics, strict=True)])

    def _mean(self) -> Any:
        return self._average([each.mean() for each in self._components])

    def _variance(self) -> Any:
        mean = self._mean()
        return self._average([each.variance() + sg.square(each.mean() - mean) for each in self._components])

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> sg.Tensor:
        """The mean entropy of the components, which that of the mixture is never below."""
        with self._name_scope(name):
            entropies = [each.entropy() for each in self._components]
            weights = sg.unstack(sg.nn.softmax(self._cat.logits), axis=-1)
            return sg.add_n([w * each for w, each in zip(weights, entropies, strict=True)])
