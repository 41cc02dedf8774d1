"""The fast tier of tests leaves no room out: no folder of tests, and no folder of the product."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import staticgraph as sg
from tests import fast

ROOT = Path(__file__).resolve().parent.parent
FILES = [str(path.relative_to(ROOT / "tests")) for path in sorted((ROOT / "tests").rglob("test_*.py"))]

SCHEDULES = "gpu/test_schedules.py::test_a_printer_leaves_blocks_and_threads_as_they_are"
ATTENTION = "gpu/test_attention.py::test_attention_is_one_function"

# Folders that no file of tests names, because they work for another one: a fast test that goes through each.
REACHED = {
    "staticgraph.compiler.capture.rules": (
        "capture/test_size_arithmetic.py::test_one_program_serves_all_sizes"
    ),
    "staticgraph.compiler.codegen.cuda.attention": ATTENTION,
    "staticgraph.compiler.codegen.cuda.products": SCHEDULES,
    "staticgraph.compiler.codegen.cuda.rows": "gpu/test_rows.py::test_every_combiner_and_dtype",
    "staticgraph.compiler.codegen.cuda.scans": SCHEDULES,
    "staticgraph.compiler.graph.recording": "graph/test_graph.py::test_an_error_leaves_the_graph_as_it_was",
    "staticgraph.compiler.graph.size_algebra": (
        "capture/test_size_arithmetic.py::test_one_program_serves_all_sizes"
    ),
    "staticgraph.compiler.kernel.approximate": "kernel/test_approximate.py::test_errors_are_within_bounds",
    "staticgraph.compiler.kernel.iterative": (
        "ops/test_iterative.py::test_incomplete_gamma_functions_are_exact"
    ),
    "staticgraph.compiler.kernel.schedule_gpu.attention": ATTENTION,
    "staticgraph.compiler.kernel.schedule_gpu.rows": "gpu/test_rows.py::test_every_combiner_and_dtype",
    "staticgraph.compiler.ops.arrays": (
        "ops/test_movement.py::test_partial_shapes_pass_through_shape_arithmetic"
    ),
    "staticgraph.compiler.ops.control": "ops/test_state.py::test_updates_of_one_row_follow_each_other",
    "staticgraph.compiler.ops.derivatives": (
        "ops/test_gradients_of_tf1.py::test_what_has_a_gradient_in_tf1_has_one"
    ),
    "staticgraph.compiler.ops.linear_algebra": "ops/test_matrix_roots.py::test_special_matrices",
    "staticgraph.draw.dot": "viz/test_picture.py::test_the_svg_has_boxes_scopes_and_tooltips",
    "staticgraph.formats.contents": "commands/test_inspect.py::test_the_weights_are_told",
    "staticgraph.formats.onnx.read": "onnx/test_load.py::test_a_model_is_read_from_a_file_and_from_bytes",
    "staticgraph.formats.tf.examples": "api/test_parsing.py::test_numbers_that_are_not_packed",
    "staticgraph.formats.tf.graph_def.read": "graph_def/test_models.py::test_what_tensorflow_wrote_runs_here",
    "staticgraph.formats.tf.graph_def.write": "errors/test_restore_another_name.py::test_message",
    "staticgraph.formats.tf.graph_nodes": "graph_def/test_models.py::test_nodes_that_only_tensorflow_makes",
    "staticgraph.applications.notebook": "notebook/test_cells.py::test_forms_tell_what_there_is",
    "staticgraph.runtime.gpu.disk": "gpu/test_disk_programs.py::test_calls_of_libraries_are_what_they_were",
    "staticgraph.tf1.keras.applications": "keras/test_applications.py::test_images_from_minus_one_to_one",
    "staticgraph.tf1.compat.contrib.framework": (
        "compat/test_contrib_layers.py::test_layers_are_numbered_and_reused_by_scope"
    ),
    "staticgraph.tf1.compat.contrib.metrics": "compat/test_scripts.py::test_prints_what_tensorflow_prints",
    "staticgraph.tf1.compat.contrib.layer_functions": (
        "compat/test_contrib_training.py::test_create_train_op_of_slim"
    ),
    "staticgraph.tf1.compat.contrib.training": (
        "compat/test_contrib_training.py::test_create_train_op_of_slim"
    ),
}


@cache
def read(file: str) -> tuple[list[str], set[str]]:
    """The tests of a file that are not marked slow, and the modules that it needs."""
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return names(tree), set(modules(tree))


def names(tree: ast.Module) -> list[str]:
    """The tests that are not marked slow, as `function` or `Class::function`."""
    if any("mark.slow" in ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)):
        return []
    found = []
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for test in inner:
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                if not any(ast.unparse(mark) == "pytest.mark.slow" for mark in test.decorator_list):
                    found.append(before + test.name)
    return found


def modules(tree: ast.Module) -> Iterator[str]:
    """The modules that a file of tests imports, and those that hold what it names as `sg.something`."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=str(origin), names=aliases):
                yield from (f"{origin}.{alias.name}" for alias in aliases)
            case ast.Attribute():
                yield home(ast.unparse(node))


def fast_tests(file: str) -> list[str]:
    slow = fast.SLOW.get(file, "").split()
    first = [name for name in read(file)[0] if name not in slow][: fast.OF_EACH_FILE]
    return [*first, *fast.ALSO.get(file, "").split()]


def home(dotted: str) -> str:
    """The module that defines `sg.a.b`; nothing for other names."""
    first, *rest = dotted.split(".")
    found = sg if first == "sg" else None
    for name in rest:
        found = getattr(found, name, None)
    return str(getattr(found, "__module__", None) or getattr(found, "__name__", ""))


def folders() -> set[str]:
    """The folders of the product that have more than an `__init__.py`, as packages."""
    homes = {"staticgraph": "", "runtime": "staticgraph.", "compiler": "staticgraph."}
    return {
        before + ".".join(path.parent.relative_to(ROOT).parts)
        for top, before in homes.items()
        for path in (ROOT / top).rglob("*.py")
        if path.name != "__init__.py"
    }


def folder_of(module: str, known: set[str]) -> str:
    while module and module not in known:
        module = module.rpartition(".")[0]
    return module


def test_each_folder_of_tests_has_a_fast_one():
    assert {Path(file).parent for file in FILES if fast_tests(file)} == {Path(file).parent for file in FILES}


def test_the_names_in_the_tables_are_tests():
    named = [(file, name) for file, slow in fast.SLOW.items() for name in slow.split()]
    named += [(file, name) for file, also in fast.ALSO.items() for name in also.split()]
    assert not [(file, name) for file, name in named if name not in read(file)[0]]


def test_each_folder_of_the_product_has_a_fast_test():
    known = folders()
    imported = {folder_of(m, known) for file in FILES if fast_tests(file) for m in read(file)[1]}
    assert known - imported == set(REACHED), "a fast test imports each folder, or REACHED names one"


@pytest.mark.parametrize("folder", REACHED)
def test_the_table_names_fast_tests(folder: str):
    file, _, name = REACHED[folder].partition("::")
    assert name in fast_tests(file)
