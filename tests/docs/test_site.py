"""The site builds without a warning, needs no other server, and can be read by everyone."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.docs.test_links import PAGES, read_prose
from textsobol import errors
from textsobol.schemas import TextFile

pytest.importorskip("axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent.parent


def read_text(page: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_the_site_has_what_is_made_while_it_is_built(site: Path) -> None:
    assert len(list((site / "gallery/pages").glob("*.html"))) == 10
    assert len(list((site / "figures").glob("*.svg"))) == 15
    assert "textsobol corpus" in read_text(site / "reference/command-line/index.html")
    assert "probability that a feature is present" in read_text(
        site / "reference/methods/index.html"
    )
    assert (site / "schema/explanation.json").exists()
    assert not list(site.rglob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_the_published_site_lead_somewhere(page: Path, site: Path) -> None:
    address = re.escape("https://textsobol.github.io/textsobol/")
    for name in re.findall(rf"\]\({address}([^)\s#]*)", read_prose(page)):
        assert (site / name).exists(), name


def test_every_error_and_every_field_is_described(site: Path) -> None:
    described = read_text(site / "reference/errors/index.html")
    assert [name for name in errors.__all__ if name not in described] == []
    pages = ("files", "explanations")
    described = " ".join(read_text(site / f"reference/{page}/index.html") for page in pages)
    schema = TextFile.model_json_schema(by_alias=True)
    kinds = [schema, *(kind for name, kind in schema["$defs"].items() if name != "Settings")]
    named = {name for kind in kinds for name in kind["properties"]}
    assert [name for name in sorted(named) if name not in described] == []


def test_pages_ask_no_other_server(site: Path) -> None:
    asked = [
        (page.name, found)
        for page in [*site.rglob("*.html"), *site.rglob("*.css")]
        for found in re.findall(
            r"(?:src=|@import |url\()[\"']?(https?://[^\s\"')]+)",
            page.read_text(encoding="utf-8"),
        )
    ]
    assert asked == []


@contextmanager
def opened(browser: "Browser", address: str, **options: Any) -> "Iterator[Page]":
    """A page of the site; fails if it reports an error or asks another server."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("requestfailed", lambda request: troubles.append(f"failed: {request.url}"))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("http://127.0.0.1", "data:"))
            else troubles.append(request.url)
        ),
    )
    page.goto(address, wait_until="networkidle")
    try:
        yield page
    finally:
        context.close()
    assert troubles == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "place",
    [
        "", "tutorial/", "how-to/", "how-to/language-models/", "understand/intervals/",
        "reference/texts/", "reference/command-line/", "reference/errors/", "results/",
        "results/league/", "gallery/",
    ],
)  # fmt: skip
def test_axe_finds_nothing(browser: "Browser", address: str, place: str, scheme: Any) -> None:
    with opened(browser, address + place, color_scheme=scheme) as page:
        found = Axe().run(page)
    assert [(each["id"], each["nodes"][0]["html"]) for each in found.response["violations"]] == []


def test_the_gallery_shows_live_pages(browser: "Browser", address: str) -> None:
    with opened(browser, address + "gallery/") as page:
        frame = page.frame_locator("iframe").first
        frame.locator(".w", has_text="wasted").first.hover()
        assert "+0.4" in frame.locator("#details").inner_text()
