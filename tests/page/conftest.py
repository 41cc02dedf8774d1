"""The browser of the tests of pages."""

import pytest

from tests.page.browser import chromium_browser


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """A browser, and the folder to which it saves."""
    folder = tmp_path_factory.mktemp("saved")
    with chromium_browser(tmp_path_factory.mktemp("profile"), folder) as browser:
        yield browser, folder
