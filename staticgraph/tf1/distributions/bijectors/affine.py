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
    default.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
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
        super().__init__(
            is_constant_jacobian=True, validate_args=validate_args, forward_min_event_ndims=1, name=name
        )

    shift: Any = read_only("shift")

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
            solved = sg.matrix_triangular_solve(sg.broadcast_to(self._matrix, shape), y[..., None])
            return sg.squeeze(solved, -1)
        return y if self._diagonal is None else y / self._diagonal

    def _log_growth(self, x: Any, y: Any) -> Any:
        if self._matrix is not None:
            diagonal = sg.matrix_diag_part(self._matrix)
        elif self._diagonal is not None:
            shape = sg.concat([sg.shape(self._diagonal)[:-1], sg.shape(x)[-1:]], 0)
            diagonal = sg.broadcast_to(self._diagonal, shape)
        else:
            return sg.constant(0.0, x.dtype)
        return sg.reduce_sum(sg.log(sg.abs(diagonal)), axis=-1)
