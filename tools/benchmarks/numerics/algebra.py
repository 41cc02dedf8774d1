"""Linear algebra: factors, systems, inverses and determinants of large matrices and of many small ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.numerics.work import Arrays, Work


def square(n: int, *batch: int) -> Any:
    """Inputs: square matrices."""

    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        shape = (*(3 for _ in batch), min(n, 5), min(n, 5)) if small else (*batch, n, n)
        return (rng.standard_normal(shape).astype("f4"),)

    return inputs


def positive(n: int, *batch: int) -> Any:
    """Inputs: positive definite matrices."""

    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        (x,) = square(n, *batch)(rng, small)
        return ((x @ np.swapaxes(x, -1, -2) + x.shape[-1] * np.eye(x.shape[-1])).astype("f4"),)

    return inputs


def system(n: int, columns: int) -> Any:
    """Inputs: a positive definite matrix and right sides."""

    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        (x,) = positive(n)(rng, small)
        return x, rng.standard_normal((x.shape[0], 2 if small else columns)).astype("f4")

    return inputs


def _sizes(library: Any, *parts: Any) -> Any:
    """Values, and vectors without their signs, which are for each library to choose. All are read."""
    return tuple(library.abs(part) for part in parts)


def _singular(library: Any, left: Any, values: Any, right: Any) -> Any:
    """The same of singular values and vectors, with the right ones as rows."""
    return _sizes(library, values, left, right.swapaxes(0, 1))


def _points(n: int) -> Any:
    def inputs(rng: np.random.Generator, small: bool) -> Arrays:
        n_points = 8 if small else n
        return (
            rng.standard_normal((n_points, 4)).astype("f4"),
            rng.standard_normal((n_points, 1)).astype("f4"),
            np.array([1.5, 0.3], "f4"),
        )

    return inputs


def _gp_staticgraph(sg: Any, x: Any, y: Any, p: Any) -> Any:
    squares = sg.reduce_sum(x * x, 1, keepdims=True)
    apart = squares - 2.0 * sg.matmul(x, x, transpose_b=True) + sg.transpose(squares)
    lower = sg.cholesky(sg.exp(-apart / (2.0 * p[0] * p[0])) + p[1] * sg.eye(x.shape[0]))
    half = sg.matrix_triangular_solve(lower, y)
    loss = 0.5 * sg.reduce_sum(half * half) + sg.reduce_sum(sg.log(sg.matrix_diag_part(lower)))
    return [loss, sg.gradients(loss, [p])[0]]


def _gp_torch(torch: Any, x: Any, y: Any, p: Any) -> Any:
    p = p.clone().requires_grad_(True)
    squares = (x * x).sum(1, keepdim=True)
    apart = squares - 2.0 * x @ x.T + squares.T
    lower = torch.linalg.cholesky(torch.exp(-apart / (2.0 * p[0] * p[0])) + p[1] * torch.eye(len(x)))
    half = torch.linalg.solve_triangular(lower, y, upper=False)
    loss = 0.5 * (half * half).sum() + lower.diagonal().log().sum()
    return loss, torch.autograd.grad(loss, p)[0]


def _gp_jax(jax: Any, x: Any, y: Any, p: Any) -> Any:
    jnp = jax.numpy

    def loss(p: Any) -> Any:
        squares = (x * x).sum(1, keepdims=True)
        apart = squares - 2.0 * x @ x.T + squares.T
        lower = jnp.linalg.cholesky(jnp.exp(-apart / (2.0 * p[0] * p[0])) + p[1] * jnp.eye(len(x)))
        half = jax.scipy.linalg.solve_triangular(lower, y, lower=True)
        return 0.5 * (half * half).sum() + jnp.log(jnp.diagonal(lower)).sum()

    return jax.value_and_grad(loss)(p)


STATE, SEEN = 4, 2  # sizes of a Kalman filter


def _kalman_inputs(rng: np.random.Generator, small: bool) -> Arrays:
    move = np.eye(STATE) + 0.1 * np.eye(STATE, k=2)
    look = np.eye(SEEN, STATE)
    seen = rng.standard_normal((8 if small else 1000, SEEN))
    return move.astype("f4"), look.astype("f4"), seen.astype("f4")


def _kalman_step(
    m: Any, t: Any, inverse: Any, det: Any, eye: Any, move: Any, look: Any, y: Any, x: Any, p: Any
) -> Any:
    """The next state, its covariance and parts of the likelihood, by a library's products and so on."""
    x, p = m(move, x), m(m(move, p), t(move)) + 0.01 * eye(STATE)
    seen = m(m(look, p), t(look)) + 0.1 * eye(SEEN)
    back = inverse(seen)
    gain, off = m(m(p, t(look)), back), y - m(look, x)
    return x + m(gain, off), p - m(m(gain, look), p), (m(m(t(off), back), off)[0, 0], det(seen))


def _kalman_staticgraph(sg: Any, move: Any, look: Any, seen: Any) -> Any:
    def body(i: Any, x: Any, p: Any, total: Any) -> Any:
        x, p, (form, det) = _kalman_step(
            sg.matmul, sg.transpose, sg.matrix_inverse, sg.matrix_determinant, sg.eye, move, look,
            sg.expand_dims(seen[i], 1), x, p,
        )  # fmt: skip
        return i + 1, x, p, total + form + sg.log(det)

    start, steps = [sg.constant(0), sg.zeros([STATE, 1]), sg.eye(STATE), sg.constant(0.0)], int(seen.shape[0])
    return list(sg.while_loop(lambda i, *_: i < steps, body, start)[1:])


def _kalman_scipy(scipy: Any, move: Any, look: Any, seen: Any) -> Any:
    x, p, total = np.zeros((STATE, 1), "f4"), np.eye(STATE, dtype="f4"), np.float32(0)
    for y in seen:
        x, p, (form, det) = _kalman_step(
            np.matmul, np.transpose, np.linalg.inv, np.linalg.det, lambda n: np.eye(n, dtype="f4"),
            move, look, y[:, None], x, p,
        )  # fmt: skip
        total = total + form + np.log(det)
    return x, p, total


def _kalman_torch(torch: Any, move: Any, look: Any, seen: Any) -> Any:
    x, p, total = torch.zeros(STATE, 1), torch.eye(STATE), torch.zeros(())
    for y in seen:
        x, p, (form, det) = _kalman_step(
            torch.matmul, torch.t, torch.linalg.inv, torch.linalg.det, torch.eye, move, look, y[:, None], x, p
        )
        total = total + form + torch.log(det)
    return x, p, total


def _kalman_jax(jax: Any, move: Any, look: Any, seen: Any) -> Any:
    jnp = jax.numpy

    def body(carried: Any, y: Any) -> Any:
        x, p, total = carried
        x, p, (form, det) = _kalman_step(
            jnp.matmul, jnp.transpose, jnp.linalg.inv, jnp.linalg.det, jnp.eye, move, look, y[:, None], x, p
        )
        return (x, p, total + form + jnp.log(det)), None

    return jax.lax.scan(body, (jnp.zeros((STATE, 1)), jnp.eye(STATE), jnp.zeros(())), seen)[0]


WORK = {
    "cholesky": Work(
        "Cholesky factor, 1000", positive(1000), goal=0.8,
        staticgraph=lambda sg, x: sg.cholesky(x),
        scipy=lambda scipy, x: scipy.linalg.cholesky(x, lower=True, check_finite=False),
        torch=lambda torch, x: torch.linalg.cholesky(x),
        jax=lambda jax, x: jax.numpy.linalg.cholesky(x),
    ),
    "triangular_solve": Work(
        "triangular system, 1000, 1000 right sides", system(1000, 1000), goal=0.8,
        staticgraph=lambda sg, x, b: sg.matrix_triangular_solve(x, b),
        scipy=lambda scipy, x, b: scipy.linalg.solve_triangular(x, b, lower=True, check_finite=False),
        torch=lambda torch, x, b: torch.linalg.solve_triangular(x.tril(), b, upper=False),
        jax=lambda jax, x, b: jax.scipy.linalg.solve_triangular(x, b, lower=True),
    ),
    "triangular_solve_one": Work(
        "triangular system, 1000, one right side", system(1000, 1), goal=0.8,
        staticgraph=lambda sg, x, b: sg.matrix_triangular_solve(x, b),
        scipy=lambda scipy, x, b: scipy.linalg.solve_triangular(x, b, lower=True, check_finite=False),
        torch=lambda torch, x, b: torch.linalg.solve_triangular(x.tril(), b, upper=False),
        jax=lambda jax, x, b: jax.scipy.linalg.solve_triangular(x, b, lower=True),
    ),
    "solve": Work(
        "system, 1000, 100 right sides", system(1000, 100),
        staticgraph=lambda sg, x, b: sg.matrix_solve(x, b),
        scipy=lambda scipy, x, b: np.linalg.solve(x, b),
        torch=lambda torch, x, b: torch.linalg.solve(x, b),
        jax=lambda jax, x, b: jax.numpy.linalg.solve(x, b),
    ),
    "inverse": Work(
        "inverse, 1000", positive(1000),
        staticgraph=lambda sg, x: sg.matrix_inverse(x),
        scipy=lambda scipy, x: scipy.linalg.inv(x, check_finite=False),
        torch=lambda torch, x: torch.linalg.inv(x),
        jax=lambda jax, x: jax.numpy.linalg.inv(x),
    ),
    "log_determinant": Work(
        "logarithm of a determinant, 1000", positive(1000),
        staticgraph=lambda sg, x: list(sg.linalg.slogdet(x)),
        scipy=lambda scipy, x: tuple(np.linalg.slogdet(x)),
        torch=lambda torch, x: tuple(torch.linalg.slogdet(x)),
        jax=lambda jax, x: tuple(jax.numpy.linalg.slogdet(x)),
    ),
    "lu": Work(
        "triangular factors, 1000", square(1000),
        staticgraph=lambda sg, x: sg.linalg.lu(x)[0],
        scipy=lambda scipy, x: scipy.linalg.lu_factor(x, check_finite=False)[0],
        torch=lambda torch, x: torch.linalg.lu_factor(x)[0],
        jax=lambda jax, x: jax.scipy.linalg.lu_factor(x)[0],
    ),
    "qr": Work(
        "QR, 1000", square(1000), goal=1.1,
        staticgraph=lambda sg, x: list(sg.linalg.qr(x)),
        scipy=lambda scipy, x: tuple(np.linalg.qr(x)),
        torch=lambda torch, x: tuple(torch.linalg.qr(x)),
        jax=lambda jax, x: tuple(jax.numpy.linalg.qr(x)),
    ),
    "qr_small": Work(
        "QR, 4096 of 8 by 8", square(8, 4096),
        staticgraph=lambda sg, x: list(sg.linalg.qr(x)),
        scipy=lambda scipy, x: tuple(np.linalg.qr(x)),
        torch=lambda torch, x: tuple(torch.linalg.qr(x)),
        jax=lambda jax, x: tuple(jax.numpy.linalg.qr(x)),
    ),
    "inverse_small": Work(
        "inverse, 4096 of 4 by 4", positive(4, 4096),
        staticgraph=lambda sg, x: sg.matrix_inverse(x),
        scipy=lambda scipy, x: np.linalg.inv(x),
        torch=lambda torch, x: torch.linalg.inv(x),
        jax=lambda jax, x: jax.numpy.linalg.inv(x),
    ),
    "cholesky_small": Work(
        "Cholesky factor, 4096 of 4 by 4", positive(4, 4096), goal=0.8,
        staticgraph=lambda sg, x: sg.cholesky(x),
        scipy=lambda scipy, x: np.linalg.cholesky(x),
        torch=lambda torch, x: torch.linalg.cholesky(x),
        jax=lambda jax, x: jax.numpy.linalg.cholesky(x),
    ),
    "determinant_small": Work(
        "determinant, 4096 of 4 by 4", positive(4, 4096),
        staticgraph=lambda sg, x: sg.matrix_determinant(x),
        scipy=lambda scipy, x: np.linalg.det(x),
        torch=lambda torch, x: torch.linalg.det(x),
        jax=lambda jax, x: jax.numpy.linalg.det(x),
    ),
    "cholesky_24": Work(
        "Cholesky factor, 256 of 24 by 24", positive(24, 256), goal=0.8,
        staticgraph=lambda sg, x: sg.cholesky(x),
        scipy=lambda scipy, x: np.linalg.cholesky(x),
        torch=lambda torch, x: torch.linalg.cholesky(x),
        jax=lambda jax, x: jax.numpy.linalg.cholesky(x),
    ),
    "inverse_24": Work(
        "inverse, 256 of 24 by 24", positive(24, 256),
        staticgraph=lambda sg, x: sg.matrix_inverse(x),
        scipy=lambda scipy, x: np.linalg.inv(x),
        torch=lambda torch, x: torch.linalg.inv(x),
        jax=lambda jax, x: jax.numpy.linalg.inv(x),
    ),
    "eigenvalues": Work(
        "eigenvalues and vectors of a symmetric matrix, 256", positive(256), goal=1.1,
        staticgraph=lambda sg, x: _sizes(sg, *sg.linalg.eigh(x)),
        scipy=lambda scipy, x: _sizes(np, *np.linalg.eigh(x)),
        torch=lambda torch, x: _sizes(torch, *torch.linalg.eigh(x)),
        jax=lambda jax, x: _sizes(jax.numpy, *jax.numpy.linalg.eigh(x)),
    ),
    "eigenvalues_alone": Work(
        "eigenvalues of a symmetric matrix, 256", positive(256), goal=1.1,
        staticgraph=lambda sg, x: sg.linalg.eigvalsh(x),
        scipy=lambda scipy, x: np.linalg.eigvalsh(x),
        torch=lambda torch, x: torch.linalg.eigvalsh(x),
        jax=lambda jax, x: jax.numpy.linalg.eigvalsh(x),
    ),
    "singular_values": Work(
        "singular values and vectors, 256", square(256), goal=1.1,
        staticgraph=lambda sg, x: _sizes(sg, *sg.linalg.svd(x)),
        scipy=lambda scipy, x: _singular(np, *np.linalg.svd(x)),
        torch=lambda torch, x: _singular(torch, *torch.linalg.svd(x)),
        jax=lambda jax, x: _singular(jax.numpy, *jax.numpy.linalg.svd(x)),
    ),
    "singular_values_alone": Work(
        "singular values, 256", square(256), goal=1.1,
        staticgraph=lambda sg, x: sg.svd(x, compute_uv=False),
        scipy=lambda scipy, x: np.linalg.svd(x, compute_uv=False),
        torch=lambda torch, x: torch.linalg.svdvals(x),
        jax=lambda jax, x: jax.numpy.linalg.svd(x, compute_uv=False),
    ),
    "gp": Work(
        "Gaussian process, 1000 points: likelihood and its gradient", _points(1000),
        staticgraph=_gp_staticgraph, torch=_gp_torch, jax=_gp_jax,
    ),
    "kalman": Work(
        "Kalman filter, 1000 steps", _kalman_inputs,
        staticgraph=_kalman_staticgraph, scipy=_kalman_scipy, torch=_kalman_torch, jax=_kalman_jax,
    ),
}  # fmt: skip
