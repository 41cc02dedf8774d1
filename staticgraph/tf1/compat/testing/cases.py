"""`tf.test`: test cases with assertions about arrays."""

from __future__ import annotations

import inspect
import itertools
import os
import re
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import GraphError, OpError, misuse
from staticgraph.formats.tf.messages.text_format import Merge, MessageToString
from staticgraph.tf1.compat.devices.local_devices import (
    capability,
    cupy_packages,
    list_local_devices,
    usable_cards,
)
from staticgraph.tf1.compat.legacy.build import GRAPH_DEF_VERSION
from staticgraph.tf1.compat.testing.assertions import Assertions

__all__ = [
    "StubOutForTesting",
    "TestCase",
    "assert_equal_graph_def",
    "create_local_cluster",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available",
    "main",
    "test_src_dir_path",
]


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program; `argv` is what `sys.argv` is."""
    unittest.main(argv=argv)


def get_temp_dir() -> str:
    """A new empty folder."""
    return tempfile.mkdtemp()


def is_built_with_cuda() -> bool:
    """Return True if a package that drives NVIDIA GPUs is installed."""
    return bool(cupy_packages())


is_built_with_gpu_support = is_built_with_cuda


def is_built_with_rocm() -> bool:
    """False: no GPUs of other makers are known."""
    return False


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Return True if sessions can run on a GPU.

    Args:
        cuda_only: No effect: all GPUs are NVIDIA GPUs.
        min_cuda_compute_capability: The least capability of the GPU, such as (7, 5). By default any will do.
    """
    least = tuple(min_cuda_compute_capability or ())
    return any(capability(card) >= least for card in usable_cards())


def gpu_device_name() -> str:
    """The name of the first GPU, as "/device:GPU:0"; empty if there is none that sessions can run on."""
    return next((device.name for device in list_local_devices() if device.device_type == "GPU"), "")


def test_src_dir_path(relative_path: str) -> str:
    """Return the path of a file beside the program that is run.

    Args:
        relative_path: The path from the program's folder on.
    """
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), relative_path)


test_src_dir_path.__test__ = False  # type: ignore[attr-defined]  # no test, though its name begins so


def create_local_cluster(
    num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: Any = None, ps_config: Any = None
) -> tuple[list[Any], list[Any]]:
    """Make servers for the tasks of a cluster in this process.

    Args:
        num_workers: The number of workers.
        num_ps: The number of parameter servers.
        protocol: Not looked at: the servers are in one process.
        worker_config: The `ConfigProto` of the workers.
        ps_config: The `ConfigProto` of the parameter servers.

    Returns:
        The servers of the workers, and those of the parameter servers. `Session(server.target)` is a session.
    """
    jobs = {"worker": (num_workers, worker_config), "ps": (num_ps, ps_config)}
    numbers = {job: itertools.count(20000 + 10000 * at) for at, job in enumerate(jobs)}
    cluster = {
        job: [f"localhost:{next(numbers[job])}" for _ in range(n)] for job, (n, _) in jobs.items() if n
    }
    workers, ps = (
        [sg.train.Server(cluster, job, at, config=config) for at in range(n)]
        for job, (n, config) in jobs.items()
    )
    return workers, ps


def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """AssertionError if two GraphDefs differ, in whatever order their nodes are.

    Args:
        actual: A GraphDef.
        expected: Another.
        checkpoint_v2: Not looked at: there are no names of temporary checkpoints in a graph.
        hash_table_shared_name: True if the names that tables share may differ.
    """

    def nodes(graph: Any) -> dict[str, str]:
        found = {}
        for node in graph.node:
            copy = type(node)()
            copy.CopyFrom(node)
            if hash_table_shared_name and copy.op.startswith("HashTable") and "shared_name" in copy.attr:
                del copy.attr["shared_name"]
            found[copy.name] = MessageToString(copy)
        return found

    one, other = nodes(actual), nodes(expected)
    different = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    if different:
        name = different[0]
        text = f"{len(different)} nodes differ, the first is {name}:"
        raise AssertionError(f"{text}\n{one.get(name, 'missing')}\n{other.get(name, 'missing')}")


_INHERITED = object()  # an attribute of an object that its class has


class StubOutForTesting:
    """Attributes that are replaced for a test, and put back by `CleanUp`."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace an attribute of a module, class or object."""
        inspect.getattr_static(parent, child_name)  # AttributeError if there is none
        self._replaced.append((parent, child_name, vars(parent).get(child_name, _INHERITED)))
        setattr(parent, child_name, new_child)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replace an attribute, as `Set` does."""
        self.Set(obj, attr_name, new_attr)

    def CleanUp(self) -> None:
        """Put back all attributes."""
        while self._replaced:
            parent, name, before = self._replaced.pop()
            if before is _INHERITED:
                delattr(parent, name)
            else:
                setattr(parent, name, before)

    UnsetAll = SmartUnsetAll = CleanUp

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *_: Any) -> None:
        self.CleanUp()


class CheckedThread(threading.Thread):
    """A thread whose error, if there is one, is that of `join`."""

    def __init__(self, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        super().__init__(target=self._call, args=(target, args, kwargs), daemon=True)
        self._error: BaseException | None = None

    def _call(self, target: Callable[..., Any], args: Any, kwargs: Any) -> None:
        try:
            target(*args, **kwargs)
        except BaseException as error:
            self._error = error

    def join(self, timeout: float | None = None) -> None:
        super().join(timeout)
        if self._error is not None:
            raise AssertionError(f"the thread failed: {self._error!r}") from self._error


class TestCase(Assertions):
    """A test case that starts with an empty graph, the same random seeds, and helps to compare arrays.

    The assertions about values take tensors too, which they evaluate in the default session.
    """

    _cached: tuple[Any, Any, sg.Session] | None = None  # with the graph and configuration of `cached_session`

    def setUp(self) -> None:
        super().setUp()
        np.random.seed(87654321)
        sg.reset_default_graph()
        sg.set_random_seed(87654321)

    def tearDown(self) -> None:
        if self._cached is not None:
            self._cached[-1].close()
            self._cached = None
        super().tearDown()

    def get_temp_dir(self) -> str:
        return get_temp_dir()

    # Sessions

    @contextmanager
    def session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[sg.Session]:
        """A new session as the default, with its graph."""
        session = sg.Session(graph=graph, config=config)
        with session.graph.as_default(), session.as_default():
            yield session

    @contextmanager
    def cached_session(
        self, graph: Any = None, config: Any = None, use_gpu: bool = False, force_gpu: bool = False
    ) -> Iterator[sg.Session]:
        """The session of the test as the default: the same one, with the values of its variables, each time.

        Raises:
            ValueError: The session was made with another graph or configuration.
        """
        if self._cached is None:
            self._cached = graph, config, sg.Session(graph=graph, config=config)
        *made_with, session = self._cached
        if made_with[0] is not graph or made_with[1] is not config:
            text = "the session of this test was made with another graph or configuration"
            raise misuse(ValueError, text, "self.session() makes another session")
        with session.graph.as_default(), session.as_default():
            yield session

    @property
    def test_session(self) -> Any:
        """`cached_session`, or a new session for a graph that is given.

        What collects tests passes over properties: the name makes this no test.
        """
        return self._session_of_test

    def _session_of_test(self, graph: Any = None, config: Any = None, **options: Any) -> Any:
        return (self.cached_session if graph is None else self.session)(graph, config, **options)

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session, or else in that of the test."""
        session = sg.get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as session:
            return session.run(tensors)

    def _array(self, value: Any) -> Any:
        if isinstance(value, sg.Tensor | sg.Variable):
            value = self.evaluate(value)
        return np.asarray(value)

    # Assertions

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        np.testing.assert_array_equal(self._array(a), self._array(b), msg or "")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Close arrays, also in lists, tuples and dictionaries of them."""
        match a, b:
            case dict(), dict():
                self.assertEqual(a.keys(), b.keys(), msg)
                for key in a:
                    self.assertAllClose(a[key], b[key], rtol, atol, msg)
            case list() | tuple(), list() | tuple() if not self._is_array(a):
                self.assertEqual(len(a), len(b), msg)
                for one, other in zip(a, b, strict=True):
                    self.assertAllClose(one, other, rtol, atol, msg)
            case _:
                a, b = self._array(a), self._array(b)
                self.assertEqual(a.shape, b.shape, msg)
                np.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or "")

    @staticmethod
    def _is_array(value: Any) -> bool:
        try:
            return np.asarray(value).dtype != object
        except (NotImplementedError, ValueError):  # it holds tensors, or is ragged
            return False

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        a, b = self._array(a), self._array(b)
        kinds = {a.dtype, b.dtype}
        if kinds & {np.dtype(np.float32), np.dtype(np.complex64)}:
            rtol, atol = max(rtol, float_rtol), max(atol, float_atol)
        if np.dtype(np.float16) in kinds:
            rtol, atol = max(rtol, half_rtol), max(atol, half_atol)
        if any(kind.name == "bfloat16" for kind in kinds):
            rtol, atol = max(rtol, bfloat16_rtol), max(atol, bfloat16_atol)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, **options: Any) -> None:
        with self.assertRaises(AssertionError):
            self.assertAllClose(a, b, **options)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        with self.assertRaises(AssertionError, msg=msg):
            self.assertAllEqual(a, b)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, msg or f"{f1} and {f2} differ by more than {err}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        self.assertEqual(len(farray1), len(farray2), msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        distance = float(np.linalg.norm(self._array(ndarray1) - self._array(ndarray2)))
        self.assertLessEqual(distance, err, msg)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        self.assertEqual(list(np_array.shape), tf_tensor.get_shape().as_list(), msg)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: float,
        upper_bound: float,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """All elements are from one bound to the other, or between those that are open."""
        values = self._array(target)
        above = values > lower_bound if open_lower_bound else values >= lower_bound
        below = values < upper_bound if open_upper_bound else values <= upper_bound
        self.assertTrue((above & below).all(), values)

    def assertAllInSet(self, target: Any, expected_set: Any) -> None:
        self.assertLessEqual(set(self._array(target).reshape(-1).tolist()), set(expected_set))

    def assertAllGreater(self, a: Any, comparison_target: float) -> None:
        self.assertTrue((self._array(a) > comparison_target).all())

    def assertAllLess(self, a: Any, comparison_target: float) -> None:
        self.assertTrue((self._array(a) < comparison_target).all())

    def assertAllGreaterEqual(self, a: Any, comparison_target: float) -> None:
        self.assertTrue((self._array(a) >= comparison_target).all())

    def assertAllLessEqual(self, a: Any, comparison_target: float) -> None:
        self.assertTrue((self._array(a) <= comparison_target).all())

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        self.assertEqual(self._array(target).dtype, sg.as_dtype(expected_dtype).as_numpy_dtype)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        first, second = (str(device).lower().replace("/device:", "/") for device in (device1, device2))
        self.assertEqual(first, second, msg)

    def assertProtoEquals(
        self, expected_message_maybe_ascii: Any, message: Any, msg: str | None = None
    ) -> None:
        """Equal messages; the first may be a text."""
        expected = expected_message_maybe_ascii
        if isinstance(expected, str | bytes):
            expected = Merge(expected, type(message)())
        self.assertMultiLineEqual(MessageToString(expected), MessageToString(message), msg)

    def assertProtoEqualsVersion(
        self,
        expected: Any,
        actual: Any,
        producer: int = GRAPH_DEF_VERSION,
        min_consumer: int = 0,
        msg: str | None = None,
    ) -> None:
        """Equal GraphDefs, of which the first, a text, has these versions."""
        told = f"versions {{ producer: {producer} min_consumer: {min_consumer} }}\n{expected}"
        self.assertProtoEquals(told, actual, msg)

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertNotEqual(len(container), 0, msg)

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        self.assertEqual(len(container), expected_len, msg)

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        self.assertTrue(minv <= value <= maxv, msg or f"{value} is not from {minv} to {maxv}")

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """The same elements, however often."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def checkedThread(
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> CheckedThread:
        """A thread that `join` makes fail the test where it failed."""
        return CheckedThread(target, args or (), kwargs or {})

    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: str | Callable[[Exception], bool]
    ) -> Any:
        """Context that expects an error whose text has a regex, or that a function accepts."""
        return self._raises(exception_type, expected_err_re_or_predicate)

    def assertRaisesOpError(self, expected_err_re_or_predicate: str | Callable[[Exception], bool]) -> Any:
        """`assertRaisesWithPredicateMatch` for an error of an operation."""
        return self._raises((OpError, GraphError), expected_err_re_or_predicate)

    @contextmanager
    def _raises(self, kind: Any, expected: str | Callable[[Exception], bool]) -> Iterator[None]:
        with self.assertRaises(kind) as caught:
            yield
        error = caught.exception
        holds = bool(re.search(expected, str(error))) if isinstance(expected, str) else expected(error)
        self.assertTrue(holds, f"another error than expected: {error}")

    def assertRaisesRegexp(self, *args: Any, **kwargs: Any) -> Any:
        """`assertRaisesRegex`, as it was called."""
        return self.assertRaisesRegex(*args, **kwargs)

    def assertItemsEqual(self, first: Any, second: Any, msg: str | None = None) -> None:
        """`assertCountEqual`, as it was called."""
        self.assertCountEqual(first, second, msg)
