"""Strings and regular expressions."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Strings in which each match of `pattern`, or the first only, is replaced by `rewrite`.

    `pattern` is in the syntax of RE2: that of Perl, without looking ahead or back. In `rewrite`, `\1` to
    `\9` are the groups of the match and `\0` is the match. Both may be scalar tensors. Some patterns,
    such as `(a*)*b`, take very long on some texts. While running, InvalidArgumentError for a pattern or
    rewrite that is none.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.regex_replace("key=value", r"(\w+)=(\w+)", r"\2: \1"))
    b'value: key'
    """
    if _is_text(pattern) and _is_text(rewrite):
        pattern, rewrite = _text(pattern), _text(rewrite)
        return ops.static_regex_replace(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return ops.regex_replace(input, pattern, rewrite, replace_global=replace_global, name=name)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return True for each string that `pattern` matches from its beginning to its end.

    Args:
        input: A tensor of strings.
        pattern: A regular expression: a string, or a scalar tensor.
        name: The name of the operation.

    Returns:
        A bool tensor of the shape of `input`.

    Raises:
        InvalidArgumentError: When the graph runs, if `pattern` is not a regular expression.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     sess.run(sg.strings.regex_full_match(["a1", "a"], "[a-z][0-9]")).tolist()
    [True, False]
    """
    if _is_text(pattern):
        return ops.static_regex_full_match(input, pattern=_text(pattern), name=name)
    return ops.regex_full_match(input, pattern, name=name)


def _is_text(value: Any) -> bool:
    return isinstance(value, str | bytes)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="surrogateescape")
