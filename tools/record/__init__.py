"""Recorders of answers that are not ours: each writes data that the tests compare this package with.

They are run from the root of the checkout. Those that ask TensorFlow 1.15 need Python 3.7 and an environment
of its own:

    python3.7 -m venv tf115
    tf115/bin/pip install tensorflow==1.15.5 "protobuf<3.21" "numpy<1.19"
    tf115/bin/python -m tools.record.tf1
"""

import os
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported
warnings.simplefilter("ignore")

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
