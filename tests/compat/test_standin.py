"""`python -m staticgraph run`: scripts of TF1, unmodified, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from staticgraph.__main__ import main
from staticgraph.tf1.drop_in.check import check
from staticgraph.tf1.drop_in.finder import standing_in

pytestmark = pytest.mark.takes_long

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPTS = Path(__file__).parent / "scripts"


def staticgraph(*arguments, cwd):
    """Run the command line in a folder, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "staticgraph", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def run_text(text, tmp_path, *arguments):
    (tmp_path / "script.py").write_text(text)
    return staticgraph("run", tmp_path / "script.py", *arguments, cwd=tmp_path)


@pytest.mark.parametrize(
    "script, expected",
    [
        ("linear_regression.py", "slope 2.99 intercept 1.01\n"),
        ("scopes_and_saver.py", "restored ['net/b', 'net/w']\n"),
        (
            "records_and_summaries.py",
            "[b'a cat', b'a dog']\n"
            "29 ['net/weights_1', 'loss', 'accuracy', 'input/image/0', 'input/image/1']\n"
            "accuracy 1.0\n",
        ),
    ],
)
def test_a_script_runs_unmodified(script, expected, tmp_path):
    run = staticgraph("run", SCRIPTS / script, cwd=tmp_path)
    assert (run.stdout, run.stderr, run.returncode) == (expected, "", 0)


def test_flags_data_and_the_exit_status(tmp_path):
    labels = np.arange(40) % 10
    digits = np.zeros((40, 28, 28), np.uint8)
    digits[np.arange(40), 2 * labels] = 255
    np.savez(tmp_path / "mnist.npz", x_train=digits, y_train=labels, x_test=digits, y_test=labels)
    flags = "--data_dir", tmp_path, "--steps=20", "--verbose"
    run = staticgraph("run", SCRIPTS / "digits.py", *flags, cwd=tmp_path)
    assert run.returncode == 3, run.stderr
    assert run.stderr == "INFO:tensorflow:30 examples\n"
    assert float(run.stdout.removeprefix("accuracy ")) > 0.5


def test_a_missing_name_is_one_clear_error_at_its_line(tmp_path):
    run = staticgraph("run", SCRIPTS / "missing_names.py", cwd=tmp_path)
    assert run.returncode == 1 and run.stdout == "before\n"
    assert "tf.nn.relu_seven is not supported yet" in run.stderr
    assert run.stderr.count("  File ") == 1 and 'missing_names.py", line 7' in run.stderr


def test_check_lists_the_missing_names_and_runs_nothing(capsys):
    assert main(["run", "--check", str(SCRIPTS / "missing_names.py")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" is not")[0].split("missing_names.py:")[1] for line in lines] == [
        "7: tf.nn.relu_seven",
        "8: tf.contrib.slim.conv2d_with_magic",
    ]
    assert "nearest: tf.nn.relu" in lines[0]


def test_check_as_json(capsys):
    assert main(["run", "--check", "--json", str(SCRIPTS / "missing_names.py")]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found[0]["line"], found[0]["name"]) == (7, "nn.relu_seven")
    assert "tf.nn.relu" in found[0]["nearest"]


def test_check_of_a_script_that_needs_nothing_more(capsys):
    assert main(["run", "--check", str(SCRIPTS / "digits.py")]) == 0
    assert "every name of TensorFlow is supported" in capsys.readouterr().out


def test_arguments_name_and_path_are_as_python_has_them(tmp_path):
    (tmp_path / "beside.py").write_text("import tensorflow as tf\nanswer = tf.__version__\n")
    run = run_text(
        "import sys, beside\nprint(__name__, sys.argv, beside.answer, __file__ == sys.argv[0])\n",
        tmp_path,
        "--check",
        "x",
    )
    script = str(tmp_path / "script.py")
    assert run.stdout == f"__main__ {[script, '--check', 'x']} 1.15.5 True\n", run.stderr


def test_the_scripts_own_error_shows_its_own_frames(tmp_path):
    run = run_text("def f():\n    return 1 / 0\n\nf()\n", tmp_path)
    assert run.returncode == 1
    assert run.stderr.count("  File ") == 2 and "ZeroDivisionError" in run.stderr


def test_an_error_of_ours_shows_the_scripts_line_and_none_of_our_frames(tmp_path):
    text = "import tensorflow as tf\ntf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))\n"
    run = run_text(text, tmp_path)
    assert run.returncode == 1
    assert run.stderr.count("  File ") == 1 and "script.py:2" in run.stderr


@pytest.mark.parametrize("status", ["0", "4", "'stopped'"])
def test_exit_statuses(tmp_path, status):
    run = run_text(f"import sys\nsys.exit({status})\n", tmp_path)
    assert run.returncode == (1 if status == "'stopped'" else int(status))
    assert run.stderr == ("stopped\n" if status == "'stopped'" else "")


@pytest.mark.parametrize(
    "line", ["import tensorflow.contrib.quantum as q", "from tensorflow.contrib import layers, quantum"]
)
def test_a_module_that_is_not_supported(tmp_path, line):
    run = run_text(line, tmp_path)
    assert run.returncode == 1
    assert "ModuleNotFoundError: tf.contrib.quantum is not supported yet" in run.stderr
    assert "script.py:1" in run.stderr and run.stderr.count("  File ") == 1


def test_an_import_that_a_script_can_do_without(tmp_path):
    text = """
try:
    from tensorflow.contrib import quantum
except ImportError:
    quantum = None
print(quantum)
"""
    run = run_text(text, tmp_path)
    assert (run.stdout, run.stderr, run.returncode) == ("None\n", "", 0)


def test_python_2_is_told_so(tmp_path, capsys):
    (tmp_path / "script.py").write_text("print 'old'\n")
    assert main(["run", "--check", str(tmp_path / "script.py")]) == 1
    assert "script.py:1: not Python 3" in capsys.readouterr().err


def test_a_script_that_is_not_there(capsys):
    assert main(["run", "none.py"]) == 2
    assert capsys.readouterr().err == "none.py: no such file\n"


def names_missing(text, tmp_path):
    (tmp_path / "script.py").write_text(text)
    return [(one.use.line, one.use.name) for one in check(str(tmp_path / "script.py"))]


def test_check_follows_imports_and_assignments(tmp_path):
    text = """
import tensorflow as tf, tensorflow.contrib.slim as slim
from tensorflow.python.ops import array_ops as arrays
from tensorflow.nothing import name as other
import tensorflow.compat.v1 as v1
layers = tf.layers
layers.none1(tf.none2.deeper)
slim.none3, arrays.none4, v1.none5, other.x
tf.nn.relu, arrays.concat, layers.dense, v1.nn.relu
tf.flags.FLAGS.anything, tf.constant(1).none
"""
    assert names_missing(text, tmp_path) == [
        (4, "nothing.name"),
        (7, "layers.none1"),
        (7, "none2.deeper"),
        (8, "compat.v1.none5"),
        (8, "contrib.slim.none3"),
        (8, "nothing.name.x"),
        (8, "python.ops.array_ops.none4"),
    ]


def test_check_does_not_follow_a_name_that_means_two_things(tmp_path):
    text = "import tensorflow as tf\nlayers = tf.layers\ndef f(layers):\n    layers.append(1)\n"
    assert names_missing(text, tmp_path) == []


def test_check_reads_the_modules_beside_the_script(tmp_path):
    (tmp_path / "model.py").write_text("import tensorflow as tf\nimport script\ntf.none1\n")
    (tmp_path / "script.py").write_text("from model import x\n")
    [missing] = check(str(tmp_path / "script.py"))
    assert (Path(missing.use.file).name, missing.use.line, missing.use.name) == ("model.py", 3, "none1")


def test_the_finder_leaves_nothing_behind():
    before = list(sys.meta_path)
    with standing_in():
        import tensorflow as tf
        import tensorflow.contrib.slim as slim
        from tensorflow.python.framework import ops

        assert tf.contrib.slim is slim and ops.reset_default_graph is tf.reset_default_graph
        with pytest.raises(ImportError, match=r"tf\.none is not supported"):
            import tensorflow.none  # noqa: F401
    assert sys.meta_path == before
    assert not [name for name in sys.modules if name.split(".")[0] == "tensorflow"]


def test_keras_is_a_package_of_its_own_too(tmp_path):
    text = """
import keras
import keras.backend as K
import numpy as np
from keras.layers import Dense
from keras.models import Sequential

model = Sequential([Dense(3, input_dim=4)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 4)), np.ones((4, 3)), verbose=0)
print(model.predict(np.ones((2, 4))).shape, K.epsilon(), keras.__name__)
"""
    script = tmp_path / "script.py"
    script.write_text(text)
    assert [*map(str, check(str(script)))] == []
    command = [sys.executable, "-m", "staticgraph", "run", str(script)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.startswith("(2, 3) 1e-07"), done.stderr


def test_a_check_tells_of_names_of_keras_and_of_packages_that_are_not_installed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os, six_of_these\nimport keras\nimport horovod.keras\nkeras.layers.Dens\n")
    (tmp_path / "beside").mkdir()
    told = [*map(str, check(str(script)))]
    assert len(told) == 2 and "tf.keras.layers.Dens is not supported yet; nearest: " in told[0]
    assert told[1].endswith("script.py:1: the package six_of_these is not installed")
