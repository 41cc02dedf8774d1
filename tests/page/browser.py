"""Chromium for tests, driven by ChromeDriver (Debian's packages chromium and chromium-driver)."""

import os
import shutil
import time
from contextlib import contextmanager

import pytest
from selenium import webdriver

OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --force-device-scale-factor=1"
)


@contextmanager
def chromium_browser(profile, saved):
    """A browser that saves to a folder. Where `SG_BROWSER` is "required", as in CI, its absence fails."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (browser and driver):
        assert os.environ.get("SG_BROWSER") != "required", "install chromium and chromium-driver"
        pytest.skip("no browser: apt install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for option in (*OPTIONS.split(), f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.add_experimental_option("prefs", {"download.default_directory": str(saved)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as made:
        yield made


def until(holds):
    """Wait until something holds, at most a minute."""
    end = time.monotonic() + 60
    while not (found := holds()):
        assert time.monotonic() < end
    return found
