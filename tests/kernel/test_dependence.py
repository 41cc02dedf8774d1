import pytest

from staticgraph.compiler.graph.dtypes import float32, int64
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.loops.dependence import obstacle
from staticgraph.compiler.kernel.stmt import Buffer, Loop, Span, Store

i, j, r = Index("i", 8), Index("j", 5), Index("r", 5)
BUFFERS = {
    "y": Buffer(float32, (8, 5), written=True),
    "n": Buffer(int64, (8,)),
    "flat": Buffer(float32, (64,), written=True),
}


def independent(index: Index, *body) -> bool:
    return obstacle(Loop(index, body), BUFFERS) is None


def y(*at: Expr) -> Load:
    return Load("y", at, float32)


def set_y(at: tuple[Expr, ...], value: Expr) -> Store:
    return Store("y", at, value)


def test_each_row_and_each_column_is_its_own():
    body = set_y((i, j), y(i, j) * 2.0)
    assert independent(i, Loop(j, (body,)))
    assert independent(j, body)
    assert independent(j, Loop(i, (body,)))


def test_rows_that_read_all_of_themselves():
    body = set_y((i, j), y(i, r) * 2.0)
    assert independent(i, Loop(j, (Loop(r, (body,)),)))
    assert not independent(j, Loop(r, (body,)))


def test_rows_that_read_their_neighbours():
    assert not independent(i, set_y((i, Const(0, int64)), y(7 - i, Const(0, int64))))
    first = Index("a", 7)
    assert not independent(first, set_y((first + 1, j), y(first, j)))


@pytest.mark.parametrize(
    "step, expected", [(0, False), (1, False), (4, False), (5, True), (-5, True), (8, True)]
)
def test_windows_meet_unless_the_step_is_as_long(step: int, expected: bool):
    start = 0 if step >= 0 else -step * 7
    store = Store("flat", (i * step + j + start,), Const(1, float32))
    assert independent(i, Loop(j, (store,))) is expected


def test_neighbouring_rows_do_not_meet():
    """As where a kernel stores the rows of a window one by one; but a shifted row is another's."""
    rows = tuple(Store("flat", (j + 5 * row,), Const(1, float32)) for row in range(3))
    assert independent(j, *rows)
    assert not independent(j, *rows, Store("flat", (j + 6,), Const(1, float32)))
    assert not independent(j, *rows, Store("flat", (j + 4,), Const(1, float32)))


def test_a_place_that_was_loaded_before_the_loop_moves_all_accesses_alike():
    start = Load("n", (i,), int64)
    assert independent(j, Store("flat", (start + j,), Load("flat", (start + j,), float32)))
    assert not independent(i, Store("flat", (start,), Const(1, float32)))


def test_a_loop_of_one_iteration_depends_on_nothing():
    assert independent(Index("one", 1), Store("flat", (Const(0, int64),), Const(1, float32)))


def test_each_two_are_apart_though_all_together_seem_not_to_be():
    """The start does not matter between the first two, and is near enough to the third; taken by themselves
    the places are as many as the step is long.
    """
    row, start = Index("k", 6), Index("s", 10)

    def stores(*starts: Expr) -> tuple[Store, ...]:
        return tuple(Store("flat", (row * 10 + at,), Const(1, float32)) for at in starts)

    assert independent(row, *stores(start, start + 1, Const(2, int64)))
    assert not independent(row, *stores(start, start + 1, start * 2))


@pytest.mark.parametrize(("times", "start", "independent"), [(2, 0, True), (0, 0, True), (2, 1, False)])
def test_multiples_of_the_end_of_a_span_are_apart(times: int, start: int, independent: bool):
    """`at + i` and `at + times * stop + i` of iterations before `stop`; a constant between them may meet."""
    stop, at, i = Local("stop", int64), Local("at", int64), Index("i", 50)
    stores = (
        Store("y", (at + i,), Const(1.0, float32)),
        Store("y", (at + stop * times + i + start,), Const(2.0, float32)),
    )
    loop = Loop(i, stores, share=Span(Const(0, int64), stop))
    assert (obstacle(loop, {"y": Buffer(float32, (500,), written=True)}) is None) == independent
