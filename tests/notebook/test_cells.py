"""A notebook is run, and its outputs are looked at: rich forms, and errors cut to the user's cell."""

import os
import re

import nbformat
import pytest
from nbclient import NotebookClient

from tests.test_lazy_names import ROOT

pytestmark = pytest.mark.takes_long

CELLS = {
    "tensor": "import numpy as np, staticgraph as sg\nx = sg.placeholder(sg.float32, [None, 3], name='x')\nx",
    "variable": "w = sg.get_variable('w', [3, 2])\nw",
    "graph": "loss = sg.reduce_mean(sg.nn.relu(x @ w))\nsg.get_default_graph()",
    "session": "s = sg.Session()\ns.run(sg.global_variables_initializer())\ns",
    "plan": "s.plan([loss], shapes={x: [2, 3]})",
    "compiles": "s.compiles",
    "profile": "with s.profile() as p:\n    s.run(loss, {x: np.ones((2, 3))})\np",
    "model": "m = sg.keras.Sequential([sg.keras.layers.Dense(3, input_shape=(4,))])\nm",
    "history": "m.compile('sgd', 'mse')\nm.fit(np.ones((8, 4)), np.ones((8, 3)), epochs=3, verbose=0)",
    "progress": "m.fit(np.ones((8, 4)), np.ones((8, 3)), epochs=2);",
    "shapes": "# two lines\nsg.matmul(x, sg.zeros([4, 2]))",
    "feed": "s.run(loss)",
    "again": "sg.get_variable('w', [3, 2])",
    "numpy": "np.sqrt(x)",
    "python": "def f():\n    return 1 / 0\ns.run(sg.py_func(f, [], sg.float32))",
    "theirs": "[].pop()",
}


@pytest.fixture(scope="module")
def outputs():
    cells = [nbformat.v4.new_code_cell(code) for code in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    here = os.environ | {"PYTHONPATH": str(ROOT), "SG_CACHE_DIR": os.environ.get("SG_CACHE_DIR", "")}
    client = NotebookClient(notebook, allow_errors=True, timeout=120, kernel_name="python3")
    client.execute(env=here)
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True))


def html(outputs, name):
    assert outputs[name][-1].output_type != "error", outputs[name][-1]
    return outputs[name][-1]["data"]["text/html"]


def error(outputs, name):
    (found,) = (output for output in outputs[name] if output.output_type == "error")
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(found.traceback))


def test_forms_tell_what_there_is(outputs):
    assert "Tensor x:0" in html(outputs, "tensor") and "Cell In[1], line 2" in html(outputs, "tensor")
    assert "Variable w:0" in html(outputs, "variable")
    assert "<svg" in html(outputs, "graph") and "1 of 6 numbers" in html(outputs, "graph")
    assert "CPU" in html(outputs, "session") and "compiled" in html(outputs, "session")
    plan = html(outputs, "plan")
    assert "matmul" in plan and "<summary>another program is compiled for</summary>" in plan
    assert "first run of these fetches" in html(outputs, "compiles")
    assert "of limit" in html(outputs, "profile") and "matmul" in html(outputs, "profile")
    assert "15" in html(outputs, "model") and "(None, 3)" in html(outputs, "model")
    assert "<svg" in html(outputs, "history") and "after 3 epochs" in html(outputs, "history")


def test_plain_forms_are_one_line(outputs):
    for name in ("session", "plan", "compiles", "model", "history"):
        assert "\n" not in outputs[name][-1]["data"]["text/plain"], name


def test_progress_is_drawn_over_itself(outputs):
    text = "".join(output.get("text", "") for output in outputs["progress"])
    assert text.count("\r") >= 2 and "8/8 [====" in text


def test_errors_show_the_cell_alone(outputs):
    for name, number in (("shapes", 11), ("feed", 12), ("again", 13), ("numpy", 14), ("python", 15)):
        shown = error(outputs, name)
        assert f"Cell In[{number}], line" in shown, shown
        assert "File " not in shown, shown  # no frame of ours
    shapes = error(outputs, "shapes")
    assert "Cell In[11], line 2" in shapes and "Cell In[1], line 2" in shapes
    assert "reset_default_graph()" in error(outputs, "again")
    assert "ZeroDivisionError" in error(outputs, "python")


def test_errors_of_the_program_are_shown_as_ever(outputs):
    assert "IndexError: pop from empty list" in error(outputs, "theirs")
