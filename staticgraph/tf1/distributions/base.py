"""`Distribution`: what all distributions offer, and how one method follows from another.

A class defines hooks: `_log_prob(x)` behind `log_prob`, `_sample_n(n, seed)` behind `sample`, and so on.
Where there is no `_prob`, `prob` is `exp(log_prob)`, and `stddev` is the root of `variance`; `_FOLLOWS` has
the list.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, Self

import numpy as np

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.tf1.distributions.divergence import cross_entropy, kl_divergence
from staticgraph.tf1.distributions.parameters import demanded, undefined


class ReparameterizationType:
    """Kind of a distribution: gradients flow through its samples to the parameters, or they do not.

    There are two instances, compared by identity.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")

# A method without a hook: the method that it follows from, and how.
_FOLLOWS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "log_prob": ("prob", sg.log),
    "prob": ("log_prob", sg.exp),
    "log_cdf": ("cdf", sg.log),
    "cdf": ("log_cdf", sg.exp),
    "log_survival_function": ("cdf", lambda cdf: sg.log1p(-cdf)),
    "survival_function": ("cdf", lambda cdf: 1.0 - cdf),
    "variance": ("stddev", sg.square),
    "stddev": ("variance", sg.sqrt),
}


class Distribution:
    """The base of all distributions.

    A distribution is a batch of independent ones: its parameters broadcast against each other, to
    `batch_shape`. `event_shape` is that of one draw: [] where a draw is a number. A sample has the shape
    `sample_shape + batch_shape + event_shape`, and `log_prob(sample)` the shape `sample_shape + batch_shape`.

    `validate_args` checks parameters and arguments: InvalidArgumentError if one is out of range, when the
    graph is built or in a run. A statistic that does not exist, such as the mode of Beta(0.5, 0.5), is NaN;
    with `allow_nan_stats=False`, a run in which one does not exist is an InvalidArgumentError.

    To write one of your own, call this constructor and define hooks, `_log_prob(self, x)` for instance.
    """

    _PARAMETER_NDIMS = 0  # so many of a parameter's last dimensions belong to one member of the batch

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Notes the arguments for `copy`, before the constructor of the subclass turns them into tensors."""
        made = super().__new__(cls)
        bound = inspect.signature(cls.__init__).bind(made, *args, **kwargs)
        bound.apply_defaults()
        made._arguments = {name: value for name, value in bound.arguments.items() if name != "self"}
        return made

    _arguments: dict[str, Any]

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Sequence[sg.Tensor] | None = None,
        name: str | None = None,
    ) -> None:
        if not name or not name.endswith("/"):
            with sg.name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = sg.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._graph_parents = list(graph_parents or ())
        self._name = name
        if parameters is not None:
            self._arguments = {key: value for key, value in parameters.items() if key != "self"}

    name: str = read_only("name", "The name scope of its operations, with a slash.")
    dtype: sg.DType = read_only("dtype", "The dtype of samples.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that it was made of, by name."""
        return {name: value for name, value in self._arguments.items() if not name.startswith("__")}

    reparameterization_type: ReparameterizationType = read_only("reparameterization_type")
    allow_nan_stats: bool = read_only("allow_nan_stats")
    validate_args: bool = read_only("validate_args")

    def copy(self, **override_parameters_kwargs: Any) -> Self:
        """Another one of the same class, with some arguments changed."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    # Shapes

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, sg.Tensor]:
        """Return the shapes that parameters need for one draw to have the shape `sample_shape`.

        Args:
            sample_shape: A list, a `TensorShape` or a tensor.
            name: The name scope of the operations.

        Returns:
            A dictionary of the shapes, by the names of parameters.

        Raises:
            NotImplementedError: The class does not define `_param_shapes`.
        """
        with sg.name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, sg.TensorShape]:
        """Return the shapes that `param_shapes` gives as they are known while the graph is built.

        Raises:
            ValueError: A size in `sample_shape` is not known.
            NotImplementedError: The class does not define `_param_shapes`.

        >>> sg.distributions.Normal.param_static_shapes([2, 3])["loc"]
        TensorShape([Dimension(2), Dimension(3)])
        """
        if isinstance(sample_shape, sg.TensorShape):
            sample_shape = sample_shape.as_list()
        known = sg.get_static_value(sample_shape) if isinstance(sample_shape, sg.Tensor) else sample_shape
        if known is None or any(size is None for size in known):
            raise misuse(ValueError, f"sample_shape={sample_shape} is not fully known")
        shapes = cls.param_shapes(known)
        return {name: sg.TensorShape(sg.get_static_value(shape)) for name, shape in shapes.items()}

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, sg.Tensor]:
        raise misuse(NotImplementedError, f"{cls.__name__} does not define param_shapes")

    @property
    def batch_shape(self) -> sg.TensorShape:
        """The shape of the batch, as far as it is known without running."""
        return sg.TensorShape(self._batch_shape())

    @property
    def event_shape(self) -> sg.TensorShape:
        """The shape of one draw, as far as it is known without running."""
        return sg.TensorShape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> sg.Tensor:
        """The shape of the batch as a tensor."""
        with self._name_scope(name):
            return _known(self.batch_shape, "batch_shape", self._batch_shape_tensor)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> sg.Tensor:
        """The shape of one draw as a tensor."""
        with self._name_scope(name):
            return _known(self.event_shape, "event_shape", self._event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> sg.Tensor:
        """Return a bool tensor that is true if there is no batch."""
        with self._name_scope(name):
            return _is_scalar(self.batch_shape, self.batch_shape_tensor)

    def is_scalar_event(self, name: str = "is_scalar_event") -> sg.Tensor:
        """Return a bool tensor that is true if a draw is a number."""
        with self._name_scope(name):
            return _is_scalar(self.event_shape, self.event_shape_tensor)

    def _batch_shape(self) -> Any:
        """Return the broadcast shape of the parameters, unless a class says otherwise."""
        dropped = self._PARAMETER_NDIMS
        shapes = [parent.shape for parent in self._graph_parents]
        if not shapes or any(shape.ndims is None for shape in shapes):
            return None
        return reduce(sg.broadcast_static_shape, [shape[: len(shape) - dropped] for shape in shapes])

    def _batch_shape_tensor(self) -> Any:
        dropped = self._PARAMETER_NDIMS
        shapes = [sg.shape(parent) for parent in self._graph_parents]
        if dropped:
            shapes = [shape[:-dropped] for shape in shapes]
        return reduce(sg.broadcast_dynamic_shape, shapes)

    def _event_shape(self) -> Any:
        return []

    def _event_shape_tensor(self) -> Any:
        return sg.constant([], dtype=sg.int32)

    def _where_defined(self, exists: Any, statistic: Any) -> sg.Tensor:
        """A statistic of the members of the batch for which it exists; NaN or an error for others."""
        if self.allow_nan_stats:
            return sg.where_v2(exists, statistic, undefined(statistic))
        return demanded(statistic, exists, f"{self.name[:-1]}: a statistic does not exist: ")

    def _spread(self, statistic: Any) -> sg.Tensor:
        """A statistic of some parameters, for each member of the batch."""
        return statistic * sg.ones(self.batch_shape_tensor(), dtype=statistic.dtype)

    # Draws

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> sg.Tensor:
        """Draws, `sample_shape` of them for each member of the batch.

        >>> normal = sg.distributions.Normal([0.0, 10.0], 1.0)
        >>> normal.sample(5)
        <sg.Tensor 'Normal/sample/Reshape:0' shape=(5, 2) dtype=float32>
        """
        with self._name_scope(name, sample_shape):
            wanted = sg.convert_to_tensor(sample_shape, dtype=sg.int32, name="sample_shape")
            known = static_value(wanted)
            if known is None:
                leading: sg.Tensor = sg.reshape(wanted, [-1])
                n: Any = sg.reduce_prod(wanted)
            else:
                sizes = np.ravel(known).astype(int).tolist()
                leading = wanted if np.ndim(known) == 1 else sg.constant(sizes, dtype=sg.int32)
                n = int(np.prod(sizes))
            drawn = self._transformed(self._draw(n, seed))
            drawn = sg.reshape(drawn, sg.concat([leading, sg.shape(drawn)[1:]], 0))
            if known is not None and None not in (self.batch_shape.ndims, self.event_shape.ndims):
                drawn.set_shape([*sizes, *self.batch_shape, *self.event_shape])
            return drawn

    def _draw(self, n: Any, seed: int | None) -> Any:
        return self._hook("sample_n")(n, seed)

    def _transformed(self, drawn: Any) -> Any:
        return drawn

    # Functions of a value

    def log_prob(self, value: Any, name: str = "log_prob") -> sg.Tensor:
        """The logarithm of the density, or of the probability where draws are discrete."""
        return self._of_value("log_prob", value, name)

    def prob(self, value: Any, name: str = "prob") -> sg.Tensor:
        """The density, or the probability where draws are discrete."""
        return self._of_value("prob", value, name)

    def log_cdf(self, value: Any, name: str = "log_cdf") -> sg.Tensor:
        """The logarithm of `cdf`."""
        return self._of_value("log_cdf", value, name)

    def cdf(self, value: Any, name: str = "cdf") -> sg.Tensor:
        """The probability that a draw is at most `value`."""
        return self._of_value("cdf", value, name)

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> sg.Tensor:
        """The logarithm of `survival_function`."""
        return self._of_value("log_survival_function", value, name)

    def survival_function(self, value: Any, name: str = "survival_function") -> sg.Tensor:
        """The probability that a draw is greater than `value`."""
        return self._of_value("survival_function", value, name)

    def quantile(self, value: Any, name: str = "quantile") -> sg.Tensor:
        """The number that a draw is at most with the probability `value`: the inverse of `cdf`."""
        return self._of_value("quantile", value, name)

    # Statistics

    def entropy(self, name: str = "entropy") -> sg.Tensor:
        """Shannon's entropy, in nats."""
        return self._statistic("entropy", name)

    def mean(self, name: str = "mean") -> sg.Tensor:
        """The mean of a draw."""
        return self._statistic("mean", name)

    def mode(self, name: str = "mode") -> sg.Tensor:
        """The most probable draw."""
        return self._statistic("mode", name)

    def variance(self, name: str = "variance") -> sg.Tensor:
        """The variance of each element of a draw."""
        return self._statistic("variance", name)

    def stddev(self, name: str = "stddev") -> sg.Tensor:
        """The standard deviation of each element of a draw."""
        return self._statistic("stddev", name)

    def covariance(self, name: str = "covariance") -> sg.Tensor:
        """The matrix of covariances between the elements of a draw, which is a vector."""
        return self._statistic("covariance", name)

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> sg.Tensor:
        """The mean of `-log q(x)` for x drawn from this one, where q is `other`."""
        with self._name_scope(name):
            return cross_entropy(self, other, self.allow_nan_stats)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> sg.Tensor:
        """The divergence of Kullback and Leibler from `other`: see `kl_divergence`."""
        with self._name_scope(name):
            return kl_divergence(self, other, self.allow_nan_stats)

    # How methods find their hooks

    @contextmanager
    def _name_scope(self, name: str, *values: Any) -> Iterator[str]:
        tensors = [value for value in values if isinstance(value, sg.Tensor)]
        with sg.name_scope(self.name), sg.name_scope(name, values=[*tensors, *self._graph_parents]) as scope:
            yield scope

    def _of_value(self, method: str, value: Any, name: str) -> Any:
        with self._name_scope(name, value):
            return self._answer(
                method, sg.convert_to_tensor(value, name="value", preferred_dtype=self._dtype)
            )

    def _statistic(self, method: str, name: str) -> Any:
        with self._name_scope(name):
            return self._answer(method)

    def _answer(self, method: str, *value: Any, beyond: tuple[str, ...] = ()) -> Any:
        """Return the result of the hook of a method.

        If the hook is not defined, derive the result from the method in `_FOLLOWS`. The methods in `beyond`
        have no hook either.
        """
        try:
            return self._hook(method)(*value)
        except NotImplementedError:
            if method not in _FOLLOWS or _FOLLOWS[method][0] in beyond:
                raise
        other, function = _FOLLOWS[method]
        return function(self._answer(other, *value, beyond=(*beyond, method)))

    def _hook(self, method: str) -> Callable[..., Any]:
        hook: Callable[..., Any] | None = getattr(self, f"_{method}", None)
        if hook is None:
            raise misuse(
                NotImplementedError, f"{type(self).__name__} does not define {method.removesuffix('_n')}"
            )
        return hook

    def __str__(self) -> str:
        return (
            f'{type(self).__name__}("{self.name}", batch_shape={self.batch_shape},'
            f" event_shape={self.event_shape}, dtype={self.dtype.name})"
        )

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} '{self.name}' batch_shape={self.batch_shape}"
            f" event_shape={self.event_shape} dtype={self.dtype.name}>"
        )


def _known(shape: sg.TensorShape, name: str, otherwise: Callable[[], Any]) -> Any:
    if shape.is_fully_defined():
        return sg.convert_to_tensor(shape.as_list(), dtype=sg.int32, name=name)
    return otherwise()


def _is_scalar(shape: sg.TensorShape, tensor: Callable[[], Any]) -> sg.Tensor:
    return sg.constant(shape.ndims == 0) if shape.ndims is not None else sg.equal(sg.size(tensor()), 0)
