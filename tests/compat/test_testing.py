"""`tf.test.TestCase`, used as TF1's own tests use it."""

import sys
import unittest
from pathlib import Path

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
        ("assertNotStartsWith", ("abc", "a")),
        ("assertEndsWith", ("abc", "b")),
        ("assertNotEndsWith", ("abc", "c")),
        ("assertRegexMatch", ("abc", ["x", "^b"])),
        ("assertRegexMatch", ("abc", "b")),
        ("assertContainsInOrder", (["b", "a"], "ab")),
        ("assertUrlEqual", ("http://a/b?x=1&y=2", "http://a/b?x=1&y=3")),
        ("assertJsonEqual", ('{"a": 1}', '{"a": 2}')),
        ("assertContainsSubset", ([1, 4], [1, 2, 3])),
        ("assertNoCommonElements", ([1, 2], [2, 3])),
        ("assertContainsSubsequence", ([1, 2, 3], [3, 1])),
        ("assertContainsExactSubsequence", ([1, 2, 3], [1, 3])),
        ("assertSequenceStartsWith", ([2], [1, 2])),
        ("assertSequenceAlmostEqual", ([1.0], [1.1])),
        ("assertSequenceAlmostEqual", ([1.0], [1.0, 1.0])),
        ("assertTotallyOrdered", ([1, 1], [1])),
        ("assertSameStructure", ({"a": [1, 2]}, {"a": [1, 3]})),
        ("assertRaisesWithLiteralMatch", (ValueError, "two", lambda: int("x"))),
        ("assertCommandSucceeds", ([sys.executable, "-c", "exit(1)"],)),
        ("assertCommandFails", ([sys.executable, "-c", "pass"], [""])),
        ("assertAllCloseAccordingToType", (np.float32([1]), np.float32([1.001]))),
    ],
)
def test_an_assertion_that_does_not_hold(case, assertion, arguments):
    with pytest.raises(AssertionError):
        getattr(case, assertion)(*arguments)


@pytest.mark.parametrize(
    "assertion, arguments",
    [
        ("assertNotStartsWith", ("abc", "b")),
        ("assertEndsWith", ("abc", "c")),
        ("assertNotEndsWith", ("abc", "b")),
        ("assertRegexMatch", ("a\nbc", ["x", "^b"])),
        ("assertContainsInOrder", (["a", "b"], "axb")),
        ("assertUrlEqual", ("http://a/b?x=1&y=2", "http://a/b?y=2&x=1")),
        ("assertJsonEqual", ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}')),
        ("assertContainsSubset", ([1, 3], [1, 2, 3])),
        ("assertNoCommonElements", ([1, 2], [3])),
        ("assertContainsSubsequence", ([1, 2, 3], [1, 3])),
        ("assertContainsExactSubsequence", ([1, 2, 3], [2, 3])),
        ("assertSequenceStartsWith", (1, [1, 2])),
        ("assertSequenceAlmostEqual", ([1.0], [1.1], None, None, 0.2)),
        ("assertTotallyOrdered", ([1, 1], [2], [3])),
        ("assertSameStructure", ({"a": [1, 2]}, {"a": [1, 2]})),
        ("assertRaisesWithLiteralMatch", (ZeroDivisionError, "division by zero", lambda: 1 / 0)),
        ("assertCommandSucceeds", ([sys.executable, "-c", "print(12)"], ["1[12]"])),
        ("assertCommandFails", ([sys.executable, "-c", "exit('why')"], ["why"])),
    ],
)
def test_an_assertion_that_holds(case, assertion, arguments):
    getattr(case, assertion)(*arguments)


def test_a_difference_is_named_by_its_place(case):
    with pytest.raises(AssertionError, match=r"a\['x'\]\[1\] is 2, and b\['x'\]\[1\] is 3"):
        case.assertSameStructure({"x": [1, 2]}, {"x": [1, 3]})


def test_files_of_a_test_are_gone_after_it(case):
    folder = case.create_tempdir()
    file = folder.mkdir("inner").create_file("a.txt", content="text")
    assert (file.read_text(), Path(file).parent.name) == ("text", "inner")
    assert case.create_tempfile(content=b"\x00").read_bytes() == b"\x00"
    case.doCleanups()
    assert not Path(folder).exists()


def test_what_is_printed_can_be_read(case):
    with case.captureWritesToStream(sys.stdout) as printed:
        print("one")
    assert printed.contents() == "one\n"
    with pytest.raises(ValueError, match=r"sys\.stdout or sys\.stderr"), case.captureWritesToStream(None):
        pass


def test_replaced_attributes_come_back():
    class Thing:
        size = 1

        def method(self):
            return self.size

    thing = Thing()
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(Thing, "size", 5)
        stubs.Set(thing, "method", lambda: "other")
        assert (Thing.size, thing.method()) == (5, "other")
        with pytest.raises(AttributeError):
            stubs.Set(thing, "nothing", 1)
    assert (Thing.size, thing.method(), vars(thing)) == (1, 1, {})


def test_servers_of_a_local_cluster_have_sessions():
    workers, ps = tf.test.create_local_cluster(2, 1)
    assert (len(workers), len(ps)) == (2, 1)
    with tf.Session(workers[1].target) as sess:
        assert sess.run(tf.constant(2.0)) == 2.0


def test_graphs_are_compared_whatever_the_order_of_their_nodes():
    def graph(names):
        with tf.Graph().as_default() as made:
            for name in names:
                tf.constant(1.0, name=name)
        return made.as_graph_def()

    tf.test.assert_equal_graph_def(graph("ab"), graph("ba"))
    with pytest.raises(AssertionError, match="1 nodes differ, the first is c"):
        tf.test.assert_equal_graph_def(graph("ab"), graph("abc"))


def test_names_of_a_module_of_tests(case):
    assert tf.test.mock.Mock(return_value=3)() == 3
    assert tf.test.Benchmark.is_abstract() and tf.test.Benchmark().evaluate(tf.constant(2.0)) == 2.0
    assert isinstance(tf.test.benchmark_config(), tf.ConfigProto)
    assert Path(tf.test.test_src_dir_path("data")).name == "data"
    case.assertProtoEqualsVersion("", tf.Graph().as_graph_def(), producer=134)


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


def test_the_case_keeps_the_path_that_it_had_once():
    from staticgraph.compat.legacy import testing

    assert testing.TestCase is tf.test.TestCase
