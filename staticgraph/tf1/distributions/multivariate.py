"""Normally distributed vectors: `loc + scale @ z`, where z is a vector of standard normal numbers."""

from __future__ import annotations

import math
from typing import Any, Protocol

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.distributions.divergence import RegisterKL
from staticgraph.tf1.distributions.parametric import OfVectors, constructed
from staticgraph.tf1.distributions.vector_counts import (
    OF_DIAGONAL,
    OF_TRIANGLE,
    count_until_draw,
    counted_divergence,
    counted_sample,
    counted_statistic,
    counted_value,
    made_of,
)


class Scale(Protocol):
    """A matrix, or a batch of them, with which vectors are scaled."""

    def rows(self) -> sg.Tensor:
        """Something of the shape of the diagonal, batch included."""

    def times(self, z: Any) -> Any:
        """The matrix times a vector."""

    def solve(self, x: Any) -> Any:
        """The vector that gives x when scaled."""

    def log_abs_determinant(self) -> Any:
        """The logarithm of how much volumes grow."""

    def dense(self) -> Any:
        """The matrix as a tensor."""


class DiagonalScale:
    """A diagonal matrix as a `Scale`."""

    def __init__(self, diagonal: sg.Tensor) -> None:
        self._diagonal = diagonal

    def rows(self) -> sg.Tensor:
        return self._diagonal

    def times(self, z: Any) -> Any:
        return self._diagonal * z

    def solve(self, x: Any) -> Any:
        return x / self._diagonal

    def log_abs_determinant(self) -> Any:
        return sg.reduce_sum(sg.log(sg.abs(self._diagonal)), axis=-1)

    def dense(self) -> Any:
        return sg.matrix_diag(self._diagonal)


class TriangularScale:
    """A lower triangular matrix as a `Scale`."""

    def __init__(self, matrix: sg.Tensor) -> None:
        self._matrix = matrix

    def rows(self) -> sg.Tensor:
        return sg.matrix_diag_part(self._matrix)

    def times(self, z: Any) -> Any:
        return sg.reduce_sum(self._matrix * z[..., None, :], axis=-1)

    def solve(self, x: Any) -> Any:
        shape = sg.broadcast_dynamic_shape(sg.shape(x), sg.shape(self.rows()))
        matrix = sg.broadcast_to(self._matrix, sg.concat([shape, shape[-1:]], 0))
        columns = sg.broadcast_to(x, shape)[..., None]
        return sg.squeeze(sg.matrix_triangular_solve(matrix, columns), -1)

    def log_abs_determinant(self) -> Any:
        return sg.reduce_sum(sg.log(sg.abs(self.rows())), axis=-1)

    def dense(self) -> Any:
        return self._matrix


class MultivariateNormal(OfVectors):
    """Normally distributed vectors with some `Scale`."""

    _COUNTS = OF_DIAGONAL
    _MORE = 0  # operations that make the scale of what is given

    def _build(self, loc: Any, scale: Scale) -> list[sg.Tensor]:
        rows = scale.rows()
        self._scale = scale
        self._drawn: set[sg.Tensor] = set()
        self._loc = None if loc is None else sg.convert_to_tensor(loc, dtype=rows.dtype, name="loc")
        return [rows] if self._loc is None else [self._loc, rows]

    def _operations(self, values: list[Any]) -> int:
        return made_of(self, values)

    loc: sg.Tensor | None = read_only("loc", "The mean as it was given; None stands for zeros.")
    scale: Scale = read_only("scale", "The matrix that scales; `scale.dense()` is a tensor.")

    def _event_shape(self) -> Any:
        shape = self._scale.rows().shape
        if self._loc is not None:
            shape = sg.broadcast_static_shape(shape, self._loc.shape)
        return shape.with_rank_at_least(1)[-1:]

    def _event_shape_tensor(self) -> Any:
        return sg.shape(self._mean())[-1:]

    def _moved(self, x: Any) -> Any:
        return x if self._loc is None else x + self._loc

    def _sample_n(self, n: Any, seed: int | None) -> Any:
        shape = sg.concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        count_until_draw(self)
        return self._moved(self._scale.times(sg.random_normal(shape, dtype=self.dtype, seed=seed)))

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> sg.Tensor:
        with counted_sample(self, sample_shape):
            made = super().sample(sample_shape, seed, name)
        self._drawn.add(made)
        return made

    sample.__doc__ = OfVectors.sample.__doc__

    def _of_value(self, method: str, value: Any, name: str) -> Any:
        with counted_value(self, method, value):
            return super()._of_value(method, value, name)

    def _statistic(self, method: str, name: str) -> Any:
        with counted_statistic(self, method):
            return super()._statistic(method, name)

    def _log_prob(self, x: Any) -> Any:
        z = self._scale.solve(x if self._loc is None else x - self._loc)
        k, squares = self._count(), sg.reduce_sum(sg.square(z), axis=-1)
        return -0.5 * (squares + math.log(2.0 * math.pi) * k) - self._scale.log_abs_determinant()

    def _entropy(self) -> Any:
        entropy = 0.5 * math.log(2.0 * math.pi * math.e) * self._count() + self._scale.log_abs_determinant()
        return self._spread(entropy)

    def _mean(self) -> Any:
        zeros = sg.zeros_like(self._scale.rows())
        return zeros if self._loc is None else self._loc + zeros

    def _mode(self) -> Any:
        return self._mean()

    def _covariance(self) -> Any:
        scale = self._scale.dense()
        return sg.matmul(scale, scale, transpose_b=True)

    def _variance(self) -> Any:
        return sg.matrix_diag_part(self._covariance())


@constructed
class MultivariateNormalDiag(MultivariateNormal):
    """Vectors whose elements are independent: the standard deviations are `scale_diag`.

    `scale_identity_multiplier`, a number per member of the batch, is added to them; without `scale_diag` it
    is the standard deviation of all, and 1 by default.

    >>> sg.distributions.MultivariateNormalDiag([1.0, 2.0], [0.1, 0.2]).sample(7)
    <sg.Tensor 'MultivariateNormalDiag/sample/Reshape:0' shape=(7, 2) dtype=float32>
    """

    def _build(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None
    ) -> list[sg.Tensor]:
        if loc is None and scale_diag is None:
            raise misuse(ValueError, "give loc or scale_diag: the size must be known")
        diagonal = sg.ones_like(loc) if scale_diag is None else sg.convert_to_tensor(scale_diag)
        if scale_identity_multiplier is not None:
            more = sg.convert_to_tensor(scale_identity_multiplier, dtype=diagonal.dtype)[..., None]
            diagonal = diagonal * more if scale_diag is None else diagonal + more
        return super()._build(loc, DiagonalScale(diagonal))

    def _covariance(self) -> Any:
        return sg.matrix_diag(self._variance())

    def _variance(self) -> Any:
        return sg.square(self._stddev())

    def _stddev(self) -> Any:
        return sg.abs(self._scale.rows())


@constructed
class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """MultivariateNormalDiag of `softplus(scale_diag)`."""

    _MORE = 1

    def _build(self, loc: Any, scale_diag: Any) -> list[sg.Tensor]:  # type: ignore[override]
        return super()._build(loc, sg.nn.softplus(scale_diag))


@constructed
class MultivariateNormalTriL(MultivariateNormal):
    """Vectors whose covariance is `scale_tril @ transpose(scale_tril)`; what is above the diagonal is
    ignored.
    """

    _COUNTS = OF_TRIANGLE

    def _build(self, loc: Any = None, scale_tril: Any = None) -> list[sg.Tensor]:
        if loc is None and scale_tril is None:
            raise misuse(ValueError, "give loc or scale_tril: the size must be known")
        if scale_tril is None:
            return super()._build(loc, DiagonalScale(sg.ones_like(loc)))
        return super()._build(
            loc, TriangularScale(sg.matrix_band_part(sg.convert_to_tensor(scale_tril), -1, 0))
        )


@constructed
class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Vectors of a covariance that is given; it must be symmetric and positive definite."""

    _MORE = 1

    def _build(self, loc: Any = None, covariance_matrix: Any = None) -> list[sg.Tensor]:
        return super()._build(loc, None if covariance_matrix is None else sg.cholesky(covariance_matrix))


@RegisterKL(MultivariateNormal, MultivariateNormal)
def _kl_normal_vectors(a: MultivariateNormal, b: MultivariateNormal, name: str | None = None) -> Any:
    scope = sg.name_scope(name, "kl_mvn", a._graph_parents + b._graph_parents)
    with counted_divergence(a, b), scope:
        apart = sg.reduce_sum(sg.square(b.scale.solve(a._mean() - b._mean())), axis=-1)
        if isinstance(a.scale, DiagonalScale) and isinstance(b.scale, DiagonalScale):
            wide = sg.reduce_sum(sg.square(a.scale.rows() / b.scale.rows()), axis=-1)
        else:
            relative = sg.matrix_triangular_solve(b.scale.dense(), a.scale.dense())
            wide = sg.reduce_sum(sg.square(relative), axis=[-2, -1])
        k = a._count()
        narrow = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        return 0.5 * (wide + apart - k) + narrow
