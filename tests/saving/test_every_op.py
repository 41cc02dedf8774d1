"""Every op of the registry survives a file: loaded, it computes the same bits, and saved again, it gives the
same file.

Ops that describe samples of themselves are taken from there; the programs below use all the others.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import InvalidFileError, SaveError
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.opdef import OPS, Effect, OpDef
from staticgraph.runtime.files.graph_json import refusal
from staticgraph.runtime.interpreter import InterpreterBackend
from staticgraph.runtime.session import Session
from staticgraph.saved.saving import save
from tests.ops.harness import TESTED, dtype_choices, uses
from tests.saving.nets import again
from tests.saving.test_damage import forge
from tests.saving.test_regions import PROGRAMS as REGIONS

ROOT = Path(__file__).resolve().parents[2]
# In all tests of samples; a call of Python, which no file holds; in tests/derivatives/test_backward.py; what
# the compiler alone makes.
ELSEWHERE = {"cotangent", "extents", "placeholder", "py_func_stateless", "vanishing", "worker_rank"}
WORDS = ["one", "Two three", "", "vier"]


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    """Samples have indices out of range too."""
    with sg.options(check_bounds=False):
        yield


def words() -> sg.Tensor:
    return sg.placeholder_with_default(WORDS, [4], name="words")


def text_ops() -> Iterator[sg.Tensor]:
    x = words()
    yield from (sg.strings.lower(x), sg.strings.upper(x, encoding="utf-8"), sg.strings.strip(x))
    yield from (sg.strings.length(x), sg.strings.substr(x, [0] * 4, [0] * 4), sg.strings.join([x, x], "-"))
    yield from (sg.strings.as_string([1.5, 2.0], precision=3), sg.strings.to_number(["1", "2.5"]))
    yield from (sg.io.encode_base64(x), sg.io.decode_base64(sg.io.encode_base64(x)))
    yield from (
        sg.strings.regex_replace(x, sg.constant("o."), sg.constant("<>")),
        sg.strings.regex_replace(x, "o.", "<>"),
    )
    yield from (sg.strings.regex_full_match(x, "o.*"), sg.strings.regex_full_match(x, sg.constant("o.*")))
    yield from (ops.string_to_hash_bucket(x, num_buckets=7), sg.strings.to_hash_bucket_fast(x, 7))
    yield sg.strings.to_hash_bucket_strong(x, 7, [1, 2])
    yield from (ops.string_split(x, sg.constant(" "))[1], sg.strings.split(x, sep=" ").values)
    yield from (sg.strings.reduce_join(x), sg.strings.unsorted_segment_join(x, [0, 1, 0, 1], 2))
    yield sg.strings.format("{} and {}", (x, sg.constant([1, 2])))
    yield sg.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE")
    yield ops.unicode_decode_with_offsets(x, input_encoding="UTF-8")[0]
    yield ops.unicode_encode([[72, 105]], output_encoding="UTF-8")
    yield sg.strings.ngrams(x, 2)


def read_ops() -> Iterator[sg.Tensor]:
    yield sg.io.decode_raw(["abcd", "efgh"], sg.uint8)
    yield from sg.io.decode_csv(["1,a", "2,b"], [[0], [""]])
    yield sg.io.decode_compressed(["abc"], compression_type="")


def data_decide() -> Iterator[sg.Tensor]:
    x = sg.placeholder_with_default([3, 1, 3, 2], [4])
    yield sg.where(x > 1)
    yield from (*sg.unique(x), *sg.unique_with_counts(x), *sg.setdiff1d(x, [1]))
    parts = sg.dynamic_partition(x, [0, 1, 0, 1], 2)
    yield sg.dynamic_stitch([[0, 2], [1, 3]], parts)
    a = sg.SparseTensor([[0, 0]], [5], [1, 2])
    yield sg.edit_distance(a, sg.SparseTensor([[0, 0]], [6], [1, 2]))
    yield sg.sets.set_union(a, [[5, 7]]).values
    yield sg.sets.set_size(a)


def sequences() -> Iterator[sg.Tensor]:
    scores = sg.constant(np.eye(4, dtype=np.float32)[[0, 1, 2], None])
    yield sg.nn.ctc_greedy_decoder(scores, [3])[0][0].values
    yield sg.nn.ctc_beam_search_decoder(scores, [3])[0][0].values


def structure() -> Iterator[sg.Tensor]:
    x = sg.placeholder_with_default(np.float32([1, -2, 3]), [None], name="x")
    v = sg.Variable([1.0, 2.0, 3.0], name="v")
    yield from (sg.shape(x), sg.size(x), sg.rank(sg.placeholder_with_default(2.0, None)))
    yield from (sg.stop_gradient(x), sg.check_numerics(x, "no number"), v + x)
    yield from (sg.is_variable_initialized(v), sg.report_uninitialized_variables([v]))
    yield from (v.initialized_value(), v.read_value())
    with sg.control_dependencies([sg.no_op()]):
        yield sg.identity(x)
    yield sg.gradients(sg.reduce_sum(x * x), x)[0]
    yield sg.nn.moments(x, [0])[1]

    @sg.custom_gradient
    def doubled(y: sg.Tensor) -> Any:
        return 2 * y, lambda d: 5 * d

    yield sg.gradients(doubled(x), x)[0]


def shown() -> Iterator[sg.Tensor]:
    with sg.control_dependencies([sg.print("shown", output_stream=sys.stdout)]):
        yield sg.identity(1.0)


def late() -> Iterator[sg.Tensor]:
    """Ops of modules that are imported when they are used."""
    yield sg.summary.scalar("loss", 1.0)
    yield sg.image.decode_png(sg.image.encode_png(np.zeros((1, 2, 3), np.uint8)))
    yield sg.io.parse_tensor(sg.io.serialize_tensor([1, 2]), sg.int32)


def loops() -> Iterator[Any]:
    x = sg.placeholder_with_default(np.float32([1, -2, 3]), [None])
    for program in REGIONS.values():
        yield from sg.nest.flatten([program(x)])


PROGRAMS: list[Callable[[], Iterator[Any]]] = [
    text_ops,
    read_ops,
    data_decide,
    sequences,
    structure,
    shown,
    late,
    loops,
]


def check_again(path: Path, outputs: list[sg.Tensor], feeds: dict[sg.Tensor, Any], session: Session) -> None:
    """Check that the loaded graph gives the results of the session, and that its file is the same again."""
    inputs = {f"in{i}": tensor for i, tensor in enumerate(feeds)}
    save(path, {f"out{i}": t for i, t in enumerate(outputs)}, inputs=inputs, session=session)
    wanted = session.run(outputs, feeds)
    net, same = again(path)
    assert same
    net.session.backend = session.backend
    made = net({f"in{i}": value for i, value in enumerate(feeds.values())})
    for value, expected in zip(made.values(), wanted, strict=True):
        value, expected = np.asarray(value), np.asarray(expected)
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
        is_text = value.dtype == object
        assert value.tolist() == expected.tolist() if is_text else value.tobytes() == expected.tobytes()


@pytest.mark.takes_long
@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in TESTED])
def test_an_op_with_samples(op: OpDef, tmp_path: Path):
    """Interpreted, since a file holds operations and what is compiled of them has tests of its own."""
    if refusal(op, {}) is not None:
        pytest.skip("it reaches out of the graph, and no file holds it")
    feeds: dict[sg.Tensor, Any] = {}
    outputs: list[sg.Tensor] = []
    session = Session()
    session.backend = InterpreterBackend()
    for use in uses(op, next(dtype_choices(op))):
        inputs = []
        for array, dtype in use.seen:
            if use.changes(len(inputs)):
                inputs.append(ops.variable(dtype=dtype, shape=array.shape))
                session.variables.write(inputs[-1].op, array)
            else:
                inputs.append(ops.placeholder(dtype, array.shape))
                feeds[inputs[-1]] = array
        made = use.call(inputs)
        outputs += made
        if op.effect is Effect.RANDOM:  # those without a seed differ
            made[0].op.attrs.update({"seed": 5} if "seed" in made[0].op.attrs else {})
    check_again(tmp_path / "op.sg", outputs, feeds, session)


@pytest.mark.parametrize("program", PROGRAMS)
def test_ops_without_samples(program: Callable[[], Iterator[Any]], tmp_path: Path, capfd: Any):
    session = Session()
    outputs = [output for output in program() if isinstance(output, sg.Tensor)]
    session.run(sg.global_variables_initializer())
    check_again(tmp_path / "net.sg", outputs, {}, session)


def test_all_ops_are_here():
    """A new op has samples, is in one of the programs, or is refused by name."""
    found = set()
    for program in PROGRAMS:
        with Graph().as_default() as graph:
            list(program())
        found |= {op.definition.name for op in graph.get_operations()}
    plain = {op.name for op in OPS.values() if op.samples is None and not is_late(op)}
    assert {name for name in plain - found if refusal(OPS[name], {}) is None} == ELSEWHERE


def is_late(op: OpDef) -> bool:
    """Return True if an op is declared outside of the compiler."""
    module = getattr(op.reference, "__module__", "")
    return module.startswith("staticgraph.") and not module.startswith("staticgraph.compiler.")


def test_ops_of_modules_that_are_imported_late_are_announced():
    import staticgraph.tf1.compat.areas  # noqa: F401  imports all of them

    late = [op for op in OPS.values() if is_late(op) and refusal(op, {}) is None]
    assert len(late) > 20
    for op in late:
        assert OPS.home(op.name) == op.reference.__module__, op.name


def test_a_fresh_process_knows_them(tmp_path: Path):
    image = sg.placeholder(sg.uint8, [None, None, 3], name="image")
    save(tmp_path / "writes.sg", {"text": sg.image.encode_png(image)})
    program = (
        "import numpy as np, staticgraph as sg;"
        'made = sg.load("writes.sg")(image=np.zeros((1, 2, 3)))["text"]; assert b"PNG" in made'
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("reads", [sg.read_file, sg.matching_files])
def test_no_graph_reads_files_for_whom_it_comes_from(tmp_path: Path, reads: Callable[[Any], sg.Tensor]):
    """The names of files are tensors: such a graph could give away whatever its user may read."""
    path = sg.placeholder(sg.string, [], name="path")
    with pytest.raises(SaveError, match="reaches out of the graph"):
        save(tmp_path / "reads.sg", {"text": reads(path)})
    forged = {"name": "r", "op": reads(path).op.definition.name, "outputs": [["string", None]]}
    x = sg.placeholder(sg.string, [], name="x")
    save(tmp_path / "net.sg", {"y": sg.identity(x, name="y")})
    with pytest.raises(InvalidFileError, match="reaches out of the graph"):
        sg.load(forge(tmp_path / "net.sg", lambda text: text["operations"].append(forged)))
