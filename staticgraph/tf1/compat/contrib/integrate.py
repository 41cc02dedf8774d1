"""`tf.contrib.integrate`: differential equations with adaptive or fixed steps, as loops of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import staticgraph as sg
from staticgraph.compiler.graph.errors import misuse

Derivative = Callable[[Any, Any], Any]

# The pair of orders 5 and 4 of Dormand and Prince (1980): times, stages and weights of a step; the stages of
# its last row are the solution.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    35 / 384 - 1951 / 21600,
    0,
    500 / 1113 - 22642 / 50085,
    125 / 192 - 451 / 720,
    -2187 / 6784 + 12231 / 42400,
    11 / 84 - 649 / 6300,
    -1 / 60,
)
# Weights of the solution in the middle of a step (Shampine, 1986).
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)


class _Control(NamedTuple):
    """Numbers of the control of steps, all of the type of time but the last."""

    rtol: Any
    atol: Any
    safety: Any
    ifactor: Any
    dfactor: Any
    max_num_steps: Any


def odeint(
    func: Derivative,
    y0: Any,
    t: Any,
    rtol: Any = 1e-6,
    atol: Any = 1e-12,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """Solve `dy/dt = func(y, t)` from `y0` at t[0] on, with steps as long as the error allows.

    Args:
        func: The derivative, a function of tensors.
        y0: The start, of floats or complex numbers, of any shape.
        t: Increasing times [n], floats.
        rtol, atol: The error of a step may be `atol + rtol * abs(y)`.
        method: "dopri5", the only one, or None.
        options: For "dopri5": first_step, safety, ifactor, dfactor, max_num_steps.
        full_output: Return a dictionary too: num_func_evals, integrate_points and error_ratio of all steps.
        name: The name of the scope.

    Returns:
        The solution [n, ...], which can be differentiated unless `full_output` is asked for.

    Raises:
        ValueError: There is no such method, or options have none.
        TypeError: Types that are not of floats.
        InvalidArgumentError: In a run, if times do not increase, a step becomes too small, there are more
            than max_num_steps steps to the next time, or y is not finite.

    >>> import staticgraph as sg
    >>> y = odeint(lambda y, t: -y, 1.0, [0.0, 1.0])
    >>> with sg.Session() as sess:
    ...     sess.run(y).round(4).tolist()
    [1.0, 0.367...]
    """
    if method not in (None, "dopri5"):
        raise misuse(ValueError, f"odeint: invalid method {method!r}", "the only one is 'dopri5'")
    if options is not None and method is None:
        raise misuse(ValueError, "odeint: options are those of a method", "pass method='dopri5'")
    given = {"first_step": None, "safety": 0.9, "ifactor": 10.0, "dfactor": 0.2, "max_num_steps": 1000}
    if unknown := set(options or ()) - given.keys():
        raise misuse(TypeError, f"odeint: unknown options {sorted(unknown)}", f"there are {', '.join(given)}")
    given |= options or {}
    with sg.name_scope(name, "odeint", [y0, t, rtol, atol]):
        y0, t = sg.convert_to_tensor(y0, name="y0"), _times(t)
        _check_types(y0, t)
        size = abs(y0).dtype
        begin = 1.0 if given["first_step"] is None else given["first_step"]
        factors = [
            sg.convert_to_tensor(given[each], dtype=t.dtype) for each in ("safety", "ifactor", "dfactor")
        ]
        control = _Control(
            sg.convert_to_tensor(rtol, dtype=size),
            sg.convert_to_tensor(atol, dtype=size),
            factors[0],
            factors[1],
            factors[2],
            sg.convert_to_tensor(given["max_num_steps"], dtype=sg.int32),
        )
        with sg.control_dependencies([_increasing(t)]):
            first = sg.identity(sg.convert_to_tensor(begin, dtype=t.dtype))
        return _adaptive(func, y0, t, first, control, full_output)


def _adaptive(
    func: Derivative, y0: Any, t: Any, first_step: Any, control: _Control, full_output: bool
) -> Any:
    size, step = abs(y0).dtype, partial(_tried, func, control, full_output)

    def to_time(
        solution: Any, y: Any, f: Any, t0: Any, t1: Any, dt: Any, poly: Any, i: Any, *more: Any
    ) -> Any:
        state = sg.while_loop(
            lambda y, f, t0, t1, *_: t[i] > t1, step, (y, f, t0, t1, dt, poly, sg.constant(0), *more)
        )
        y, f, t0, t1, dt, poly, _, *more = state
        x = sg.cast((t[i] - t0) / (t1 - t0), y.dtype)
        value = poly[0]
        for coefficient in sg.unstack(poly, num=5)[1:]:
            value = value * x + coefficient
        return (solution.write(i, value), y, f, t0, t1, dt, poly, i + 1, *more)

    count = sg.size(t)
    solution = sg.TensorArray(y0.dtype, size=count, element_shape=y0.shape).write(0, y0)
    kinds = (t.dtype, size) if full_output else (sg.int32, sg.int32)
    history = [
        sg.TensorArray(kind, size=0, dynamic_size=True, element_shape=[]) if full_output else sg.constant(0)
        for kind in kinds
    ]
    start = (y0, func(y0, t[0]), t[0], t[0], first_step, sg.stack([y0] * 5), sg.constant(1), *history)
    solution, *_, points, ratios = sg.while_loop(
        lambda solution, y, f, t0, t1, dt, poly, i, *_: i < count, to_time, (solution, *start)
    )
    values = solution.stack()
    values.set_shape(t.shape.concatenate(y0.shape))
    if not full_output:
        return values
    points = points.stack()
    evaluations = 6 * sg.size(points) + 1
    return values, {
        "num_func_evals": evaluations,
        "integrate_points": points,
        "error_ratio": ratios.stack(),
    }


def _tried(
    func: Derivative,
    control: _Control,
    full_output: bool,
    y: Any,
    f: Any,
    t0: Any,
    t1: Any,
    dt: Any,
    poly: Any,
    steps: Any,
    points: Any,
    ratios: Any,
) -> tuple[Any, ...]:
    """Return the state after a step of `dt`: as it was, but for a smaller `dt`, if the error is too large."""
    texts = ("underflow in dt", "max_num_steps exceeded", "non-finite values in state `y`")
    finite = sg.reduce_all(sg.is_finite(abs(y)))
    checks = (t1 + dt > t1, steps < control.max_num_steps, finite)
    asserts = [sg.Assert(check, [text, dt]) for check, text in zip(checks, texts, strict=True)]
    with sg.control_dependencies(asserts):
        y_next, stages = _runge_kutta(func, sg.identity(y), f, t1, dt)
    error = _weighted(sg.cast(dt, y.dtype), _ERROR, stages)
    allowed = control.atol + control.rtol * sg.maximum(abs(y), abs(y_next))
    ratio = sg.sqrt(sg.reduce_mean(sg.square(abs(error)) / sg.square(allowed)))
    accepted = ratio <= 1

    def chosen(new: Any, old: Any) -> Any:
        return sg.cond(accepted, lambda: new, lambda: old)

    fitted = _fit(y, y_next, stages, sg.cast(dt, y.dtype))
    points = points.write(points.size(), t1 + dt) if full_output else points
    ratios = ratios.write(ratios.size(), ratio) if full_output else ratios
    return (
        chosen(y_next, y),
        chosen(stages[-1], f),
        t1,
        chosen(t1 + dt, t1),
        _next_step(dt, ratio, control),
        chosen(fitted, poly),
        steps + 1,
        points,
        ratios,
    )


def _runge_kutta(func: Derivative, y: Any, f: Any, t: Any, dt: Any) -> tuple[Any, list[Any]]:
    """The solution after a step, and the derivatives at its stages."""
    stages, length, at = [f], sg.cast(dt, y.dtype), y
    for time, weights in zip(_TIMES, _STAGES, strict=True):
        at = y + _weighted(length, weights, stages)
        stages.append(func(at, t + time * dt))
    return at, stages


def _weighted(length: Any, weights: Any, stages: list[Any]) -> Any:
    """The sum of derivatives by their weights, times the length of the step."""
    terms = zip(weights, stages, strict=True)
    return sg.add_n([w * length * k for w, k in terms if w])


def _fit(y0: Any, y1: Any, stages: list[Any], dt: Any) -> Any:
    """The polynomial of degree 4 through a step: both ends with their derivatives, and the middle."""
    middle = y0 + _weighted(dt, _MIDDLE, stages)
    f0, f1 = dt * stages[0], dt * stages[-1]
    a = -2 * f0 + 2 * f1 - 8 * y0 - 8 * y1 + 16 * middle
    b = 5 * f0 - 3 * f1 + 18 * y0 + 14 * y1 - 32 * middle
    c = -4 * f0 + f1 - 11 * y0 - 5 * y1 + 16 * middle
    return sg.stack([a, b, c, f0, y0])


def _next_step(dt: Any, ratio: Any, control: _Control) -> Any:
    """The length of the next step, for an error that is just allowed."""
    longer = sg.cast(ratio, dt.dtype) ** 0.2 / control.safety
    return dt / sg.maximum(1 / control.ifactor, sg.minimum(longer, 1 / control.dfactor))


def odeint_fixed(
    func: Derivative, y0: Any, t: Any, dt: Any = None, method: str = "rk4", name: str | None = None
) -> sg.Tensor:
    """Solve `dy/dt = func(y, t)` from `y0` at t[0] on, in steps of equal length between two times.

    Args:
        func: The derivative, a function of tensors.
        y0: The start, of floats or complex numbers, of any shape.
        t: Increasing times [n], floats.
        dt: The longest step, a number or one for each interval [n - 1]; the whole interval by default.
        method: "rk4" or "midpoint".
        name: The name of the scope.

    Returns:
        The solution [n, ...].

    Raises:
        ValueError: There is no such method, or the sizes do not fit.
        TypeError: Types that are not of floats.
    """
    steppers = {"rk4": _rk4, "midpoint": _midpoint}
    if method not in steppers:
        raise misuse(ValueError, f"odeint_fixed: method {method!r} is not supported", "use rk4 or midpoint")
    with sg.name_scope(name, "odeint_fixed", [y0, t, dt]):
        y0, t = sg.convert_to_tensor(y0, name="y0"), _times(t)
        _check_types(y0, t)
        if t.shape.ndims != 1:
            raise misuse(ValueError, f"odeint_fixed: t must be a vector, its shape is {t.shape}")
        intervals = t[1:] - t[:-1]
        limit = intervals if dt is None else _times(dt)
        _check_types(y0, limit)
        if limit.shape.ndims != 0 and limit.shape[0] != intervals.shape[0]:
            text = f"odeint_fixed: t has shape {t.shape} and dt {limit.shape}, which must be one shorter"
            raise misuse(ValueError, text)
        with sg.control_dependencies([_increasing(t)]):
            counts = sg.ceil(intervals / limit)
        lengths, counts = intervals / counts, sg.cast(counts, sg.int32)
        stepper = steppers[method]

        def to_time(solution: Any, y: Any, now: Any, i: Any) -> Any:
            length = lengths[i - 1]

            def step(y: Any, now: Any, j: Any) -> Any:
                change = sg.cast(stepper(func, y, now, length), y.dtype)
                return y + change, now + length, j + 1

            y, now, _ = sg.while_loop(lambda y, now, j: j < counts[i - 1], step, (y, now, sg.constant(0)))
            return solution.write(i, y), y, now, i + 1

        number = sg.size(t)
        begun = sg.TensorArray(y0.dtype, size=number, element_shape=y0.shape).write(0, y0)
        solution, *_ = sg.while_loop(
            lambda solution, y, now, i: i < number, to_time, (begun, y0, t[0], sg.constant(1))
        )
        values = solution.stack()
        values.set_shape(t.shape.concatenate(y0.shape))
        return values


def _midpoint(func: Derivative, y: Any, t: Any, dt: Any) -> Any:
    length = sg.cast(dt, y.dtype)
    return length * func(y + func(y, t) * length / 2, t + dt / 2)


def _rk4(func: Derivative, y: Any, t: Any, dt: Any) -> Any:
    length = sg.cast(dt, y.dtype)
    first = func(y, t)
    second = func(y + length * first / 2, t + dt / 2)
    third = func(y + length * second / 2, t + dt / 2)
    fourth = func(y + length * third, t + dt)
    return (first + 2 * second + 2 * third + fourth) * (length / 6)


def _times(t: Any) -> Any:
    return sg.convert_to_tensor(t, preferred_dtype=sg.float64, name="t")


def _increasing(t: Any) -> Any:
    return sg.Assert(sg.reduce_all(t[1:] > t[:-1]), ["`t` must be monotonic increasing"])


def _check_types(y0: Any, t: Any) -> None:
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise misuse(TypeError, f"y0 must be of floats or complex numbers, it is {y0.dtype}")
    if not t.dtype.is_floating:
        raise misuse(TypeError, f"times must be floats, they are {t.dtype}")
