"""Well-formed files that lie are refused or run within their own memory.

Some hundred files here; `tools/fuzz/ops.py` goes on from there, over all ops, formats and changes.
"""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.fuzz_readers import graphs, hostile

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "fuzz" / "ops.py"


class Always(Random):
    """Leaves the sizes of feeds as they are in the samples."""

    def random(self) -> float:
        return 1.0


@pytest.mark.parametrize("format", [f for f in hostile.FORMATS if f != "checkpoint"])  # whose values lie
def test_good_files_are_taken_and_run(format: str, tmp_path: Path):
    taken = [
        hostile.seed(name, format, 0, format != "onnx") for name in ("multiply", "max_pool", "gather", "pad")
    ]
    for seed in filter(None, taken):
        assert seed.load(seed.message, tmp_path)(Always())
    assert any(taken)


def test_the_same_number_is_the_same_file():
    one, other = (hostile.draw(7) for _ in range(2))
    assert (one.op, one.format, one.message) == (other.op, other.format, other.message)


def test_numbers_count_ops_and_formats_evenly():
    assert len(set(hostile.kinds())) == len(hostile.kinds()) == len(graphs.subjects()) * len(hostile.FORMATS)
    assert len(graphs.subjects()) > 340


@pytest.mark.takes_long
@pytest.mark.parametrize("name", graphs.UNSAMPLED)
def test_ops_without_samples_have_files(name: str, tmp_path: Path):
    seed = hostile.seed(name, "sg", 0, False)
    assert seed is not None and seed.load(seed.message, tmp_path)(Always())


@pytest.mark.takes_long
def test_some_files_between_guarded_pages(tmp_path: Path):
    command = [sys.executable, str(TOOL), "--loads", "150", "--every", "6", "--stride", "41"]
    run = subprocess.run([*command, "--record", str(tmp_path / "record")], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4000:]
    assert "fault" not in run.stdout, run.stdout
