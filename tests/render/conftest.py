"""A real browser for the pages: Chromium without a window, and without a network."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = [
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
Look = Callable[..., AbstractContextManager["Page"]]


@pytest.fixture(scope="package")
def browser() -> "Iterator[Browser]":
    playwright_api = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        reason = f"no browser: install Chromium (looked for {', '.join(_NAMES)})"
        if os.environ.get("TEXTSOBOL_BROWSER") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    # Chromium refuses to run as root inside its sandbox, as in most containers.
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    arguments = [*_ARGUMENTS, "--no-sandbox"] if is_root else _ARGUMENTS
    with playwright_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=arguments)
        yield running
        running.close()


@pytest.fixture
def look(browser: "Browser", tmp_path: Path) -> Look:
    """Opens a page; fails if it reports an error, shows a dialog or asks for anything."""

    @contextmanager
    def opened(html: str, **options: Any) -> "Iterator[Page]":
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        context.set_default_timeout(10_000)
        page = context.new_page()
        troubles: list[str] = []
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: troubles.append(f"request: {request.url}"))
        page.goto(path.as_uri())
        try:
            yield page
        finally:
            context.close()
        asked = {trouble for trouble in troubles if trouble != f"request: {path.as_uri()}"}
        assert {trouble for trouble in asked if not trouble.startswith("request: data:")} == set()

    return opened
