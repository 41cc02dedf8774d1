"""Programs in C that use what was compiled ahead, as a person would write them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.files.loaded import LoadedGraph, load
from tests.ahead.digits import draw, lenet
from tests.ahead.native import STRICT, built, cc, needs_compiler, saved

pytestmark = [needs_compiler, pytest.mark.takes_long]
ROUNDS, BATCH = 100, 20


@pytest.fixture(autouse=True)
def known_sizes():
    """Sessions compile for the sizes at hand, as the object was: so that they add in the same order."""
    with sg.options(open_sizes=False):
        yield


# Reads labels and images, trains on all batches but the last one, classifies that one before and after, and
# writes all results as they are in memory.
_TRAIN = """
#include <stdio.h>
#include "net.h"

static net state;
static int32_t labels[NET_TRAIN_LABELS];
static float images[NET_TRAIN_IMAGES], loss[NET_TRAIN_LOSS], probabilities[NET_PREDICT_PROBABILITIES];
static int64_t digit[NET_PREDICT_DIGIT];

static int next(void) {
    return fread(labels, sizeof labels, 1, stdin) == 1 && fread(images, sizeof images, 1, stdin) == 1;
}

int main(void) {
    int more = next();
    if (net_predict(&state, images, digit, probabilities) != NET_NOT_READY) return 2;
    if (net_init(&state)) return 3;
    if (net_predict(&state, 0, digit, probabilities) != NET_NO_POINTER) return 4;
    while (more) {
        if (net_predict(&state, images, digit, probabilities)) return 5;
        fwrite(digit, sizeof digit, 1, stdout);
        fwrite(probabilities, sizeof probabilities, 1, stdout);
        if (net_train(&state, images, labels, loss)) return 6;
        fwrite(loss, sizeof loss, 1, stdout);
        more = next();
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with LeNet for images of 28 by 28."""
    path = tmp_path_factory.mktemp("digits") / "digits.sg"
    with sg.Graph().as_default():
        saved(path, lenet(28))
    return path


def session_results(net: LoadedGraph, batches: list[tuple[np.ndarray, np.ndarray]]) -> tuple[bytes, float]:
    """Return the bytes that the program is to write, and the share of right digits in the last batch."""
    written, right = b"", 0.0
    for images, labels in batches:
        found = net.signatures["predict"](images=images)
        right = float(np.mean(found["digit"] == labels))
        loss = net.signatures["train"](images=images, labels=labels)["loss"]
        written += found["digit"].tobytes() + found["probabilities"].tobytes() + loss.tobytes()
    return written, right


def test_a_program_learns_digits_as_a_session_does(digits: Path, tmp_path: Path, rng: np.random.Generator):
    batches = [draw(rng, BATCH, 28) for _ in range(ROUNDS)]
    (tmp_path / "main.c").write_text(_TRAIN)
    net = load(digits)
    built(net, batch=BATCH).write(tmp_path / "net")
    cc("-std=c99", *STRICT, "main.c", "net.o", "-lm", "-o", "train", cwd=tmp_path)
    given = b"".join(labels.tobytes() + images.tobytes() for images, labels in batches)
    done = subprocess.run([tmp_path / "train"], input=given, capture_output=True, check=True)
    wanted, right = session_results(net, batches)
    assert done.stdout == wanted
    assert right > 0.8  # it has learned something


def test_lenet_is_small_and_needs_no_library(digits: Path, tmp_path: Path):
    made = built(load(digits), batch=BATCH, separate=True)
    made.write(tmp_path / "net")
    assert len(made.object) < 300_000
    assert made.weights is not None and len(made.weights) > 4 * 100_000
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    command = ["nm", "-u", "net.o"]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert set(listed.split()) - {"U"} <= {"memcpy", "memset", "memmove", "fmaf", "fma"}
    command = ["nm", "-g", "--defined-only", "net.o"]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in listed.splitlines()} == {"net_init", "net_predict", "net_train"}


@pytest.mark.parametrize("separate", [False, True], ids=["weights inside", "weights in a file"])
def test_the_example_runs_as_it_is(digits: Path, tmp_path: Path, rng: np.random.Generator, separate: bool):
    net = load(digits)
    made = built(net, batch=1, separate=separate)
    assert {path.name for path in made.write(tmp_path / "net")} >= {"net.o", "net.h", "main.c"}
    assert len((tmp_path / "main.c").read_text().splitlines()) <= 40
    cc("-std=c99", *STRICT, "main.c", "net.o", "-o", "net", cwd=tmp_path)
    image, _ = draw(rng, 1, 28)
    (tmp_path / "images.bin").write_bytes(image.tobytes())
    files = (["net.weights"] if separate else []) + ["images.bin"]
    run = [tmp_path / "net", *files]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = net.signatures["predict"](images=image)
    expected = [f"digit {found['digit'][0]}", *(f"probabilities {p:g}" for p in found["probabilities"][0])]
    assert [line.replace("e+00", "") for line in done.stdout.splitlines()] == expected
    assert subprocess.run([tmp_path / "net"], capture_output=True).returncode == 1


def test_the_example_of_someone_is_not_overwritten(digits: Path, tmp_path: Path):
    (tmp_path / "main.c").write_text("mine")
    written = built(load(digits), batch=1).write(tmp_path / "net")
    assert [path.name for path in written] == ["net.o", "net.h"]
    assert (tmp_path / "main.c").read_text() == "mine"


def test_weights_of_another_graph_are_refused(digits: Path, tmp_path: Path):
    made = built(load(digits), batch=1, separate=True, functions=["predict"])
    made.write(tmp_path / "net")
    assert made.weights is not None
    program = """
    #include <stdio.h>
    #include "net.h"
    static net state;
    static uint64_t file[NET_WEIGHTS / 8];
    int main(void) {
        if (fread(file, sizeof file, 1, stdin) != 1) return 9;
        if (net_init(&state, 0, sizeof file) != NET_NO_POINTER) return 8;
        if (net_init(&state, file, sizeof file - 1) != NET_WRONG_WEIGHTS) return 7;
        return net_init(&state, file, sizeof file);
    }
    """
    (tmp_path / "main.c").write_text(program)
    cc("-std=c99", "main.c", "net.o", "-o", "net", cwd=tmp_path)
    for place, status in ((0, 3), (9, 3), (100, 0)):
        data = bytearray(made.weights)
        data[place] ^= 1
        assert subprocess.run([tmp_path / "net"], input=data).returncode == status


def test_weights_fit_code_for_the_same_variables_only(tmp_path: Path):
    marks = []
    for shape, value in (([8, 2], 1.0), ([8, 2], 2.0), ([2, 8], 1.0)):
        with sg.Graph().as_default():
            x = sg.placeholder(sg.float32, [2, 8], name="x")
            w = sg.Variable(np.full(shape, value, np.float32), name="w")
            net = saved(tmp_path / "w.sg", {"f": sg.Signature({"y": sg.reduce_sum(w) * x})})
            marks.append(built(net, separate=True).interface.mark)
    assert marks[0] == marks[1] != marks[2]


def test_the_header_is_strict_c_and_cpp(tmp_path: Path):
    flag = sg.placeholder(sg.bool, [2], name="class")
    names = [sg.Variable(1.0, name=name) for name in ("int", "a/b", "a.b", "net")]
    half = sg.Variable(np.ones(3), dtype=sg.float16, name="half")
    step = sg.group(*(v.assign(v + 1.0) for v in names), half.assign(half * sg.cast(2.0, sg.float16)))
    outputs = {"*/ int x; /*": sg.cast(flag, sg.float32), "X": names[0], "x": names[1]}
    net = saved(tmp_path / "names.sg", {"new": sg.Signature(outputs), "a b": sg.Signature(step=step)})
    built(net, threads=3, separate=True).write(tmp_path / "net")
    text = (tmp_path / "net.h").read_text()
    assert re.findall(r"int net_\w+", text)[-2:] == ["int net_new_", "int net_a_b"]
    assert "A bool is 0 or 1. A float16 is its 16 bits." in text
    (tmp_path / "use.c").write_text('#include "net.h"\n#include "net.h"\nnet one;\n')
    shutil.copy(tmp_path / "use.c", tmp_path / "use.cpp")
    for version in ("c99", "c11"):
        cc(f"-std={version}", *STRICT, "-c", "use.c", cwd=tmp_path)
        cc(f"-std={version}", *STRICT, "-c", "main.c", cwd=tmp_path)
    if shutil.which("c++") or shutil.which("g++"):
        cc("-std=c++11", *STRICT, "-c", "use.cpp", cwd=tmp_path)


# One state works alone and one with helpers, and two with helpers at the same time.
THREADS = """
#include <pthread.h>
#include <string.h>
#include "wide.h"

static wide alone, helped;
static wide_pool pool;
static float x[WIDE_PREDICT_X], y[WIDE_PREDICT_Y], z[WIDE_PREDICT_Y], again[WIDE_PREDICT_Y];

static void *help(void *number) {
    return wide_pool_help(&pool, (unsigned)(size_t)number) ? number : 0;
}

static void *other(void *state) {
    int i;
    for (i = 0; i < 5; i++) wide_predict((wide *)state, x, again);
    return 0;
}

int main(void) {
    pthread_t threads[WIDE_HELPERS], second;
    size_t i;
    int round;
    for (i = 0; i < WIDE_PREDICT_X; i++) x[i] = (float)(i * 7919 % 1000) / 500 - 1;
    if (wide_pool_open(&pool, WIDE_HELPERS + 1) != WIDE_NO_NUMBER) return 2;
    if (wide_init(&alone) || wide_init(&helped) || wide_pool_open(&pool, WIDE_HELPERS)) return 3;
    if (wide_pool_help(&pool, WIDE_HELPERS) != WIDE_NO_NUMBER) return 4;
    for (i = 0; i < WIDE_HELPERS; i++) pthread_create(&threads[i], 0, help, (void *)i);
    helped.pool = &pool;
    if (wide_predict(&alone, x, y)) return 5;
    alone.pool = &pool;
    pthread_create(&second, 0, other, &alone);
    for (round = 0; round < 5; round++) {
        memset(z, 0, sizeof z);
        if (wide_predict(&helped, x, z) || memcmp(y, z, sizeof y)) return 6;
    }
    pthread_join(second, 0);
    wide_pool_close(&pool);
    for (i = 0; i < WIDE_HELPERS; i++) pthread_join(threads[i], 0);
    return memcmp(y, again, sizeof y) ? 7 : 0;
}
"""


def wide(path: Path, rng: np.random.Generator) -> LoadedGraph:
    """A product that is large enough for helpers."""
    x = sg.placeholder(sg.float32, [400, 500], name="x")
    w = sg.constant(rng.normal(size=(500, 300)).astype(np.float32))
    return saved(path, {"predict": sg.Signature({"y": sg.tanh(sg.matmul(x, w))})})


def test_threads_of_the_program_help(tmp_path: Path, rng: np.random.Generator):
    made = built(wide(tmp_path / "wide.sg", rng), "wide", threads=3)
    (tmp_path / "main.c").write_text(THREADS)
    made.write(tmp_path / "wide")
    cc("-std=c99", "-Wall", "-Wextra", "-pthread", "main.c", "wide.o", "-o", "threads", cwd=tmp_path)
    assert subprocess.run([tmp_path / "threads"]).returncode == 0


def test_a_large_result_may_be_anywhere(tmp_path: Path):
    x = sg.placeholder(sg.float32, [2000, 1600], name="x")
    net = saved(tmp_path / "large.sg", {"predict": sg.Signature({"y": x * 2.0})})
    built(net, "large").write(tmp_path / "large")
    program = """
    #include "large.h"
    static large state;
    static float x[LARGE_PREDICT_X], y[LARGE_PREDICT_Y + 16];
    int main(void) {
        size_t i, shift;
        for (i = 0; i < LARGE_PREDICT_X; i++) x[i] = (float)i;
        if (large_init(&state)) return 2;
        for (shift = 1; shift < 16; shift += 5) {
            if (large_predict(&state, x, y + shift)) return 3;
            for (i = 0; i < LARGE_PREDICT_Y; i++) if (y[i + shift] != 2 * x[i]) return 4;
        }
        return 0;
    }
    """
    (tmp_path / "main.c").write_text(program)
    cc("-O1", "main.c", "large.o", "-o", "large", cwd=tmp_path)
    assert subprocess.run([tmp_path / "large"]).returncode == 0
