"""What `mkdocs build` adds to the files in docs: results, figures, gallery and command line.

All of it is made from the repository while the site is built, so that nothing can go stale.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

_ROOT = Path(__file__).parent.parent
RESULTS = {
    f"results/{path.parent.name if path.name == 'RESULTS.md' else path.stem.lower()}.md": path
    for path in sorted((_ROOT / "benchmarks").glob("*/*.md"))
    if path.name in ("RESULTS.md", "LEAGUE.md")
}
ADDRESS = "https://textsobol.github.io/textsobol/"
"""Of the site. Links to what is made while it is built begin with it, to work on GitHub, too."""
ELSEWHERE = {
    "results.md": _ROOT / "benchmarks/RESULTS.md",  # sums them up
    **RESULTS,
    "reference/changelog.md": _ROOT / "CHANGELOG.md",
}
"""Pages of the site that are files elsewhere in the repository."""

_LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?(\))")
_ON_SITE = re.compile(rf"(\]\(){re.escape(ADDRESS)}([^)\s#]*)(#[^)\s]*)?(\))")
_FIGURE = re.compile(r"!\[(.+?)\]\(((?:\.\./)*figures/\w[\w-]*)\.svg\)")
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List all results in the navigation, below the page that sums them up."""
    for section in config.nav or ():
        if "Results" in section:
            section["Results"] = [section["Results"], *RESULTS]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, figures and frames that are made while the site is built."""
    sys.path[:0] = [str(_ROOT), str(_ROOT / "docs")]
    import command_line
    import figures
    import gallery

    made: dict[str, str | bytes] = {
        page: source.read_text(encoding="utf-8") for page, source in ELSEWHERE.items()
    }
    made["reference/command-line.md"] = command_line.write_reference()
    made |= {f"figures/{name}.svg": drawn for name, drawn in figures.draw_all().items()}
    made |= {f"gallery/pages/{name}.html": page for name, page in gallery.make_pages().items()}
    made["gallery/index.md"] = gallery.write_index()
    for picture in sorted((_ROOT / "examples/screenshots").glob("*.png")):
        made[f"screenshots/{picture.name}"] = picture.read_bytes()
    for picture in _find_pictures():
        made[_place(picture)] = picture.read_bytes()
    for uri, content in made.items():
        files.append(File.generated(config, uri, content=content))
    return files


def _find_pictures() -> list[Path]:
    """The pictures that results show."""
    shown = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
    found = [
        source.parent / name
        for source in ELSEWHERE.values()
        for name in shown.findall(source.read_text(encoding="utf-8"))
    ]
    return sorted({path.resolve() for path in found})


def _place(picture: Path) -> str:
    """Where the site has a picture of a benchmark."""
    return f"results/{picture.parent.name}-{picture.name}"


def on_page_markdown(markdown: str, *, page: Page, files: Files, **_: Any) -> str:
    """Point links at the site, or at the repository; show why a block is not run."""
    source = ELSEWHERE.get(page.file.src_uri, _ROOT / "docs" / page.file.src_uri)
    markdown = _LINK.sub(lambda found: _relink(found, source, page.file.src_uri, files), markdown)
    markdown = _ON_SITE.sub(lambda found: _make_relative(found, page.file.src_uri, files), markdown)
    markdown = _FIGURE.sub(r"![\1](\2-light.svg#only-light)![\1](\2-dark.svg#only-dark)", markdown)
    return _NOT_RUN.sub(
        lambda found: f'<span class="not-run">Not run by the tests: {found[1]}.</span>\n', markdown
    )


def _relink(found: re.Match[str], source: Path, page: str, files: Files) -> str:
    """A link of a file, as a link of the page that shows it."""
    before, link, anchor, after = found[1], found[2], found[3] or "", found[4]
    target = source.parent.joinpath(link).resolve()
    if not target.is_relative_to(_ROOT) or not target.exists():
        return found[0]  # made while the site is built, or wrong: mkdocs tells
    name = target.relative_to(_ROOT).as_posix()
    on_site = {path: uri for uri, path in ELSEWHERE.items()}
    if target in on_site:
        uri = on_site[target]
    elif name.startswith("docs/") and files.get_file_from_path(name[len("docs/") :]):
        uri = name[len("docs/") :]
    elif name.startswith("examples/screenshots/"):
        uri = f"screenshots/{target.name}"
    elif target.suffix == ".png":
        uri = _place(target)
    else:
        kind = "tree" if target.is_dir() else "blob"
        return f"{before}https://github.com/textsobol/textsobol/{kind}/main/{name}{anchor}{after}"
    up = "../" * page.count("/")
    return f"{before}{up}{html.escape(uri)}{anchor}{after}"


def _make_relative(found: re.Match[str], page: str, files: Files) -> str:
    """A link to the published site, as a link within the site that is built."""
    before, name, anchor, after = found[1], found[2], found[3] or "", found[4]
    is_page = not name or name.endswith("/")
    names = [f"{name}index.md", f"{name.rstrip('/')}.md"] if is_page else [name]
    uri = next(filter(files.get_file_from_path, names), names[0])  # if wrong, mkdocs tells
    return f"{before}{'../' * page.count('/')}{uri}{anchor}{after}"


_SECTION = re.compile(
    r'aria-labelledby="__nav_\d+_label"'
    r'( aria-expanded="\w+">\s*<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>\s*)([^<\n]+)'
)


def on_post_page(output: str, **_: Any) -> str:
    """Name what the theme leaves without a name for screen readers."""
    output = output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)
    return _SECTION.sub(r'aria-label="\2"\1\2', output)
