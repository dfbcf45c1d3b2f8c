"""``textsobol image``."""

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from textsobol.cli.expand import LeaveOut
from textsobol.cli.options import AsJson, Quiet, Seed, Target, choose_method
from textsobol.cli.output import (
    EXPECTED,
    check_suffix,
    fail,
    note,
    report_warnings,
    silence_transformers,
)
from textsobol.methods import PICTURE_METHODS, Sobol

_PLOTS = (".png", ".svg", ".pdf")
_NUMBERS = (".npz", ".json")


def image(
    *,
    file: Annotated[
        Path, typer.Argument(help="The picture: .jpg, .png ...", exists=True, dir_okay=False)
    ],
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="Directory or hub id of an image classifier."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the map over the picture (.png, .svg, .pdf), or the numbers (.npz, .json).",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="Maps to plot, separated by commas: score, total, first, interaction, error.",
            show_default="score",
        ),
    ] = None,
    target: Target = None,
    method: Annotated[str, typer.Option(help=f"{', '.join(PICTURE_METHODS)}.")] = "sobol",
    sobol: Annotated[Sobol, LeaveOut(("keep", "interactions", "path", "stable_top", "precision"))],
    grid: Annotated[int, typer.Option(help="Number of cells down and across.")] = 11,
    budget: Annotated[
        int | None,
        typer.Option(
            help="Forward passes allowed. By default enough for 32 base masks, as in the paper.",
            show_default=False,
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Use the paper's real-valued masks and its estimator, N = 32."
        ),
    ] = False,
    perturbation: Annotated[
        str, typer.Option(help="What happens to an absent cell: inpaint, blur, amplitude.")
    ] = "inpaint",
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that comes with the model."),
    ] = False,
    batch: Annotated[
        int | None,
        typer.Option(help="Pictures per batch.", show_default="few on a CPU"),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Explain a picture: find the regions behind the model's prediction.

    Cells of a grid are left out at random. The score of a cell is its share of the variation of the
    model's answer, negative if the cell speaks against the label.

    For example:

    textsobol image cat.jpg --model DIRECTORY --out cat.png

    textsobol image cat.jpg --model DIRECTORY --out cat.png --kind total --kind first

    textsobol image cat.jpg --model DIRECTORY --method gradcam --out cam.png
    """
    check_suffix("--out", out, (*_PLOTS, *_NUMBERS))
    plots = out is not None and out.suffix.lower() in _PLOTS
    kinds = [name for given in kind or () for name in given.split(",")]
    if kinds and not plots:
        raise typer.BadParameter(f"--kind needs --out with a plot: {', '.join(_PLOTS)}")
    if plots and find_spec("matplotlib") is None:
        fail(ImportError('plots need matplotlib: pip install "textsobol[image]"'))
    try:
        from textsobol.image.explanation import KINDS

        if paper and method != Sobol.name:
            raise ValueError("--paper needs --method sobol")
        chosen = choose_method(
            method, replace(sobol, keep=None, sign="occlusion") if paper else sobol
        )
        for name in kinds:
            if name not in KINDS:
                raise ValueError(f"unknown --kind {name}; known: {', '.join(KINDS)}")
            if name != "score" and not chosen.has_shares:
                raise ValueError(f"--kind {name} needs --method sobol; {method} has only scores")
        from textsobol.image.pictures import load_picture

        picture = load_picture(file)  # fail before loading the model
        silence_transformers()
        from textsobol.image.explainer import ImageExplainer

        with report_warnings(quiet=quiet):
            explainer = ImageExplainer(
                model,
                grid=(grid, grid),
                perturbation=perturbation,
                batch=batch,
                trust_remote_code=trust_remote_code,
                progress=not quiet,
            )
            explanation = explainer(picture, target=target, method=chosen, budget=budget, seed=seed)
        if out is not None:
            explanation.save(out, *kinds)
    except EXPECTED as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False))
        return
    explanation.show()
    if out is not None:
        note(f"wrote {out}", quiet=quiet)
