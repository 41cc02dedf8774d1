"""Which random programs TensorFlow 1.15.5 was asked about, and what it answered."""

import hashlib
from pathlib import Path

PROGRAMS = 500  # the seeds from 0
SIZE = 6  # statements, about
FOLDER, NAME = Path(__file__).parent, "tf1"


def fingerprint(program):
    """Return a digest that tells this program from others."""
    return hashlib.sha256(program.script().encode()).hexdigest()[:16]
