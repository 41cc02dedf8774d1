"""Pages about graphs: everything that the compiler does with one, to be looked at in a browser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.graph.errors import misuse

if TYPE_CHECKING:
    from staticgraph.draw.page.page import Page
    from staticgraph.runtime.profiling.profile import Profile

__all__ = ["show"]


def show(
    what: Any,
    path: str | os.PathLike[str] | None = None,
    feeds: Mapping[Any, Any] | None = None,
    *,
    session: Any = None,
    profile: Profile | Mapping[str, float] | None = None,
    title: str | None = None,
) -> Page:
    """A page about a graph and about what the compiler makes of it, in one HTML file.

    `what`: what one would fetch: a tensor, operation or variable, or a nesting of them in lists and dicts; or
    a model of Keras, a loaded graph, or the path of a file, as `visualize` takes them. Of a whole graph only
    the graph as it was built is shown. `path`: a file to write. A notebook shows the
    returned page; `page.html` is its text. It needs neither a server nor a network.

    The page shows every stage, from the graph as it was built to the kernels that run, and the memory that
    they take. Scopes open and close by a click; there is a search; what one stage has and another has not
    stands out. A click on a kernel tells which operations and lines of your program it computes, its code,
    its operations on floating numbers and bytes, and why its neighbours are not part of it.

    `feeds` gives an array or a shape for fed tensors; sizes that stay unknown are taken as 32. `session`
    tells the shapes of variables that the graph leaves open, and the programs that it compiled for the same
    fetches: the [open sizes](sizes.md) of each, its guards, and the guard that failed before. If it runs on a
    GPU, the kernels are those of a GPU. `profile`: what `session.profile` found for runs of the same with the
    same shapes, or seconds per run by the names of kernels, as `session.plan` lists them; where the time goes
    is then shown by colour.

    Errors: FetchError, FeedError, SaveError, ValueError for a kernel in `profile` that does not exist.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 3], name="x")
    >>> page = sg.show(sg.nn.relu(x * 2.0))
    >>> page
    <Page 'Relu' of 3 stages>
    """
    # Imported when it is needed: a program that shows nothing should not wait for the compiler.
    from staticgraph.draw.page.page import page_of

    return page_of(what, path, feeds or {}, session, _seconds(profile), title)


def _seconds(profile: Profile | Mapping[str, float] | None) -> Mapping[str, float]:
    """Seconds per run by the names of kernels, without what else a profile tells of."""
    if profile is None or isinstance(profile, Mapping):
        return profile or {}
    from staticgraph.runtime.profiling.profile import Profile  # imports the compiler

    if not isinstance(profile, Profile):
        text = f"show: profile is {type(profile).__name__}, not what session.profile() gave, nor a dict"
        raise misuse(TypeError, text)
    step = profile.longest
    return {} if step is None else step.seconds(k for k in step.kernels if k.kernel is not None)
