"""Versions of packages that are installed, found without importing them."""

from __future__ import annotations

import importlib.metadata


def version(package: str) -> str | None:
    """The version of a package; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
