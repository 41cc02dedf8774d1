"""`tf.test.TestCase`, used as TF1's own tests use it."""

import unittest

import numpy as np
import pytest

import staticgraph.compat.tf1 as tf


class Case(tf.test.TestCase):
    def runTest(self):
        """So that a case can be made without a method's name."""


@pytest.fixture
def case():
    made = Case()
    made.setUp()
    yield made
    tf.reset_default_graph()


def test_a_session_is_the_default_one(case):
    with case.test_session() as sess:
        assert tf.get_default_session() is sess
        assert case.evaluate(tf.constant(2.0)) == 2.0
        case.assertAllClose(tf.constant([1.0, 2.0]), [1.0, 2.0 + 1e-7])
        case.assertShapeEqual(np.ones((2, 3)), tf.ones([2, 3]))


@pytest.mark.parametrize(
    "assertion, arguments",
    [
        ("assertAllEqual", ([1, 2], [1, 3])),
        ("assertAllClose", ([1.0], [1.1])),
        ("assertAllClose", ([1.0], [1.0, 1.0])),
        ("assertAllClose", ({"a": 1.0}, {"a": 2.0})),
        ("assertAllClose", ([[1.0], [1.0, 2.0]], [[1.0], [1.0, 3.0]])),
        ("assertNear", (1.0, 1.2, 0.1)),
        ("assertArrayNear", ([1.0], [1.2], 0.1)),
        ("assertNotAllClose", ([1.0], [1.0])),
        ("assertStartsWith", ("abc", "b")),
        ("assertAllInRange", ([1, 5], 0, 4)),
        ("assertAllCloseAccordingToType", (np.float32([1]), np.float32([1.001]))),
    ],
)
def test_an_assertion_that_does_not_hold(case, assertion, arguments):
    with pytest.raises(AssertionError):
        getattr(case, assertion)(*arguments)


def test_a_half_may_differ_by_more(case):
    case.assertAllCloseAccordingToType(np.float16([1]), np.float16([1.001]))


def test_an_error_of_an_operation_is_expected_by_its_text(case):
    with case.assertRaisesOpError("feed|fed"), case.session() as sess:
        sess.run(tf.placeholder(tf.float32, []) + 1)
    with pytest.raises(AssertionError, match="another error"), case.assertRaisesOpError("no such text"):
        raise tf.errors.InvalidArgumentError("something else")


def test_a_suite_runs_with_an_empty_graph_for_each_test():
    class Twice(tf.test.TestCase):
        def test_first(self):
            self.assertEqual(tf.constant(1, name="c").name, "c:0")

        test_second = test_first

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Twice).run(result)
    assert (result.testsRun, result.failures, result.errors) == (2, [], [])


def test_the_session_of_a_test_keeps_its_variables(case):
    v = tf.Variable(1.0)
    case.evaluate(tf.global_variables_initializer())
    assert case.evaluate(v.assign_add(1.0)) == 2.0
    with case.test_session() as sess, case.cached_session() as other:
        assert sess is other and sess.run(v) == 2.0
    with case.session() as fresh, pytest.raises(tf.errors.FailedPreconditionError):
        fresh.run(v)
    with case.test_session(graph=tf.Graph()) as fresh:
        assert fresh is not sess
    with pytest.raises(ValueError, match="another graph"), case.cached_session(graph=tf.Graph()):
        pass
    case.tearDown()
    with case.cached_session() as fresh:
        assert fresh is not sess
