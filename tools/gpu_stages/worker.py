"""One stage in this process.

python -m gpu_stages.worker STAGE DEVICE SECONDS FOLDER
"""

from __future__ import annotations

import faulthandler
import importlib
import sys
import time
from pathlib import Path

from gpu_stages.findings import Findings


def main() -> None:
    """Run the stage; its findings go to FOLDER/STAGE.jsonl."""
    stage, device, seconds, folder = sys.argv[1], sys.argv[2], float(sys.argv[3]), Path(sys.argv[4])
    findings = Findings(stage, folder / f"{stage}.jsonl")
    began = time.monotonic()
    faulthandler.dump_traceback_later(seconds + min(1.0, seconds / 20))  # where a stage hangs
    with findings.trying("the stage as a whole"):
        from gpu_stages.setting import Setting  # imports what may fail

        run = importlib.import_module(f"gpu_stages.{stage}").run
        run(Setting(device, seconds, folder, findings, began))


if __name__ == "__main__":
    main()
