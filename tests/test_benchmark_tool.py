"""The benchmark measures the right work, our row agrees with NumPy, and the report tells what was found."""

import json
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import benchmark
import numpy as np
import pytest

import staticgraph as sg
from benchmarks import chart, contest, floors, narrow, numpy_row, peers, readme, report, staticgraph_row
from benchmarks.calm import ENOUGH, Watch
from benchmarks.compare import TOLERANCE, difference, summary
from benchmarks.workloads import WORKLOADS, Cost
from staticgraph.applications.cli.machine import cores
from staticgraph.runtime.cpu import jit as cpu_jit
from tools.measure import compare_versions

pytestmark = pytest.mark.takes_long

ROOT = Path(__file__).resolve().parent.parent
OURS, NUMPY = peers.Row(peers.OURS, sys.executable), peers.Row("NumPy", sys.executable)
BOTH = [name for name in WORKLOADS if OURS.does(name) and NUMPY.does(name)]
TRAINED = ["lenet", "transformer", "resnet18"]  # whose gradient NumPy's row does not have


def results(module, name, steps=4):
    """Summaries of the first steps at the size for tests."""
    work = WORKLOADS[name]
    data = work.data(small=True)
    with sg.Graph().as_default():
        step = getattr(module, work.make.__name__)(data)
        return [summary(step()) for _ in range(steps)]


@pytest.mark.parametrize("name", [name for name in BOTH if name not in ("dag_10000", "dag_100000")])
def test_ours_agrees_with_numpy(name):
    assert difference(results(staticgraph_row, name), results(numpy_row, name)) < TOLERANCE


@pytest.mark.parametrize("name", TRAINED)
def test_training_lowers_the_loss_of_a_batch(name):
    steps = results(staticgraph_row, name, 12)
    losses = [step[0][0] for step in steps]
    assert all(map(math.isfinite, losses))
    assert np.mean(losses[8:]) < np.mean(losses[:4])  # the same four batches, in turns


def test_every_row_has_a_function_for_what_it_does():
    for row, module in ((OURS, staticgraph_row), (NUMPY, numpy_row)):
        for name, work in WORKLOADS.items():
            assert row.does(name) == (
                hasattr(module, work.make.__name__) and name not in peers.PEERS[row.name].lacks
            )


def test_costs_are_those_of_the_full_size():
    assert WORKLOADS["mlp"].data().cost.flops == pytest.approx(2.47e9, rel=0.01)
    assert WORKLOADS["resnet50"].data(small=True).cost.flops < 1e9


def test_results_that_differ_are_seen():
    right = [summary((1.0, np.linspace(0, 1, 7)))]
    assert difference(right, right) == 0
    assert difference([summary((1.01, np.linspace(0, 1, 7)))], right) == pytest.approx(0.01)
    assert difference([summary((1.0, np.linspace(0, 1.1, 7)))], right) > 0.05
    assert difference([summary((1.0, np.full(7, np.nan)))], right) == math.inf
    assert difference([summary(1.0)], right) == math.inf
    assert difference([], right) == math.inf


def test_floor_is_the_larger_limit():
    machine = floors.Machine(1e9, 1e6, 1e7, 1e9, 0.1, 0.01)
    assert machine.floor(Cost(1e9, memory=1e5, cache=1e6)) == (1.0, "arithmetic")
    assert machine.floor(Cost(1e6, memory=2e6, cache=1e6)) == (2.0, "memory")


def test_where_we_failed_the_floor_is_that_of_a_peer():
    rows = {peers.OURS: {"failure": "no"}, "JAX": {"median": 1.0, "agrees": True, "floor": 0.5}}
    assert report.floor_of(fabricated(work={"lenet": rows}), "lenet") == 0.5
    assert report.floor_of(fabricated(work={"lenet": {"JAX": {"failure": "no"}}}), "lenet") is None


def test_the_best_of_two_machines_is_the_best_in_everything():
    first, second = floors.Machine(2.0, 1.0, 1.0, 1.0, 0.1, 0.3), floors.Machine(1.0, 2.0, 1.0, 1.0, 0.2, 0.2)
    assert first.best(second) == second.best(first) == floors.Machine(2.0, 2.0, 1.0, 1.0, 0.1, 0.2)


WITHOUT = """
from benchmarks import floors, narrow, staticgraph_row
narrow.ask()
staticgraph_row.setup("", 1)
from staticgraph.runtime.cpu import jit as cpu_jit
print(cpu_jit.host().vector_bytes, floors.compiled()[0])
"""


@pytest.mark.skipif("+avx2" not in cpu_jit.host().features, reason="a processor without AVX2")
def test_all_rows_and_the_floor_can_do_without_avx512():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=ROOT / "tools", capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["32", "8"]
    assert narrow.NOTE in report.markdown(fabricated(notes=[narrow.NOTE]))


def test_the_report_tells_how_it_was_made():
    assert "Made by `python tools/benchmark.py`." in report.markdown(fabricated())
    told = report.markdown(fabricated(threads=1, avx2=True, quick=True))
    assert "`python tools/benchmark.py --quick --avx2 --threads 1`" in told


def fabricated(**change):
    """Results of a run that never was, two peers at two workloads."""
    rows = {
        peers.OURS: {"median": 2e-3, "min": 1e-3, "floor": 1e-3, "difference": 1e-7, "agrees": True},
        "JAX": {"median": 5e-3, "min": 4e-3, "floor": 1e-3, "difference": 0.0, "agrees": True},
        "PyTorch": {"median": 1e-3, "min": 1e-3, "difference": 0.5, "agrees": False},
    }
    return {
        "date": "2026-01-02",
        "machine": {"cpu": "C", "cores": 2, "memory": "8 GiB", "system": "Linux", "python": "3.11"},
        "threads": 2,
        "quick": False,
        "rounds": 7,
        "seconds": 0.4,
        "limits": {},
        "versions": {peers.OURS: "staticgraph 1", "JAX": "jax 2", "PyTorch": "torch 3"},
        "work": {"lenet": rows, "mlp": {peers.OURS: rows["JAX"], "JAX": rows[peers.OURS]}},
    } | change


def line(text, start):
    return next([cell.strip() for cell in row.split("|")] for row in text.splitlines() if start in row)


def test_the_table_compares_with_the_fastest_peer_that_is_right():
    text = report.markdown(fabricated())
    assert line(text, "LeNet")[2:] == ["1 ms", "**2 ms**", "5 ms", "1 ms ≠", "JAX", "0.4", "2", ""]
    assert "LeNet training, batch 64, PyTorch: results differ by 5.0e-01" in text


def test_a_loss_is_shown_as_such():
    assert line(report.markdown(fabricated()), "784-1024")[-3] == "**2.5, slower**"


def test_a_failure_is_told():
    rows = {peers.OURS: {"failure": "not ready after 3 s"}, "JAX": fabricated()["work"]["lenet"]["JAX"]}
    text = report.markdown(fabricated(work={"lenet": rows}))
    assert line(text, "LeNet")[3] == "**failed**"
    assert "staticgraph: not ready after 3 s" in text


def test_the_limits_tell_how_wide_vectors_are():
    limits = {
        "flops": 4.6e11,
        "memory": 1e11,
        "cache": 2e11,
        "sgemm": 2e11,
        "fill_fresh": 0.03,
        "fill_reused": 0.001,
    }
    assert "multiply-adds in registers 460 GFLOP/s" in report.markdown(fabricated(limits=limits))
    wide = fabricated(limits=limits | {"vector_bits": 512})
    assert "multiply-adds in registers of 512 bits 460 GFLOP/s" in report.markdown(wide)


def test_the_floor_does_not_cross_the_name_of_a_faster_row():
    groups = [chart.Group("work", {"ours": 0.8, "theirs": 2.0}, 1.0)]
    picture = ElementTree.fromstring(chart.draw(groups, "ours", "times"))
    svg = "{http://www.w3.org/2000/svg}"
    (name,) = [t for t in picture.iter(f"{svg}text") if t.text.startswith("ours")]
    (floor,) = [x for x in picture.iter(f"{svg}line") if x.get("stroke") == chart.FLOOR]
    assert float(name.get("x")) > float(floor.get("x1"))


def test_the_chart_has_a_bar_for_every_time():
    picture = ElementTree.fromstring(report.chart(fabricated()))
    bars = [
        r
        for r in picture.iter("{http://www.w3.org/2000/svg}rect")
        if r.get("fill") in (chart.OURS, chart.THEIRS)
    ]
    assert len(bars) == 4  # not the one that computes something else
    widths = {float(bar.get("width")) for bar in bars if bar.get("fill") == chart.OURS}
    assert len(widths) == 2


def test_a_contest_times_both_and_says_who_fails():
    kept = np.ones(400 << 17)  # 400 MiB of the parent's, which are not its workers'
    nobody = peers.Row("ONNX Runtime", sys.executable)  # lacks the workload
    rows, silent = [NUMPY, OURS, nobody], lambda text: None
    found = contest.contest(rows, "scalar_callable", 1, 2, 0.001, 60, silent, Watch(1, SLOW))
    assert found[peers.OURS]["median"] >= found[peers.OURS]["min"] > 0
    assert found[peers.OURS]["peak"] < 400
    assert "Error" in found["NumPy"]["failure"]
    assert "Error" in found["ONNX Runtime"]["failure"]
    assert kept.all()


SLOW = floors.Machine(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


@pytest.mark.skipif(cores()[1] == 1, reason="there is one processor")
@pytest.mark.parametrize(("hand_over", "calm"), [(1.0, True), (1e-12, False)])
def test_threads_that_are_moved_apart_are_a_disturbance(hand_over, calm):
    watch = Watch(2, replace(SLOW, hand_over=hand_over))
    assert (watch.share(watch.look()) >= ENOUGH) is calm


def test_a_disturbed_visit_is_made_again(monkeypatch):
    watch, shares = Watch(1, SLOW), iter([1, 1, 0.5, 1, 1, 0.9, 1, 1, 0.9])
    monkeypatch.setattr(watch, "share", lambda now: next(shares))
    visits = iter([[1.0], [2.0], [3.0]])
    assert [watch.calmest(lambda: next(visits)).times for _ in range(2)] == [[2.0], [3.0]]
    assert (watch.visits, watch.again) == (2, 1)
    told = report.legend(fabricated(visits={"made": watch.visits, "again": watch.again}))
    assert "as happened 1 times in 2." in told


def test_the_least_disturbed_of_a_few_visits_counts(monkeypatch):
    watch, shares = Watch(1, SLOW), iter([1, 1, 0.5, 1, 1, 0.6, 1, 1, 0.55])
    monkeypatch.setattr(watch, "share", lambda now: next(shares))
    visits = iter([[1.0], [2.0], [3.0]])
    assert watch.calmest(lambda: next(visits)).times == [2.0]


def test_the_floor_is_that_of_the_machine_around_a_visit(monkeypatch):
    """The better of two looks, as a look can be disturbed where the visit was not; the median of visits."""
    watch = Watch(1, SLOW)
    first = watch.look()
    assert first.flops > 1 and watch.share(first) == 1 and watch.limits.flops == first.flops
    speeds = iter([2.0, 4.0, 4.0, 1.0, 1.0, 1.0])
    monkeypatch.setattr(watch, "look", lambda: replace(SLOW, flops=next(speeds)))
    monkeypatch.setattr(watch, "share", lambda now: 1.0)
    visits = [watch.calmest(lambda: [3.0]) for _ in range(3)]
    assert [visit.limits.flops for visit in visits] == [4.0, 4.0, 1.0]
    row = contest.Worker(OURS, None, None, {}, visits)
    facts = contest.conclude([row], Cost(8.0))[peers.OURS]
    assert facts["median"] == 3.0 and facts["floor"] == 2.0


def test_the_command_writes_its_files(tmp_path):
    command = [sys.executable, ROOT / "tools/benchmark.py", "--quick", "--no-first", "--work", "scalar"]
    command += [
        "--rows",
        "staticgraph,NumPy",
        "--threads",
        "1",
        "--seconds",
        "0.001",
        "--save",
        tmp_path / "out",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert "scalar graph" in done.stdout
    raw = json.loads((tmp_path / "out.json").read_text())
    assert raw["work"]["scalar"][peers.OURS]["agrees"]
    assert (tmp_path / "out.md").read_text().startswith("# staticgraph and its peers, 1 thread\n")
    ElementTree.fromstring((tmp_path / "out.svg").read_text())


def test_a_run_that_is_stopped_keeps_what_it_measured(tmp_path, monkeypatch):
    def measured(rows, name, *_):
        if name == "lenet":
            sys.exit("stopped")
        return {"staticgraph": {**fabricated()["work"]["lenet"]["staticgraph"], "version": "1"}}

    monkeypatch.setattr(benchmark, "contest", measured)
    monkeypatch.setattr(benchmark.floors, "measure", lambda threads: SLOW)
    before = signal.getsignal(signal.SIGINT)
    options = ["--rows", "staticgraph", "--work", "scalar,lenet", "--save", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["benchmark.py", *options])
    with pytest.raises(SystemExit, match="stopped"):
        benchmark.main()
    assert signal.getsignal(signal.SIGINT) is before
    raw = json.loads((tmp_path / "out.json").read_text())
    assert [*raw["work"]] == ["scalar"] and raw["versions"] == {"staticgraph": "1"}
    assert "scalar graph" in (tmp_path / "out.md").read_text()


def test_the_command_wants_a_thread():
    command = [sys.executable, ROOT / "tools/benchmark.py", "--threads", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.endswith("error: --threads: a step needs at least 1\n")


def test_the_section_of_the_readme_shows_wins_and_losses():
    section = readme.section(fabricated())
    assert line(section, "LeNet")[1:] == [
        "LeNet training, batch 64",
        "2 ms",
        "5 ms",
        "JAX",
        "**2.5**",
        "1 ms",
        "",
    ]
    assert line(section, "784-1024")[2:6] == ["5 ms", "2 ms", "JAX", "0.4, slower"]
    assert "ahead of the fastest peer in 1 of 2 kinds of work" in section


def test_filling_the_readme_changes_nothing_else():
    text = f"a\n{readme.BEGIN}old\n{readme.END}b\n"
    assert readme.filled(text, "new\n") == f"a\n{readme.BEGIN}new\n{readme.END}b\n"
    assert readme.shown(readme.filled(text, "new\n")) == "new\n"


def test_the_readme_is_filled_from_a_full_run_only(tmp_path, monkeypatch):
    page, saved = tmp_path / "README.md", tmp_path / "benchmark.json"
    page.write_text(readme.BEGIN + readme.END)
    monkeypatch.setattr(readme, "README", page)
    monkeypatch.setattr(readme, "SAVED", saved)
    with pytest.raises(SystemExit, match="no saved results"):
        readme.update()
    saved.write_text(json.dumps(fabricated(quick=True)))
    with pytest.raises(SystemExit, match="quick run"):
        readme.update()
    saved.write_text(json.dumps(fabricated()))
    readme.update()
    assert readme.shown(page.read_text()) == readme.section(fabricated())


def test_the_readme_shows_the_saved_results():
    results = json.loads(readme.SAVED.read_text()) if readme.SAVED.exists() else None
    text = readme.README.read_text()
    assert text.count(readme.BEGIN) == text.count(readme.END) == 1
    assert readme.shown(text) == (readme.section(results) if results else "")


def test_a_second_run_replaces_its_rows_and_keeps_the_others():
    def run(date: str, *rows: str) -> dict:
        first = [{"row": row, "cache": cache, "when": date} for row in rows for cache in ("cold", "warm")]
        return {
            "date": date,
            "work": {"lenet": {row: {"when": date} for row in rows}},
            "first": {"lenet": first},
            "versions": dict.fromkeys(rows, "1"),
        }

    both = benchmark.joined(run("before", "staticgraph", "JAX"), run("now", "staticgraph"))
    assert both["replaced"] == ["lenet"]
    told = report.legend(fabricated(replaced=both["replaced"]))
    assert "in place of a first result: LeNet training, batch 64." in told
    assert "in place of" not in report.legend(fabricated())
    assert benchmark.joined(run("before", "JAX"), run("now", "staticgraph"))["replaced"] == []
    assert both["date"] == "now" and [*both["versions"]] == ["staticgraph", "JAX"]
    assert both["work"]["lenet"] == {"staticgraph": {"when": "now"}, "JAX": {"when": "before"}}
    told = [(each["row"], each["cache"], each["when"]) for each in both["first"]["lenet"]]
    assert told == [
        ("staticgraph", "cold", "now"),
        ("staticgraph", "warm", "now"),
        ("JAX", "cold", "before"),
        ("JAX", "warm", "before"),
    ]


def test_the_interval_of_a_median_is_that_of_the_tables():
    """As tables of the sign test have it: the 10th and the 21st of 30 samples, the 2nd and the 8th of 9."""
    assert compare_versions.interval(range(1, 31)) == (10, 21)
    assert compare_versions.interval(range(9, 0, -1)) == (2, 8)
    assert compare_versions.interval([1.0]) == (1.0, 1.0)


def test_two_checkouts_are_compared(capfd):
    command = ["compare_versions", str(ROOT), "--work", "scalar", "--pairs", "2", "--seconds", "0.01"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [*command, "--bound", "1e9"])
        assert compare_versions.main() == 0
        assert "scalar" in capfd.readouterr().out
        patch.setattr(sys, "argv", ["compare_versions", str(ROOT / "nowhere")])
        with pytest.raises(SystemExit):
            compare_versions.main()
        assert "no checkout in" in capfd.readouterr().err
