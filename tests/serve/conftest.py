"""A real browser for the playground."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.render.conftest import browser  # noqa: F401  (a fixture)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.serve.running import Running

Visit = Callable[..., AbstractContextManager["Page"]]


@pytest.fixture
def visit(browser: "Browser") -> Visit:  # noqa: F811
    """Opens the playground; fails if the page reports an error or asks another server."""

    @contextmanager
    def opened(server: "Running", fragment: str = "", **options: Any) -> "Iterator[Page]":
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        context.set_default_timeout(20_000)
        page = context.new_page()
        troubles: list[str] = []
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: troubles.append(f"request: {request.url}"))
        page.goto(f"{server.address}/{fragment}")
        try:
            yield page
        finally:
            context.close()
        own = (f"request: {server.address}/", "request: data:", f"request: blob:{server.address}/")
        assert [trouble for trouble in troubles if not trouble.startswith(own)] == []

    return opened
