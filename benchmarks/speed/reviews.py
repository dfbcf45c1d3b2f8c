"""Reviews to explain, from JSON lines with a ``text``, plain or gzip."""

import argparse
import gzip
import json
import re
from pathlib import Path


def parser(description: str | None, *, model_required: bool = True) -> argparse.ArgumentParser:
    """Options that all speed benchmarks share."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument(
        "--model", required=model_required, help="directory or hub id of a text classifier"
    )
    options.add_argument(
        "--data", required=True, type=Path, help="JSON lines with a text, .gz or not"
    )
    return options


def reviews(path: Path, *, around: int, number: int) -> list[str]:
    """The first reviews of about that many words, without markup."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        texts = (re.sub(r"(<br />)+", " ", json.loads(line)["text"]) for line in lines)
        fitting = (text for text in texts if abs(len(text.split()) - around) <= around / 20)
        return [text for text, _ in zip(fitting, range(number), strict=False)]
