"""Record from TensorFlow 1.15 how many operations its functions make, and what weights scripts begin with.

    python3.7 tools/record_operation_counts.py tests/compat/operation_counts

Run it with a Python that has TensorFlow 1.15.5. It reads `calls.txt` and `scripts.txt` of the folder, and
writes `recorded.json`, which `tests/compat/test_operation_counts.py` compares with this package.
"""

import argparse
import json
import os
import sys


def main() -> None:
    """Run all calls and scripts, and write what they give."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="the folder with calls.txt, scripts.txt and prelude.py")
    folder = parser.parse_args().folder
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import tensorflow as tf

    tf.logging.set_verbosity("ERROR")
    sys.path.insert(0, folder)
    import prelude

    calls, scripts = prelude.read(folder)
    recorded = {
        "tensorflow": tf.__version__,
        "calls": {call: prelude.counted(tf, np, call) for call in calls},
        "scripts": {title: prelude.weights(tf, np, script) for title, script in scripts.items()},
    }
    text = json.dumps(recorded, indent=0, sort_keys=True)
    with open(folder + "/recorded.json", "w") as file:
        file.write(text + "\n")
    print(f"{len(calls)} calls, {len(scripts)} scripts")


if __name__ == "__main__":
    main()
