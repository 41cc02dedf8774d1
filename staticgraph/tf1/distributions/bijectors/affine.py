"""A matrix and a vector as a bijector of vectors."""

from __future__ import annotations

from typing import Any

import staticgraph as sg
from staticgraph.building.read_only import read_only
from staticgraph.tf1.distributions.bijectors.base import Bijector


class Affine(Bijector):
    """`scale @ x + shift` of vectors x.

    The scale is the sum of `scale_identity_multiplier` times the identity, of a matrix of the diagonal
    `scale_diag`, and of the lower triangle of `scale_tril`, as far as they are given; the identity by
    default. To that comes V @ D @ V^T, if `scale_perturb_factor` gives V [..., k, r]; `scale_perturb_diag`
    [..., r] is the diagonal of D, ones by default.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        self._shift = None if shift is None else sg.convert_to_tensor(shift, name="shift")
        self._diagonal = None if scale_diag is None else sg.convert_to_tensor(scale_diag, name="scale_diag")
        if scale_identity_multiplier is not None:
            more = sg.convert_to_tensor(scale_identity_multiplier)[..., None]
            self._diagonal = more if self._diagonal is None else self._diagonal + more
        self._matrix = None
        if scale_tril is not None:
            self._matrix = sg.matrix_band_part(sg.convert_to_tensor(scale_tril), -1, 0)
            if self._diagonal is not None:
                diagonal = sg.matrix_diag_part(self._matrix) + self._diagonal
                self._matrix = sg.matrix_set_diag(self._matrix, diagonal)
        self._is_triangular = scale_perturb_factor is None
        if not self._is_triangular:
            self._matrix = self._perturbed(scale_perturb_factor, scale_perturb_diag)
        super().__init__(
            is_constant_jacobian=True, validate_args=validate_args, forward_min_event_ndims=1, name=name
        )

    shift: Any = read_only("shift")

    def _perturbed(self, factor: Any, diagonal: Any) -> Any:
        """Return the scale with a matrix of low rank added."""
        factor = sg.convert_to_tensor(factor, name="scale_perturb_factor")
        weighted = factor if diagonal is None else factor * sg.convert_to_tensor(diagonal)[..., None, :]
        update = sg.matmul(weighted, factor, transpose_b=True)
        if self._matrix is not None:
            return self._matrix + update
        more = 1.0 if self._diagonal is None else self._diagonal
        return sg.matrix_set_diag(update, sg.matrix_diag_part(update) + more)

    def _forward(self, x: Any) -> Any:
        if self._matrix is not None:
            x = sg.reduce_sum(self._matrix * x[..., None, :], axis=-1)
        elif self._diagonal is not None:
            x = self._diagonal * x
        return x if self._shift is None else x + self._shift

    def _inverse(self, y: Any) -> Any:
        y = y if self._shift is None else y - self._shift
        if self._matrix is not None:
            shape = sg.concat([sg.shape(y), sg.shape(y)[-1:]], 0)
            solve = sg.matrix_triangular_solve if self._is_triangular else sg.matrix_solve
            solved = solve(sg.broadcast_to(self._matrix, shape), y[..., None])
            return sg.squeeze(solved, -1)
        return y if self._diagonal is None else y / self._diagonal

    def _log_growth(self, x: Any, y: Any) -> Any:
        if not self._is_triangular:
            return sg.linalg.slogdet(self._matrix)[1]
        if self._matrix is not None:
            diagonal = sg.matrix_diag_part(self._matrix)
        elif self._diagonal is not None:
            shape = sg.concat([sg.shape(self._diagonal)[:-1], sg.shape(x)[-1:]], 0)
            diagonal = sg.broadcast_to(self._diagonal, shape)
        else:
            return sg.constant(0.0, x.dtype)
        return sg.reduce_sum(sg.log(sg.abs(diagonal)), axis=-1)
