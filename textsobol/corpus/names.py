"""Names of files that hold many texts; known without loading any library."""

from pathlib import Path

FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}


def format_of(path: str | Path) -> str | None:
    """How a file is read, by its name; ``None`` where it is not a table.

    Example:
        >>> format_of("reviews.jsonl.gz"), format_of("review.txt")
        ('json', None)
    """
    last = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    return next((FORMATS[suffix] for suffix in reversed(last) if suffix in FORMATS), None)


def files_of(source: str | Path) -> list[Path]:
    """The files that a path stands for; none where it is no path, but perhaps a hub id.

    Raises:
        ValueError: when it is a path, but not to files of texts.
    """
    path = Path(source)
    known = f"{', '.join(FORMATS)}, plain or compressed"
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if format_of(each) and each.is_file())
        if not files:
            raise ValueError(f"{source} holds no files of texts; known are {known}")
        if len(set(map(format_of, files))) > 1:
            raise ValueError(f"{source} holds files of several kinds; give one of them")
        return files
    if path.exists():
        if format_of(path) is None:
            raise ValueError(f"{source}: known files of many texts are {known}")
        return [path]
    if format_of(path) is not None or path.is_absolute():
        raise ValueError(f"there is no file {str(source)!r}")
    return []
