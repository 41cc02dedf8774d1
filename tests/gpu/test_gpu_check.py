"""The tool for machines with a GPU works: its stages, as far as they need none, and what surrounds them."""

import json
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpu_stages import (
    bandwidth,
    build,
    card,
    harvest,
    memory,
    models,
    overhead,
    probe,
    report,
    sanitized,
    suspects,
)
from gpu_stages.ceilings import COPIES, READS, ceilings, copying, reading
from gpu_stages.findings import Finding, Findings, missed, read
from gpu_stages.kernels import named
from gpu_stages.runner import CALLS, ENOUGH, STAGES, Outcome, Stage, run_stages, turns
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS
from staticgraph.runtime.gpu.cuda.driver import Direction

pytestmark = pytest.mark.takes_long

ROOT = Path(__file__).resolve().parents[2]
# What a stage does in these tests: its name says it.
WORKER = """
import json, subprocess, sys, time
from pathlib import Path
stage, device, seconds, folder = sys.argv[1:]
file = Path(folder, stage + ".jsonl").open("a", buffering=1)
def found(**finding):
    file.write(json.dumps({"stage": stage, "name": "a finding", **finding}) + "\\n")
found(ok=stage != "wrong")
Path(folder, stage + ".seconds").write_text(seconds)
print("began on", device)
if stage == "broken":
    sys.exit("this is why")
if stage.startswith("met by"):  # waits for another stage, which runs beside it
    other = Path(folder, stage.removeprefix("met by ") + ".jsonl")
    while not other.exists():
        time.sleep(0.01)
if stage == "endless":
    file.write('{"stage": "endl')
    subprocess.run([sys.executable, "-c", "import time; print('inner', flush=True); time.sleep(1000)"])
"""


def found(setting: Setting) -> list[Finding]:
    return read(setting.folder / "test.jsonl")


def played(
    folder: Path, *stages: Stage, budget: float = 0, cores: int = 1
) -> tuple[list[Outcome], list[tuple[str, int]]]:
    """The outcomes of stages of ours, and which was told when, with how many there were by then."""
    budget = budget or 3 + sum(stage.seconds for stage in stages)
    (folder / "worker.py").write_text(WORKER)
    told: list[tuple[str, int]] = []

    def tell(outcomes: list[Outcome], newest: Outcome) -> None:
        told.append((newest.stage, len(outcomes)))

    command = (sys.executable, str(folder / "worker.py"))
    return run_stages(stages, "standin", budget, folder, tell, command, cores), told


def test_a_stage_that_fails_is_told_and_the_next_one_runs(tmp_path):
    stages = [Stage(name, 100, "") for name in ("broken", "wrong", "fine")]
    outcomes, told = played(tmp_path, *stages)
    assert [(o.stage, o.how) for o in outcomes] == [
        ("broken", "failed"),
        ("wrong", "failed"),
        ("fine", "done"),
    ]
    assert told == [("broken", 1), ("wrong", 2), ("fine", 3)]
    assert outcomes[0].said.splitlines() == ["began on standin", "this is why"]
    assert [f.ok for o in outcomes for f in o.findings] == [True, False, True]


def test_a_stage_that_hangs_is_ended_with_what_it_started_and_keeps_what_it_found(tmp_path):
    outcomes, _ = played(tmp_path, Stage("endless", 4, ""), Stage("fine", 100, ""))
    assert [o.how for o in outcomes] == ["stopped", "done"]
    assert outcomes[0].findings == (Finding("endless", "a finding", ok=True),)


def test_who_ends_the_whole_keeps_what_was_found(tmp_path):
    """As a machine does that is taken away, or Ctrl-C."""
    (tmp_path / "worker.py").write_text(WORKER)
    told: list[Outcome] = []

    def tell(outcomes: list[Outcome], newest: Outcome) -> None:
        told.append(newest)
        if newest.stage == "met by endless":
            raise KeyboardInterrupt

    stages = [Stage(name, 100, "", alone=False) for name in ("met by endless", "endless")]
    command = (sys.executable, str(tmp_path / "worker.py"))
    with pytest.raises(KeyboardInterrupt):
        run_stages(stages, "standin", 300, tmp_path, tell, command, cores=ENOUGH)
    assert [(outcome.stage, outcome.how) for outcome in told] == [
        ("met by endless", "done"),
        ("endless", "stopped"),
    ]
    assert told[1].findings == (Finding("endless", "a finding", ok=True),)


def test_what_a_stage_leaves_of_its_time_is_for_later_ones(tmp_path):
    played(tmp_path, *(Stage(name, 10, "") for name in ("fine", "wrong")), budget=40)
    first, second = (float((tmp_path / f"{name}.seconds").read_text()) for name in ("fine", "wrong"))
    assert 16 < first < 20 and 30 < second < 38


def test_a_stage_for_which_no_time_is_left_is_left_out(tmp_path):
    outcomes, _ = played(tmp_path, Stage("fine", 100, ""), budget=1)
    assert [(o.how, o.said) for o in outcomes] == [("left out", "no time was left")]


def test_with_cores_enough_stages_that_take_no_times_run_side_by_side(tmp_path):
    stages = [
        Stage("probe", 100, ""),
        Stage("timing", 100, ""),
        Stage("met by checking", 100, "", alone=False),
        Stage("checking", 100, "", alone=False),
        Stage("looking", 100, "", alone=False, after="checking"),
    ]
    outcomes, told = played(tmp_path, *stages, budget=60, cores=ENOUGH)
    assert [outcome.stage for outcome in outcomes] == [stage.name for stage in stages]
    assert {outcome.how for outcome in outcomes} == {"done"}
    order = [name for name, _ in told]
    assert order[:2] == ["probe", "timing"]
    assert order.index("checking") < order.index("looking")
    assert [count for _, count in told] == [1, 2, 3, 4, 5]


def test_on_a_small_machine_stages_run_in_order():
    assert turns(STAGES, ENOUGH - 1) == [[[stage]] for stage in STAGES]


def test_stages_that_share_the_machine_take_no_times():
    order = [[[stage.name for stage in chain] for chain in turn] for turn in turns(STAGES, ENOUGH)]
    assert order[:2] == [[["probe"]], [["nets"]]]
    assert [turn for turn in order if len(turn) > 1] == [
        [["kernels"], ["models", "suspects"]],
        [["memory"], ["harvest"], ["golden"]],
    ]
    assert sorted(name for turn in order for chain in turn for name in chain) == sorted(
        stage.name for stage in STAGES
    )


def test_a_stage_that_hangs_beside_others_does_not_hold_them_up(tmp_path):
    stages = [Stage(name, seconds, "", alone=False) for name, seconds in (("endless", 3), ("fine", 100))]
    outcomes, told = played(tmp_path, *stages, budget=60, cores=ENOUGH)
    assert [outcome.how for outcome in outcomes] == ["stopped", "done"]
    assert told[0] == ("fine", 1)


LENT, COMMAND, START = 900, 600, 180  # seconds: of a machine, of one of its commands, and until it is there


def test_the_stages_fit_into_one_lending_of_a_machine():
    assert {stage.call for stage in STAGES} == {*CALLS}
    for call, seconds in CALLS.items():
        stages = [stage for stage in STAGES if stage.call == call]
        chains = (max(sum(s.seconds for s in chain) for chain in turn) for turn in turns(stages, ENOUGH))
        assert sum(chains) <= seconds <= COMMAND - 30
    assert START + sum(CALLS.values()) <= LENT
    assert [stage.call for stage in STAGES] == sorted(stage.call for stage in STAGES)
    for stage in STAGES:
        assert (ROOT / "tools" / "gpu_stages" / f"{stage.name}.py").exists()


def test_few_files_hold_all_that_was_found_and_made(tmp_path):
    """A machine that is lent gives eight of them back."""
    made, folder = tmp_path / "made", tmp_path / "out"
    made.mkdir(), folder.mkdir()
    for number in range(20):
        (made / f"stage{number}.log").write_text("said")
    (made / "large.bin").write_bytes(bytes(report._LARGEST + 1))
    for _ in range(2):
        report.write([Outcome("probe", "done", 1.5)], "gpu:0", folder)
        report.pack(made, folder)
    assert sorted(path.name for path in folder.iterdir()) == ["details.tar.gz", "report.md", "results.json"]
    with tarfile.open(folder / "details.tar.gz") as archive:
        assert len(archive.getnames()) == 20 and "large.bin" not in archive.getnames()


def test_a_call_keeps_what_another_one_has_found_on_the_device(tmp_path):
    first = [Outcome("probe", "done", 1.5, (Finding("probe", "copies", value=4.0, unit="TB/s"),))]
    report.write(first, "gpu:0", tmp_path)
    second = [
        Outcome("kernels", "failed", 2.0, (Finding("kernels", "exp", ok=False, text="wrong"),), "at last")
    ]
    before = report.read(tmp_path, "gpu:0", without={"kernels"})
    assert report.joined(before, second) == [*first, *second] == report.joined(second, before)
    report.write(report.joined(before, second), "gpu:0", tmp_path)
    assert report.read(tmp_path, "gpu:0", without={"probe"}) == second
    assert report.read(tmp_path, "standin", without=set()) == []
    assert report.read(tmp_path / "nothing", "gpu:0", without=set()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.md", "results.json"]


def test_the_sample_for_sanitizers_is_of_all_parts_of_the_registry():
    pairs = sanitized.sample()
    assert len({named(pair) for pair in pairs}) == len(pairs) == 200
    assert len({name for name, _ in pairs}) > 100 and pairs == sanitized.sample()


def test_numbers_miss_their_targets():
    assert missed(Finding("s", "share", value=80, target=92))
    assert not missed(Finding("s", "share", value=92, target=92))
    assert missed(Finding("s", "time", value=16, target=15, most=True))
    assert not missed(Finding("s", "time", value=16))


def test_the_report(tmp_path):
    outcomes = [
        Outcome(
            "probe", "done", 12.3, (Finding("probe", "card", text="H200"), Finding("probe", "x", ok=True))
        ),
        Outcome(
            "bandwidth",
            "failed",
            50,
            (
                Finding("bandwidth", "Adam", value=85.123, unit="%", target=92.0),
                Finding("bandwidth", "softmax", ok=False, text="ValueError: no | such"),
            ),
            "the last line",
        ),
        Outcome("peers", "left out", 0, said="no time was left"),
    ]
    report.write(outcomes, "gpu:0", tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["device"] == "gpu:0"
    assert results["stages"][1]["findings"][0]["value"] == 85.123
    lines = (tmp_path / "report.md").read_text().splitlines()
    assert "- card: H200" in lines
    assert "| probe | done | 12 | 1 of 1 checks hold | versions, copies, ceilings of the card, products," in (
        "\n".join(lines)
    )
    assert "| Adam | 85.12 % | at least 92 % **missed** |  |" in lines
    assert "- bandwidth: softmax: ValueError: no | such" in lines
    assert "the last line" in lines
    assert report.line(outcomes[2]).endswith("no time was left")


def test_an_error_is_a_finding_and_the_stage_goes_on(tmp_path):
    findings = Findings("s", tmp_path / "f")
    with findings.trying("a part"):
        raise ValueError("first line\n\nsecond line")
    findings.measured("a number", np.float32(2), "us")
    assert read(tmp_path / "f") == [
        Finding("s", "a part", ok=False, text="ValueError: first line second line"),
        Finding("s", "a number", value=2.0, unit="us"),
    ]


def test_what_does_not_fit_into_the_time_is_noted(tmp_path):
    setting = Setting("gpu:0", 10, tmp_path, Findings("s", tmp_path / "f"), time.monotonic())
    assert setting.within("short", 5) and not setting.within("long", 20)
    (note,) = read(tmp_path / "f")
    assert note.name == "long" and note.text.startswith("left out: ")


def test_the_command_tries_a_stage_without_a_card(tmp_path, host):
    command = [sys.executable, "tools/gpu_check.py", "--standin", "--only", "probe", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (stage,) = json.loads((tmp_path / "results.json").read_text())["stages"]
    assert stage["how"] == "done"
    names = {finding["name"] for finding in stage["findings"] if finding["ok"]}
    assert {"a captured step is replayed on new feeds", "a product of bfloat16, a transposed"} <= names
    assert "| probe | done |" in (tmp_path / "report.md").read_text()


def test_the_command_knows_its_stages(tmp_path):
    command = [sys.executable, "tools/gpu_check.py", "--only", "probe,speed", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "no such stage: speed; there are probe, nets" in done.stderr


def test_training_steps_are_compared_with_the_processor(setting, monkeypatch):
    monkeypatch.setattr(models, "STEPS", {"small_mlp": STEPS["small_mlp"]})
    models.run(setting)
    checks = {finding.name: finding.ok for finding in found(setting) if finding.ok is not None}
    assert checks == {
        "small_mlp": True,
        "two sessions do not disturb each other": True,
        "feeds of other shapes": True,
    }


def test_losses_that_differ_are_seen(setting, monkeypatch):
    answers = iter([np.full(20, 1.01), np.ones(20), np.full(20, 1.00001)])
    monkeypatch.setattr(models, "_losses", lambda step, data, device: next(answers))
    models._alike(setting, "small_mlp")
    assert [finding.ok for finding in found(setting)] == [None, False]


def test_the_kernels_of_a_step_that_differs_are_looked_at(setting):
    suspects.run(setting)
    Findings("models", setting.folder / "models.jsonl").check("small_mlp", False)
    suspects.run(setting)
    nothing, looked = found(setting)
    assert nothing.text == "none" and looked.name == "small_mlp" and looked.ok is True
    assert "kernels and the whole program do what NumPy does" in looked.text


def test_steps_are_compiled_and_loaded_from_their_image(setting, monkeypatch):
    monkeypatch.setattr(build, "STEPS", {"small_mlp": STEPS["small_mlp"]})
    build.run(setting)
    first, loaded = found(setting)
    assert first.unit == "s" and int(first.text.split()[0]) > 2
    assert loaded.unit == "ms" and (setting.folder / "small_mlp_sm_90.cubin").exists()


@pytest.mark.takes_long
@pytest.mark.parametrize("case", bandwidth.CASES, ids=lambda case: case.name)
def test_cases_of_bandwidth_run(setting, case):
    assert bandwidth._seconds(setting, case, 8, 16) > 0


def test_the_cost_of_runs_is_measured(setting):
    overhead.run(setting)
    names = [finding.name for finding in found(setting)]
    assert "a step of the small net, loss fetched" in names
    assert all(finding.value > 0 for finding in found(setting))


def test_ceilings_are_those_of_the_best_way(one_driver):
    copied, read = ceilings(one_driver, 1 << 12)
    assert "cudaMemcpyAsync" in copied.rates and len(copied.rates) == len(read.rates) + 1 == 5
    for ceiling in (copied, read):
        assert min(ceiling.rates.values()) > 0
        best = next(name for name, rate in ceiling.rates.items() if rate == ceiling.best)
        assert ceiling.text.startswith(f"by {best} ")


@pytest.mark.parametrize("form", sorted({*COPIES, *READS}, key=str), ids=lambda form: form.text)
def test_what_measures_a_ceiling_moves_all_of_it(one_driver, form):
    count = 4 * 3001
    copy, read = one_driver.load([make(one_driver, form, count) for make in (copying, reading)])
    x, y = (one_driver.allocate(4 * count) for _ in range(2))
    sent = np.arange(count, dtype=np.float32)
    one_driver.copy(x, sent.ctypes.data, sent.nbytes, Direction.TO_DEVICE)
    copy((x, y))
    back = np.empty_like(sent)
    one_driver.copy(back.ctypes.data, y, back.nbytes, Direction.FROM_DEVICE)
    assert np.array_equal(back, sent)
    read((x, y))
    one_driver.synchronize()


def test_parts_of_the_probe_are_all_tried(setting, monkeypatch):
    monkeypatch.setattr(probe, "_copies", lambda setting, driver: 1 / 0)
    for slow in ("_products", "_replays", "_rates"):
        monkeypatch.setattr(probe, slow, lambda setting, driver: None)
    probe.run(setting)
    results = {finding.name: finding for finding in found(setting)}
    assert results["copies"].text == "ZeroDivisionError: division by zero"
    assert "ceiling of reads" in results


SANITIZER = """#!/bin/sh
[ "$1 $3 $4 $5" = "--tool --error-exitcode 9 --log-file" ] || exit 7
echo "========= ERROR SUMMARY: $2 found 2 errors" > "$6"
[ "$8 $9" = "-m gpu_stages.sanitized" ] && echo "small_mlp done" && exit $ENDS
"""


@pytest.mark.parametrize(("ends", "ok"), [("0", True), ("9", False)])
def test_a_sanitizer_watches_steps(setting, monkeypatch, tmp_path, ends, ok):
    program = tmp_path / "bin" / "compute-sanitizer"
    program.parent.mkdir()
    program.write_text(SANITIZER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("ENDS", ends)
    memory.run(setting)
    told = sorted((f.name, f.ok, f.text) for f in found(setting))
    assert told == [
        (kind, ok, f"1 steps; ERROR SUMMARY: {kind} found 2 errors")
        for kind in ("initcheck", "memcheck", "racecheck")
    ]


def test_steps_run_for_a_sanitizer(setting, monkeypatch, capsys):
    monkeypatch.setattr(sanitized, "STEPS", {"small_mlp": STEPS["small_mlp"]})
    monkeypatch.setattr(sys, "argv", ["sanitized", "standin"])
    pairs = [("exp", {"T": "float32"}), ("no such op", {}), ("cumsum", {"T": "float32"})]
    monkeypatch.setattr(sanitized, "sample", lambda: pairs)
    monkeypatch.setattr(sanitized, "TOGETHER", 1)
    sanitized.main()
    assert capsys.readouterr().out.splitlines() == [
        "small_mlp done",
        "exp-float32 done",
        "no such op: KeyError('no such op')",
        "cumsum-float32 done",
    ]


def test_facts_about_the_card_are_kept(setting, monkeypatch, tmp_path):
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho " + ", ".join(f"value{n}" for n in range(len(harvest.FIELDS))) + "\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(card, "captured", lambda driver, *asking: SimpleNamespace(text=lambda: "label=1"))
    harvest.run(setting)
    facts = {finding.name: finding.text for finding in found(setting)}
    assert facts["nvidia-smi"].startswith("name value0, driver_version value1")
    assert (tmp_path / "graph.dot").read_text() == "label=1" and "1 labels" in facts["graph"]
