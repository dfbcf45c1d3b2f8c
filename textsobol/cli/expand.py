"""Turn the fields of dataclasses, such as a method's options, into options of a command."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from textsobol.methods import Method


@dataclasses.dataclass(frozen=True)
class LeaveOut:
    """Fields of a dataclass that do not become options."""

    names: Sequence[str]


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Replace every dataclass among a command's parameters by one option per field.

    The help of a field without a ``typer.Option`` is the first clause of its documentation.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command).parameters.values():
        kind, *notes = get_args(hints[own.name]) or [hints[own.name]]
        if dataclasses.is_dataclass(kind):
            left_out = next((each.names for each in notes if isinstance(each, LeaveOut)), ())
            options = _make_options(kind, left_out)
            groups[own.name] = kind, [each.name for each in options]
            parameters += options
        else:
            kept = own.replace(annotation=hints[own.name], kind=inspect.Parameter.KEYWORD_ONLY)
            parameters.append(kept)

    def run(**given: Any) -> None:
        from textsobol.cli.output import EXPECTED, fail

        try:
            made = {
                name: group(**{option: given.pop(option) for option in options})
                for name, (group, options) in groups.items()
            }
        except EXPECTED as error:
            fail(error)
        command(**given, **made)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _make_options(group: Any, left_out: Sequence[str]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    documented = read_attributes(group)
    panel = f"Options of --method {group.name}" if issubclass(group, Method) else None
    options = []
    for each in dataclasses.fields(group):
        if each.name in left_out:
            continue
        annotation = hints[each.name]
        if get_origin(annotation) is not Annotated:
            about = re.split(r"[;:.](?:\s|$)", documented[each.name])[0].replace("``", "")
            option = typer.Option(
                help=f"{about[0].upper()}{about[1:]}.",
                show_default=each.default is not None,
                rich_help_panel=panel,
            )
            annotation = Annotated[annotation, option]
        options.append(
            inspect.Parameter(
                each.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=each.default,
                annotation=annotation,
            )
        )
    return options


def read_attributes(documented: type) -> dict[str, str]:
    """The documented attributes of a class, each in one line.

    Example:
        >>> from textsobol.methods import Greedy
        >>> read_attributes(Greedy)
        {'deletions': 'most deletions.'}
    """
    text = inspect.getdoc(documented) or ""
    section = re.search(r"Attributes:\n(.*?)(?:\n\n|\Z)", text, re.DOTALL)
    if section is None:
        return {}
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section[1], re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text) for name, text in entries}
