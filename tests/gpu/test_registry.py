"""Every op of the registry, in CUDA C: what a card makes of its samples is what NumPy says they mean.

Many ops are one program, since a C++ compiler takes its time to start. Each is run with threads in three
orders, which must give the same, bit by bit.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.ops.index import OPS_OF
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.store import DeviceStore
from staticgraph.runtime.state.memory import from_storage, to_storage
from tests.gpu.running import SCHEDULES
from tests.ops.harness import TESTED, Build, Use, as_tuple, assert_same, dtype_choices, uses
from tests.repetitions import share

TOGETHER = 20  # ops
BATCHES = [TESTED[n : n + TOGETHER] for n in range(0, len(TESTED), TOGETHER)]


# Rounding turns vectors of values that are close to each other.
TURNED = {"square_svd", "svd", "self_adjoint_eig"}
# Decompositions have long functions, which take the simulator's compiler seconds: see test_factorizations.py.
LONG = TURNED | {"matrix_cofactors", "pseudo_inverse", "qr"}
# So do special functions and random numbers, and their samples differ in values and sizes, which take other
# turns in the same body. tests/ops/test_registry.py has all of these samples, test_scalar_text.py what the
# body is made of.
FILES = """
elementwise.incomplete elementwise.special random_numbers.random random_numbers.rejection
random_numbers.stateless
"""
ALIKE = {name for file in FILES.split() for name in OPS_OF[file].split()} | {"matrix_exponential"}
together = pytest.mark.parametrize("ops", BATCHES, ids=lambda ops: f"{ops[0].name}..{ops[-1].name}")


@pytest.mark.takes_long(2)
@together
def test_ops_on_a_card_equal_their_meaning(ops: Sequence[OpDef], host: str):
    """One or two uses of each op, by turns: samples in the usual dtypes, and one sample in each other."""
    check([use for op in ops for use in chosen(op)])


@pytest.mark.slow
@together
def test_ops_of_all_dtypes_on_a_card_equal_their_meaning(ops: Sequence[OpDef], host: str):
    check([use for op in ops for choice in dtype_choices(op) for use in uses(op, choice)])


def chosen(op: OpDef) -> list[Use]:
    """Uses of an op that have their turn; a single one of an op that has long functions."""
    place = TESTED.index(op)
    usual, *others = dtype_choices(op)
    used = uses(op, usual)
    if op.name in LONG:
        return used[:1]
    for choice in others:
        more = uses(op, choice)
        used.append(more[place % len(more)])
    return share(used, len(used) if op.name in ALIKE else 9, place)


def check(used: Sequence[Use], driver: Simulator | None = None) -> None:
    build, wanted, found = Build(), [], []
    for use in used:
        _, results = build.add(use)
        node = results[0].node
        with np.errstate(all="ignore"):
            meant = as_tuple(node.op.meaning(*use.arrays, **node.attrs))
        wanted += [(use, result.dtype, array) for result, array in zip(results, meant, strict=True)]
        found += results
    function = build.function(found)
    driver = driver or Simulator()
    device = Device(driver)
    compiled = compile_gpu(Step(function, tuple(function.params), (), (), (), len(found), ()))
    executable = GpuExecutable(compiled, device)
    given = [to_storage(a, p.dtype) for a, p in zip(build.arrays, build.params, strict=True)]
    made = []
    for schedule in SCHEDULES:
        driver.schedule = schedule
        made.append(executable.step(given, DeviceStore(device))[0])
    for (use, dtype, array), *results in zip(wanted, *made, strict=True):
        assert len({result.tobytes() for result in results}) == 1, f"{use} depends on the order of threads"
        times = 4 if use.op.name in TURNED else 1
        assert_same(from_storage(results[0], dtype), dtype.round(array), dtype, str(use), times)
