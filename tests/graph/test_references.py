"""`experimental_ref` of tensors and variables, as TensorFlow's ops_test has it."""

import staticgraph as sg


def test_references_tell_if_it_is_the_same_object():
    x, y, w = sg.constant(3), sg.constant(3), sg.Variable(5)
    assert x.experimental_ref() == x.experimental_ref() != y.experimental_ref()
    assert x.experimental_ref().deref() is x
    assert w.experimental_ref().deref() is w
    assert len({t.experimental_ref() for t in (x, x, y, w)}) == 3
    assert {x.experimental_ref(): "x"}[x.experimental_ref()] == "x"
    assert "Const" in repr(x.experimental_ref())


def test_a_multiple_of_indexed_slices():
    x = sg.scalar_mul(-2, sg.IndexedSlices(sg.constant([[2, 3], [5, 7]]), sg.constant([0, 2])))
    with sg.Session() as sess:
        values, indices = sess.run([x.values, x.indices])
    assert values.tolist() == [[-4, -6], [-10, -14]]
    assert indices.tolist() == [0, 2]
