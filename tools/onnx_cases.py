"""Run ONNX's own backend tests, which the package onnx builds in memory, and count what passes.

    python tools/onnx_cases.py                      all cases
    python tools/onnx_cases.py --kind node --plain  single operators, on the element types that all have
    python tools/onnx_cases.py --op Resize          cases with such a node
    python tools/onnx_cases.py --fail-under 1400    exit with 1 if fewer pass

A case runs in a worker process, so that one that crashes or hangs costs no more than itself. Needs `onnx`.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import multiprocessing
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
PLAIN = {1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13}  # float32, float64, integers, bool: numbers of element types
_SECONDS = 120  # that a case may take


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its kind and name, the operators in its model, and whether its values are plain tensors."""

    kind: str
    name: str
    ops: tuple[str, ...]
    plain: bool


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a case."""

    case: Case
    error: str  # empty where it passed


def load_cases(kinds: Sequence[str] = KINDS) -> list[tuple[Case, Any]]:
    """The cases of some kinds, with what the package has for each."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return [(_described(kind, test), test) for kind in kinds for test in load_model_tests(kind=kind)]


def model_of(test: Any) -> Any:
    """The model of a case: built already, or in a file of the package."""
    import onnx

    if test.model is not None:
        return test.model
    return onnx.load(_folder(test) / "model.onnx" if test.model_dir else _light(test.url))


def _light(url: str) -> Path:
    import onnx

    return Path(onnx.__file__).parent.joinpath(*Path(url).parts[1:])


def _folder(test: Any) -> Path:
    return Path(test.model_dir)


def _described(kind: str, test: Any) -> Case:
    model = model_of(test)
    values = [*model.graph.input, *model.graph.output]
    plain = all(v.type.HasField("tensor_type") and v.type.tensor_type.elem_type in PLAIN for v in values)
    return Case(kind, test.name, tuple(sorted({node.op_type for node in model.graph.node})), plain)


def run_case(test: Any) -> None:
    """Run a case with our backend and compare. Raises what goes wrong."""
    import numpy as np
    import onnx
    from onnx.backend.test.runner import Runner, _normalize_tensor

    from staticgraph.formats.onnx import backend

    model = model_of(test)
    prepared = backend.prepare(model.SerializeToString())
    data = list(test.data_sets or [])
    if test.model_dir:
        for folder in sorted(_folder(test).glob("test_data_set*")):
            data.append(tuple(_stored(folder, role, model.graph) for role in ("input", "output")))
    if test.url and not test.model_dir:
        data = [_light_data(model, _light(test.url), np, onnx)]
    for inputs, expected in data:
        outputs = prepared.run([_normalize_tensor(each) for each in inputs])
        wanted = [_normalize_tensor(each) for each in expected]
        Runner.assert_similar_outputs(wanted, outputs, test.rtol, test.atol)


def _light_data(model: Any, path: Path, np: Any, onnx: Any) -> tuple[list[Any], list[Any]]:
    """The models of real networks are run on ones, as the package's own runner does."""
    constants = {each.name for each in model.graph.initializer}
    (info,) = (info for info in model.graph.input if info.name not in constants)
    shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
    inputs = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / np.prod(shape)
    stored = path.with_name(f"{path.stem}_output_0.pb").read_bytes()
    return [inputs.astype(np.float32)], [onnx.numpy_helper.to_array(onnx.TensorProto.FromString(stored))]


def _stored(folder: Path, role: str, graph: Any) -> list[Any]:
    import onnx

    files = sorted(folder.glob(f"{role}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    infos = graph.input if role == "input" else graph.output
    return [_value(path.read_bytes(), info.type, onnx) for path, info in zip(files, infos, strict=False)]


def _value(data: bytes, type: Any, onnx: Any) -> Any:
    match type.WhichOneof("value"):
        case "sequence_type":
            return onnx.numpy_helper.to_list(onnx.SequenceProto.FromString(data))
        case "optional_type":
            return onnx.numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data))


# Worker processes


def _work(connection: Connection, kinds: Sequence[str]) -> None:
    """Run the cases whose numbers come in; what goes out is the error, or nothing."""
    warnings.simplefilter("ignore")
    tests = [test for _, test in load_cases(kinds)]
    while (number := connection.recv()) is not None:
        try:
            run_case(tests[number])
        except BaseException as error:
            text = (str(error).strip() or "assertion").split("\n\n")[0].split("\n")
            text = " ".join(" ".join(text[:8]).split())[:250]
            connection.send(f"{type(error).__name__}: {text}")
        else:
            connection.send("")


def _worker(kinds: Sequence[str]) -> tuple[Any, Connection]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_work, args=(theirs, kinds), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def run_all(cases: Sequence[Case], numbers: Sequence[int], kinds: Sequence[str]) -> Iterator[Result]:
    """The results of some cases, one after the other."""
    process, connection = _worker(kinds)
    for number in numbers:
        connection.send(number)
        try:
            error = connection.recv() if connection.poll(_SECONDS) else f"no result after {_SECONDS} seconds"
            lost = error.startswith("no result")
        except EOFError:
            error, lost = "the process died", True
        if lost:
            process.kill()
            process.join()
            process, connection = _worker(kinds)
        yield Result(cases[number], error)
    connection.send(None)
    process.join()


def report(results: Sequence[Result], per_op: bool, errors: bool) -> None:
    """Counts by kind, for plain values and others; by operator; and what went wrong."""
    groups: dict[tuple[str, bool], list[Result]] = collections.defaultdict(list)
    ops: dict[str, list[Result]] = collections.defaultdict(list)
    for result in results:
        groups[result.case.kind, result.case.plain].append(result)
        for op in result.case.ops:
            ops[op].append(result)
    for (kind, plain), members in groups.items():
        print(f"{kind:18} {'plain' if plain else 'other':6} {_passed(members):5} of {len(members):5}")
    print(f"{'all':25} {_passed(results):5} of {len(results):5}")
    if per_op:
        for op, members in sorted(ops.items(), key=lambda item: (_passed(item[1]) - len(item[1]), item[0])):
            print(f"  {op:28} {_passed(members):4} of {len(members):4}")
    if errors:
        for result in results:
            if result.error:
                print(f"{result.case.kind} {result.case.name}: {result.error}")


def _passed(results: Sequence[Result]) -> int:
    return sum(not result.error for result in results)


def main() -> int:
    """Run the cases that the arguments choose, and print counts."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be given several times")
    parser.add_argument("--plain", action="store_true", help="leave out other element types and sequences")
    parser.add_argument("--op", help="cases with a node of this type")
    parser.add_argument("--name", help="cases whose name contains this")
    parser.add_argument("--per-op", action="store_true", help="a table by operator, the worst first")
    parser.add_argument("--errors", action="store_true", help="what went wrong in each case")
    parser.add_argument("--fail-under", type=int, default=0, metavar="N", help="exit with 1 if fewer pass")
    options = parser.parse_args()
    kinds = options.kind or KINDS
    cases = [case for case, _ in load_cases(kinds)]
    numbers = [
        number
        for number, case in enumerate(cases)
        if (not options.plain or case.plain)
        and (options.op is None or options.op in case.ops)
        and (options.name is None or options.name in case.name)
    ]
    results = []
    for result in run_all(cases, numbers, kinds):
        results.append(result)
        if sys.stderr.isatty():
            print(f"\r{len(results)} of {len(numbers)}", end="", file=sys.stderr)
    report(results, options.per_op, options.errors)
    return int(_passed(results) < options.fail_under)


if __name__ == "__main__":
    sys.exit(main())
