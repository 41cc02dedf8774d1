"""Names with and without a scope in front, as libraries make them that save graphs themselves."""

from __future__ import annotations

import re
from typing import Any

_BEFORE = r"^(\^|loc:@|)"  # a control input, or an operation to be placed with


def strip_name_scope(name: Any, export_scope: str | None) -> Any:
    """Return a name without a scope that it begins with.

    Args:
        name: The name of an operation, a tensor or a control input. Anything else is returned as it is.
        export_scope: The scope; None or "" for none.

    >>> strip_name_scope("net/layer/w:0", "net"), strip_name_scope("^net/w", "net")
    ('layer/w:0', '^w')
    """
    return _renamed(name, f"{re.escape(export_scope.rstrip('/'))}/", "") if export_scope else name


def prepend_name_scope(name: Any, import_scope: str | None) -> Any:
    """Return a name inside of a scope.

    Args:
        name: The name of an operation, a tensor or a control input. Anything else is returned as it is.
        import_scope: The scope; None or "" for none.

    >>> prepend_name_scope("layer/w:0", "net"), prepend_name_scope("^w", "net")
    ('net/layer/w:0', '^net/w')
    """
    return _renamed(name, "", f"{import_scope.rstrip('/')}/") if import_scope else name


def _renamed(name: Any, pattern: str, scope: str) -> Any:
    if not isinstance(name, str | bytes):
        return name
    text = name.decode() if isinstance(name, bytes) else name
    return re.sub(_BEFORE + pattern, lambda found: found[1] + scope, text, count=1)
