import pytest

from staticgraph.compiler.graph.dtypes import float16, float32, int32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.contraction import analyse
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Reduce
from staticgraph.compiler.kernel.stmt import Buffer, Store

M, N, K, NONE = Index("m", 8), Index("n", 9), Index("k", 10), Index("none", 0)
A, B = Load("a", (M, K), float32), Load("b", (K, N), float32)
BUFFERS = {
    "a": Buffer(float32, (8, 10)),
    "b": Buffer(float32, (10, 9)),
    "bias": Buffer(float32, (9,)),
    "c": Buffer(float32, (8, 9), written=True),
}


def product(a: Expr = A, b: Expr = B) -> Expr:
    return Reduce((K,), "add", a * b)


def of(value: Expr, **more: Buffer):
    return analyse((M, N), (Store("c", (M, N), value),), BUFFERS | more)


def test_roles_of_a_matrix_product():
    c = of(product())
    assert (c.rows, c.lanes, c.outer, c.k) == (M, N, (), (K,))
    assert (c.a.buffer, c.a.steps, c.b.buffer, c.b.steps) == ("a", {M: 10, K: 1}, "b", {K: 9, N: 1})
    assert c.targets[0].steps == {M: 9, N: 1}


def test_the_operand_along_the_lanes_comes_second():
    assert of(product(B, A)).b.buffer == "b"
    turned = analyse((N, M), (Store("c", (N, M), product()),), BUFFERS | {"c": Buffer(float32, (9, 8), True)})
    assert (turned.a.buffer, turned.rows, turned.lanes) == ("b", N, M)


def test_batch_indices_stay_outside_and_merge():
    p, q = Index("p", 3), Index("q", 4)
    buffers = {
        "a": Buffer(float32, (3, 4, 8, 10)),
        "b": Buffer(float32, (3, 4, 10, 9)),
        "c": Buffer(float32, (3, 4, 8, 9), written=True),
    }
    value = product(Load("a", (p, q, M, K), float32), Load("b", (p, q, K, N), float32))
    c = analyse((p, q, M, N), (Store("c", (p, q, M, N), value),), buffers)
    assert [i.extent for i in c.outer] == [12]
    shared = buffers | {"b": Buffer(float32, (10, 9))}
    c = analyse((p, q, M, N), (Store("c", (p, q, M, N), product(Load("a", (p, q, M, K), float32))),), shared)
    assert (c.rows.extent, c.outer) == (96, ())


def test_convolution_sums_over_rows_of_the_window():
    n, p, q, o = Index("n", 2), Index("p", 6), Index("q", 7), Index("o", 16)
    y, x, i = Index("y", 3), Index("x", 3), Index("c", 5)
    buffers = {
        "x": Buffer(float32, (2, 13, 15, 5)),
        "w": Buffer(float32, (3, 3, 5, 16)),
        "y": Buffer(float32, (2, 6, 7, 16), written=True),
    }
    at = (n, p * 2 + y, q * 2 + x, i)
    value = Reduce((y, x, i), "add", Load("x", at, float32) * Load("w", (y, x, i, o), float32))
    c = analyse((n, p, q, o), (Store("y", (n, p, q, o), value),), buffers)
    assert [k.extent for k in c.k] == [3, 15]
    assert (c.rows, c.lanes, c.outer) == (q, o, (n, p))
    assert [c.a.step(k) for k in c.k] == [75, 1]
    assert c.a.step(q) == 10


def test_products_of_rows_with_one_row_each_are_no_matrix_product():
    """No element is used twice, so vectors run along the rows, as in every other sum of a row."""
    row = Buffer(float32, (8,), written=True)
    squares = Reduce((K,), "add", A * A)
    assert analyse((M,), (Store("r", (M,), squares),), BUFFERS | {"r": row}) is None
    columns = Reduce((M,), "add", A * A)  # down columns, neighbours are next to each other
    assert analyse((K,), (Store("r", (K,), columns),), BUFFERS | {"r": Buffer(float32, (10,), True)})


def test_epilogue_is_made_of_locals():
    c = of(scalar.maximum(product() + Load("bias", (N,), float32), 0.0))
    ((local, access),) = c.loads.items()
    assert (access.buffer, access.steps) == ("bias", {N: 1})
    assert c.stores[0].value is scalar.maximum(c.acc + local, 0.0)


def test_update_in_place_reads_what_it_writes():
    assert of(Load("c", (M, N), float32) - product()) is not None
    elsewhere = Load("c", (M, scalar.cast(N, int64) * -1 + 8), float32)
    assert of(elsewhere - product()) is None


@pytest.mark.parametrize(
    "value",
    [
        A * Load("b", (Const(0, int64), N), float32),
        product() + product(A + 1.0),
        Reduce((K,), "maximum", A * B),
        Reduce((K,), "add", A + B),
        Reduce((K,), "add", A * scalar.exp(B)),
        Reduce((K,), "add", A * Load("b", (K * K, N), float32)),
        product() * scalar.cast(M, float32),
        product(A, Load("c", (K, N), float32)),
        scalar.cast(Reduce((K,), "add", Load("n", (M, K), int32) * Load("n", (N, K), int32)), float32),
        Reduce((NONE,), "add", Load("a", (M, NONE), float32) * Load("b", (NONE, N), float32)),
    ],
    ids=[
        "no sum",
        "two sums",
        "not a sum",
        "not of products",
        "of a function of an element",
        "not affine",
        "uses a loop variable",
        "reads the result",
        "of integers",
        "of nothing",
    ],
)
def test_other_forms_are_left_alone(value):
    assert of(value, n=Buffer(int32, (9, 10))) is None


def test_narrow_elements_are_widened_on_the_way():
    c = of(product(scalar.cast(Load("h", (M, K), float16), float32)), h=Buffer(float16, (8, 10)))
    assert (c.dtype, c.a.dtype, c.b.dtype) == (float32, float16, float32)
