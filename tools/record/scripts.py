"""Records what the scripts of `tests/compat/scripts` print with TensorFlow 1.15, for their tests.

    tf115/bin/python -m tools.record.scripts                    all
    tf115/bin/python -m tools.record.scripts kmeans char_rnn    only these

Each runs in a process and an empty folder of its own. One that fails is named and keeps its old recording.
"""

import argparse
import json
import subprocess
import sys
import tempfile

from tools.record import TESTS

SCRIPTS = TESTS / "compat" / "scripts"
OUTPUTS = TESTS / "compat" / "outputs.json"
# They need arguments, names that TensorFlow lacks, or other files: they have tests of their own.
LEFT_OUT = {"digits", "linear_regression", "missing_names", "records_and_summaries", "scopes_and_saver"}


def scripts() -> "list[str]":
    """The names of all that are recorded."""
    names = {path.stem for path in SCRIPTS.glob("*.py")}
    return sorted(names - LEFT_OUT)


def output(name: str) -> "list[str]":
    """The lines that a script prints. CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(SCRIPTS / (name + ".py"))]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def main() -> int:
    """The command line; the exit status is 1 where a script failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="script", help="of %s" % ", ".join(scripts()))
    names = parser.parse_args().names or scripts()
    if set(names) - set(scripts()):
        parser.error("no such script: %s" % ", ".join(sorted(set(names) - set(scripts()))))
    recorded, failed = json.loads(OUTPUTS.read_text()) if OUTPUTS.exists() else {}, []
    for name in names:
        try:
            recorded[name] = output(name)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            print("%s: %s" % (name, error.stderr.decode().splitlines()[-1]))
    kept = {name: recorded[name] for name in scripts() if name in recorded}
    OUTPUTS.write_text(json.dumps(kept, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
