"""The page, in one response: its styles and its script are inline, and the script has a hash."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader
from jinja2.utils import htmlsafe_json_dumps

from textsobol.render.page import SCRIPTS, load_environment
from textsobol.render.view import MEASURE_NOTES

_SCRIPTS = (*SCRIPTS, "wire.js", "words.js", "corpus.js", "playground.js")
_STYLES = ("style.css", "playground.css")


@dataclass(frozen=True)
class Page:
    """The page and the policy under which it runs.

    Attributes:
        html: the page; it holds nothing about models or texts, which need the token.
        policy: its content security policy: its own script only, and requests to this server only.
    """

    html: str
    policy: str


@cache
def make_page() -> Page:
    """Make the page; it is the same for everybody."""
    environment = _load_environment()
    script = "".join(_read(environment, name) for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    html = environment.get_template("playground.html.j2").render(
        style="".join(_read(environment, name) for name in _STYLES),
        script=script,
        data=htmlsafe_json_dumps({"measures": MEASURE_NOTES}),
    )
    # Bars and colours set style attributes, as on a saved page.
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        f"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"frame-ancestors 'none'"
    )
    return Page(html, policy)


def _load_environment() -> Environment:
    """The templates of saved pages, and those of this package."""
    packages = ("textsobol.serve", "textsobol.render")
    return load_environment("textsobol.render").overlay(
        loader=ChoiceLoader([PackageLoader(package) for package in packages])
    )


def _read(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]
