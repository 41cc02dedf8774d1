from staticgraph.compiler.graph.dtypes import bool_, float32, int32, int64, uint32
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Index, Load, Local, Reduce
from staticgraph.compiler.kernel.printer import expression_text, kernel_text, statement_text
from staticgraph.compiler.kernel.stmt import Buffer, If, Kernel, Let, Loop, LoopKind, Store, Update, While

i, j = Index("i", 4), Index("j", 6)
a, b, c = (Local(name, float32) for name in "abc")
p, q = Local("p", bool_), Local("q", bool_)


def test_parentheses_are_where_they_are_needed():
    texts = {
        a + b * c: "a + b * c",
        (a + b) * c: "(a + b) * c",
        a - (b - c): "a - (b - c)",
        a - b - c: "a - b - c",
        a / (b * c): "a / (b * c)",
        -(a + b): "-(a + b)",
        -a * b: "-a * b",
        a * -1.0: "a * -1.0",
        -Const(-1.0, float32): "-(-1.0)",
        (a < b) & (b < c): "(a < b) & (b < c)",
        ~p | q: "~p | q",
        scalar.eq(a < b, p): "(a < b) == p",
        (i + 1) % 3: "(i + 1) % 3",
        i // 3 % 2: "i // 3 % 2",
        scalar.select(p, a, scalar.fma(a, b, c)): "select(p, a, fma(a, b, c))",
        scalar.cast(i, float32): "float32(i)",
        scalar.bitcast(a, uint32): "bitcast_uint32(a)",
        Reduce((j,), "maximum", Load("x", (i, j), float32)): "maximum(x[i, j] for j in 0..6)",
        Const(float("inf"), float32): "inf",
        Const(True, bool_): "True",
    }
    for expr, text in texts.items():
        assert expression_text(expr) == text


def test_every_statement():
    n = Local("n", int32)
    body = (
        Let(n, Const(8, int32)),
        While(
            n > 0,
            (
                Update(n, n // 2),
                If(n < 4, (Store("y", (), Load("y", (), float32) + 1.0),)),
            ),
        ),
        Let(a, Const(0, float32)),
        Loop(
            i,
            (Loop(j, (Update(a, scalar.minimum(a, Load("x", (i, j), float32)), "minimum"),)),),
            LoopKind.PARALLEL,
        ),
        Loop(j, (), LoopKind.SIMD),
    )
    kernel = Kernel("k", {"x": Buffer(float32, (4, 6)), "y": Buffer(float32, (), written=True)}, body)
    assert kernel_text(kernel) == (
        "kernel k(x: float32[4, 6], y: float32[] written):\n"
        "  n: int32 = 8\n"
        "  while n > 0:\n"
        "    n = n // 2\n"
        "    if n < 4:\n"
        "      y[] = y[] + 1.0\n"
        "  a: float32 = 0.0\n"
        "  for i in 0..4 parallel:\n"
        "    for j in 0..6:\n"
        "      a min= x[i, j]\n"
        "  for j in 0..6 simd:\n"
        "    pass\n"
    )


def test_large_shared_parts_get_a_name():
    shared = scalar.exp(a * b + c * 2.0)
    assert statement_text(Let(p, shared / (shared + 1.0) > 0.5)) == (
        "%0 = exp(a * b + c * 2.0)\np: bool = %0 / (%0 + 1.0) > 0.5"
    )


def test_text_grows_with_the_number_of_parts_and_not_of_paths():
    expr = scalar.exp(a)
    for _ in range(40):
        expr = expr * expr + 1.0
    assert len(statement_text(Store("y", (Const(0, int64),), expr))) < 2000
