"""`tf.contrib.opt`'s way out: minimize by an optimizer that is not part of the graph, such as SciPy's.

The optimizer sees one vector, all variables in a row. A session computes the loss and its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse
from staticgraph.tf1.compat.legacy import logging

Evaluation = Callable[[np.ndarray], list[Any]]


class ExternalOptimizerInterface:
    """The base of such optimizers; a subclass defines `_minimize`, which gives the best vector.

    `equalities` are scalar tensors to be held at zero, `inequalities` scalar tensors not to fall below zero.
    `var_to_bounds` maps a variable to a pair (low, high), each a number or an array that broadcasts to its
    shape; ±inf stands for no bound. `var_list` is all trainable variables by default, and all shapes must be
    known. Further arguments are for the optimizer.
    """

    def __init__(
        self,
        loss: Any,
        var_list: Any = None,
        equalities: Any = None,
        inequalities: Any = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self.optimizer_kwargs = optimizer_kwargs
        self._loss = loss
        self._equalities = list(equalities or ())
        self._inequalities = list(inequalities or ())
        self._vars = sg.trainable_variables() if var_list is None else list(var_list)
        if not self._vars:
            raise misuse(ValueError, "No variables to optimize.")
        self._shapes = [tuple(var.shape.as_list()) for var in self._vars]
        self._packed_bounds = None if var_to_bounds is None else self._bounds(var_to_bounds)

        ends = accumulate((int(np.prod(shape)) for shape in self._shapes), initial=0)
        self._packing_slices = [slice(*ends) for ends in pairwise(ends)]
        self._packed_var = _packed(self._vars)
        self._packed_loss_grad = self._gradient(loss)
        self._packed_equality_grads = [self._gradient(each) for each in self._equalities]
        self._packed_inequality_grads = [self._gradient(each) for each in self._inequalities]
        self._update_placeholders = [sg.placeholder(var.dtype) for var in self._vars]
        self._var_updates = [
            var.assign(sg.reshape(given, shape))
            for var, given, shape in zip(self._vars, self._update_placeholders, self._shapes, strict=True)
        ]

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Any = None,
        step_callback: Any = None,
        loss_callback: Any = None,
        **run_kwargs: Any,
    ) -> None:
        """Run the optimizer, and set the variables to what it found.

        `step_callback` is called with the vector after each step of the optimizer. `loss_callback` is called
        with the values of `fetches` each time that the loss is computed. `run_kwargs` go to the `Session.run`
        that sets the variables. ValueError if no session is given and none is the default.
        """
        session = session or sg.get_default_session()
        if session is None:
            raise misuse(ValueError, "minimize() needs a session, and none is the default")
        wanted, feeds = list(fetches or ()), dict(feed_dict or {})

        def functions(tensors: Sequence[Any]) -> list[Evaluation]:
            return [self._evaluation([tensor], session, feeds, wanted, None) for tensor in tensors]

        loss_and_gradient = [self._loss, self._packed_loss_grad]
        best = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=self._evaluation(loss_and_gradient, session, feeds, wanted, loss_callback),
            equality_funcs=functions(self._equalities),
            equality_grad_funcs=functions(self._packed_equality_grads),
            inequality_funcs=functions(self._inequalities),
            inequality_grad_funcs=functions(self._packed_inequality_grads),
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda vector: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        found = [best[part] for part in self._packing_slices]
        new_values: dict[Any, Any] = {
            given: np.asarray(value, given.dtype.as_numpy_dtype)
            for given, value in zip(self._update_placeholders, found, strict=True)
        }
        session.run(self._var_updates, feed_dict=new_values, **run_kwargs)

    def _minimize(
        self,
        initial_val: np.ndarray,
        loss_grad_func: Evaluation,
        equality_funcs: list[Evaluation],
        equality_grad_funcs: list[Evaluation],
        inequality_funcs: list[Evaluation],
        inequality_grad_funcs: list[Evaluation],
        packed_bounds: list[tuple[Any, Any]] | None,
        step_callback: Callable[[np.ndarray], None],
        optimizer_kwargs: dict[str, Any],
    ) -> np.ndarray:
        """The best vector. The functions take a vector and give lists: `[loss, gradient]`, or one value."""
        raise misuse(NotImplementedError, f"{type(self).__name__} does not define _minimize()")

    def _gradient(self, tensor: Any) -> Any:
        return _packed(sg.gradients(tensor, self._vars, unconnected_gradients="zero"))

    def _bounds(self, var_to_bounds: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        """A pair (low, high) for each element of the vector."""
        pairs = [var_to_bounds.get(var, (None, None)) for var in self._vars]
        low = self._side([low for low, _ in pairs], -np.inf)
        high = self._side([high for _, high in pairs], np.inf)
        return list(zip(low, high, strict=True))

    def _side(self, bounds: list[Any], none: float) -> np.ndarray:
        """One bound for each element of the vector, `none` where it is None."""
        spread = [
            np.broadcast_to(np.asarray(bound, np.object_), shape).ravel()
            for bound, shape in zip(bounds, self._shapes, strict=True)
        ]
        return np.array([none if bound is None else bound for bound in np.concatenate(spread)], np.float64)

    def _evaluation(
        self, tensors: list[Any], session: Any, feed_dict: dict[Any, Any], fetches: list[Any], callback: Any
    ) -> Evaluation:
        """The function from a vector to the values of some tensors."""

        def evaluate(vector: np.ndarray) -> list[Any]:
            parts = zip(self._vars, self._packing_slices, self._shapes, strict=True)
            fed = {
                var: vector[part].reshape(shape).astype(var.dtype.as_numpy_dtype)
                for var, part, shape in parts
            }
            values: list[Any] = session.run([*tensors, *fetches], feed_dict=fed | feed_dict)
            if callback is not None:
                callback(*values[len(tensors) :])
            return values[: len(tensors)]

        return evaluate


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """`scipy.optimize.minimize` on a graph. It needs SciPy: `pip install scipy`.

    `method` is a name that SciPy knows, "L-BFGS-B" by default; use "SLSQP" where there are equalities or
    inequalities. `options`, `tol` and others go to SciPy as they are.

    >>> from staticgraph.tf1.compat.contrib.optimizers.external import ScipyOptimizerInterface
    >>> vector = sg.Variable([7.0, 7.0], name="vector")
    >>> loss, bounds = sg.reduce_sum(vector * vector), {vector: ([1, 2], np.inf)}
    >>> optimizer = ScipyOptimizerInterface(loss, var_to_bounds=bounds, options={"maxiter": 100})

    Then `optimizer.minimize(session)` leaves [1, 2] in `vector`.
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: np.ndarray,
        loss_grad_func: Evaluation,
        equality_funcs: list[Evaluation],
        equality_grad_funcs: list[Evaluation],
        inequality_funcs: list[Evaluation],
        inequality_grad_funcs: list[Evaluation],
        packed_bounds: list[tuple[Any, Any]] | None,
        step_callback: Callable[[np.ndarray], None],
        optimizer_kwargs: dict[str, Any],
    ) -> np.ndarray:
        def loss_and_gradient(vector: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = loss_grad_func(vector)
            return float(np.asarray(loss).item()), gradient.astype(np.float64)

        equal = zip(equality_funcs, equality_grad_funcs, strict=True)
        unequal = zip(inequality_funcs, inequality_grad_funcs, strict=True)
        arguments = {
            "jac": True,
            "callback": step_callback,
            "method": self._DEFAULT_METHOD,
            "constraints": [_constraint("eq", *pair) for pair in equal]
            + [_constraint("ineq", *pair) for pair in unequal],
            "bounds": packed_bounds,
        }
        for name in arguments.keys() & optimizer_kwargs.keys() - {"method"}:
            hint = "use var_to_bounds" if name == "bounds" else None
            raise misuse(ValueError, f"{name!r} is not an argument for SciPy here", hint)
        start = np.asarray(initial_val, np.float64)
        result = _scipy_optimize().minimize(loss_and_gradient, start, **arguments | optimizer_kwargs)
        lines = [
            "Optimization terminated with:",
            f"  Message: {_text(result.message)}",
            f"  Objective function value: {result.fun:f}",
        ]
        lines += [f"  Number of iterations: {result.nit}"] if "nit" in result else []
        lines += [f"  Number of functions evaluations: {result.nfev}"] if "nfev" in result else []
        logging.info("\n".join(lines))
        return np.asarray(result.x)


def _scipy_optimize() -> Any:
    try:
        import scipy.optimize
    except ImportError:
        text = "ScipyOptimizerInterface needs SciPy, which is not installed"
        raise misuse(ImportError, text, "pip install scipy") from None
    return scipy.optimize


def _constraint(kind: str, function: Evaluation, gradient: Evaluation) -> dict[str, Any]:
    return {
        "type": kind,
        "fun": lambda vector: np.float64(function(vector)[0].item()),
        "jac": lambda vector: gradient(vector)[0].astype(np.float64),
    }


def _packed(tensors: Sequence[Any]) -> Any:
    flat = [sg.reshape(sg.convert_to_tensor(tensor), [-1]) for tensor in tensors]
    return flat[0] if len(flat) == 1 else sg.concat(flat, 0)


def _text(message: Any) -> str:
    return message.decode() if isinstance(message, bytes) else str(message)
