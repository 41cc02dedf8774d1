"""Builds the manual as HTML: the pages in docs/, and a reference made of the registry and of docstrings.

    python tools/manual.py                      into build/manual; open build/manual/index.html
    python tools/manual.py --output FOLDER
    python tools/manual.py --jobs 1             by one process: in all less work than with several

It needs Sphinx: `pip install "staticgraph[docs]"`. The pages need neither a server nor a network. A warning,
such as a link that leads nowhere, is an error. The pictures of a page are what its examples write.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the reference shows the samples that the tests use

import staticgraph as sg  # noqa: E402
from pages import sources  # noqa: E402

WEB = Path(__file__).resolve().parent / "pages" / "web"

SETTINGS: dict[str, Any] = {
    "project": "staticgraph",
    "version": sg.__version__,
    "release": sg.__version__,
    "html_title": f"staticgraph {sg.__version__}",
    "extensions": ["myst_parser", "pages.links", "pages.navigation"],
    "source_suffix": {".md": "markdown"},
    "exclude_patterns": ["examples/*.md"],
    "myst_heading_anchors": 3,
    "html_theme": "furo",
    "html_static_path": [str(WEB)],
    "html_css_files": ["manual.css"],
    "html_copy_source": False,
    "html_show_copyright": False,
    "html_show_sphinx": False,
    "html_theme_options": {
        "light_css_variables": {"color-brand-primary": "#175a8c", "color-brand-content": "#175a8c"},
        "dark_css_variables": {"color-brand-primary": "#7fb8e6", "color-brand-content": "#7fb8e6"},
    },
    "pygments_style": "friendly",
    "toc_object_entries_show_parents": "hide",
    "add_module_names": False,
}


def build(output: Path, jobs: int) -> int:
    """Build all pages into a folder by some processes; the number of warnings, each of which is an error."""
    try:
        from sphinx.application import Sphinx
        from sphinx.util.console import color_terminal, nocolor
        from sphinx.util.docutils import docutils_namespace, patch_docutils
    except ImportError:
        sys.exit('the manual is built by Sphinx: pip install "staticgraph[docs]"')
    if not color_terminal():
        nocolor()
    if (output / "objects.inv").exists():  # a manual of before: its pages may have other names now
        shutil.rmtree(output)
    with tempfile.TemporaryDirectory() as folder:
        source, trees = Path(folder) / "source", Path(folder) / "trees"
        source.mkdir()
        frames = sources.write(source)
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                source,
                None,
                output,
                trees,
                "html",
                confoverrides=SETTINGS,
                status=None,
                freshenv=True,
                warningiserror=True,
                parallel=jobs,
            )
            app.build(force_all=True)
        for page in frames:
            shutil.copy(page, output / page.relative_to(source))
        return app.statuscode


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "manual", metavar="FOLDER")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (all cores)"
    )
    options = parser.parse_args()
    status = build(options.output, options.jobs)
    if status == 0:
        print(options.output / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
