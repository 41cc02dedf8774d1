"""Suggestion for a misspelled name: the known name that the user may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`: the same without its scopes, or spelled nearly so."""
    import difflib  # only for mistakes

    listed = list(known)
    last = name.rpartition("/")[2]
    same = [k for k in listed if k.rpartition("/")[2] == last]
    close = difflib.get_close_matches(name, same or listed, n=1, cutoff=0.0 if same else 0.6)
    return close[0] if close else None
