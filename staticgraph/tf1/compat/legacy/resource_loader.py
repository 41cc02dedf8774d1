"""`tf.resource_loader`: files that lie beside the file of the caller."""

from __future__ import annotations

import sys
from pathlib import Path


def _folder_of_caller() -> Path:
    return Path(sys._getframe(2).f_code.co_filename).parent


def load_resource(path: str) -> bytes:
    """Return the contents of a file beside that of the caller. OSError if it is not there."""
    return (_folder_of_caller() / path).read_bytes()


def get_data_files_path() -> str:
    """Return the folder of the caller's file."""
    return str(_folder_of_caller())


def get_root_dir_with_all_resources() -> str:
    """Return the folder of the caller's file."""
    return str(_folder_of_caller())


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file beside that of the caller."""
    return str(_folder_of_caller() / path)


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return the path: nothing is read ahead."""
    return path
