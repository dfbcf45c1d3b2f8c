"""A report of a benchmark: a text, a page that fetches nothing, numbers and plots."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reporting import Table, escaped
from textsobol.files import write_text
from textsobol.render.page import load_environment


@dataclass(frozen=True)
class Plot:
    """A picture beside the report."""

    name: str  # of its file
    title: str
    caption: str
    png: bytes = b""


@dataclass(frozen=True)
class Report:
    """What a report says, in its order.

    Attributes:
        title: of the whole.
        reading: how to read the tables.
        tables: of results, each with the commands that made it.
        plots: drawn from them.
        paper: tables beside the paper's numbers.
    """

    title: str
    reading: str
    tables: Sequence[tuple[Table, Sequence[str]]]
    plots: Sequence[Plot]
    paper: Sequence[Table]

    def markdown(self) -> str:
        """The report as a text; plots are beside it."""
        parts = [f"# {self.title}", self.reading]
        for table, commands in self.tables:
            parts += [f"## {escaped(table.title)}", escaped(table.caption)]
            parts += [f"    {' '.join(command.split())}" for command in commands]
            parts.append(table.markdown())
        parts += [f"![{plot.title}]({plot.name})" for plot in self.plots]
        for table in self.paper:
            parts += [f"## {escaped(table.title)}", escaped(table.caption), table.markdown()]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """The report as one page that fetches nothing."""
        template = load_environment("benchmarks").get_template("report.html.j2")
        plots = [(plot.caption, base64.b64encode(plot.png).decode("ascii")) for plot in self.plots]
        return template.render(
            title=self.title,
            reading=self.reading,
            tables=self.tables,
            paper=self.paper,
            plots=plots,
        )

    def write(self, out: Path, csv: str) -> None:
        """Write ``report.md``, ``report.html``, ``report.csv`` and the plots.

        Args:
            out: the directory to write to, made if it is not there.
            csv: all numbers.
        """
        out.mkdir(parents=True, exist_ok=True)
        for plot in self.plots:
            (out / plot.name).write_bytes(plot.png)
        write_text(out / "report.md", self.markdown())
        write_text(out / "report.csv", csv)
        write_text(out / "report.html", self.html())
