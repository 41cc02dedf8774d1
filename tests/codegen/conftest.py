"""Tests of the code generator compile afresh: nothing comes from, or goes into, the user's cache on disk."""

import pytest


@pytest.fixture(autouse=True)
def _no_cache_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SG_CACHE_DIR", "")
