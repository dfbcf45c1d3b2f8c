"""Options that several commands share."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from textsobol.cli.expand import LeaveOut
from textsobol.cli.output import silence_transformers
from textsobol.cli.prompts import PromptOptions
from textsobol.methods import Method, Sobol, find_method

_REMOTE = "A remote model"


class Score(StrEnum):
    """What is analysed."""

    logit = "logit"
    probability = "probability"
    output = "output"


class Dtype(StrEnum):
    """What numbers a copy of the model computes with."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class Long(StrEnum):
    """What happens to words beyond the model's window."""

    outside = "outside"
    window = "window"


class Aggregate(StrEnum):
    """How the logits of windows become those of a text."""

    mean = "mean"
    max = "max"


class Applied(StrEnum):
    """What an endpoint applies to logits."""

    softmax = "softmax"
    sigmoid = "sigmoid"
    none = "none"


Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Directory or hub id of a text classifier, or of a language model with --prompt; by "
        "default a bundled classifier of film reviews.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(help="Label to explain; the predicted one by default.", show_default=False),
]
DtypeOption = Annotated[
    Dtype | None,
    typer.Option(
        help="Run a copy of the model in this dtype: bfloat16 is up to twice as fast on CPUs that "
        "support it. The last line of explain says how far its log-odds are off.",
        show_default="the model's own",
    ),
]
LongOption = Annotated[
    Long,
    typer.Option(
        help="Words beyond the model's window: outside scores them 0, window slides a window over "
        "the text, so that every word gets a score."
    ),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on one line.")]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only print what it would cost: forward passes, tokens and time. About ten batches "
        "are run to measure the speed.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no warnings.")]
# How indices are estimated is for research, in Python.
SobolOptions = Annotated[Sobol, LeaveOut(("estimator", "design", "base_masks", "sign"))]
Top = Annotated[int, typer.Option(help="Words to list.")]


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """The model and how texts are masked."""

    model: Model = None
    unit: Annotated[
        str,
        typer.Option(
            help="What is left out as a whole: word, word+punctuation, token, sentence, paragraph, "
            "spacy[:NAME]."
        ),
    ] = "word"
    perturbation: Annotated[
        str,
        typer.Option(help="What happens to an absent word: delete, mask, pad, or a replacement."),
    ] = "delete"
    ignore: Annotated[
        str | None,
        typer.Option(
            help="Words that are never left out: stopwords, or a list with commas.",
            show_default=False,
        ),
    ] = None
    long: LongOption = Long.outside
    aggregate: Annotated[
        Aggregate | None,
        typer.Option(
            help="With --long window, how the logits of the windows become those of the text.",
            show_default="mean",
        ),
    ] = None
    stride: Annotated[
        int | None,
        typer.Option(
            help="With --long window, tokens that neighbouring windows share.",
            min=0,
            show_default="a quarter of the window",
        ),
    ] = None
    score: Annotated[
        Score,
        typer.Option(
            help="What is analysed: log-odds of a label, its probability, or the output before "
            "softmax."
        ),
    ] = Score.logit
    dtype: DtypeOption = None
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run Python code that comes with the model."),
    ] = False
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Address of a text-classification endpoint, or a hub id that an inference "
            "provider serves.",
            show_default=False,
            rich_help_panel=_REMOTE,
        ),
    ] = None
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TEXTSOBOL_TOKEN",
            help="Token of the endpoint or server; by default hosts of the hub get that of hf auth "
            "login, and api.openai.com that of OPENAI_API_KEY.",
            show_default=False,
            rich_help_panel=_REMOTE,
        ),
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option(
            help="File or directory to keep answers in: no text is sent twice, in any run.",
            show_default=False,
            rich_help_panel=_REMOTE,
        ),
    ] = None
    concurrency: Annotated[
        int, typer.Option(help="Most calls at the same time.", min=1, rich_help_panel=_REMOTE)
    ] = 8
    function_to_apply: Annotated[
        Applied | None,
        typer.Option(
            help="What the endpoint applies to logits; sigmoid if a text can have several labels.",
            show_default="its own softmax",
            rich_help_panel=_REMOTE,
        ),
    ] = None

    def _check(self, prompt: PromptOptions) -> None:
        """Refuse options that have no meaning together."""
        if self.endpoint is None and self.function_to_apply is not None:
            raise typer.BadParameter("--function-to-apply needs --endpoint ADDRESS")
        given = {
            "--model": self.model, "--endpoint": self.endpoint, "--server": prompt.server
        }  # fmt: skip
        both = [name for name, value in given.items() if value is not None]
        if len(both) > 1:
            raise typer.BadParameter(f"give {both[0]} or {both[1]}, not both")
        if both in ([], ["--model"]) and self.cache is not None:
            raise typer.BadParameter("--cache needs --endpoint ADDRESS or --server ADDRESS")
        if prompt.prompt is not None and both in ([], ["--endpoint"]):
            raise typer.BadParameter(
                "--prompt needs a language model: --model DIRECTORY, or --server ADDRESS"
            )
        if self.long is Long.outside and (self.aggregate, self.stride) != (None, None):
            raise typer.BadParameter("--aggregate and --stride need --long window")

    def make_explainer(self, prompt: PromptOptions, *, quiet: bool) -> Any:
        """Make the explainer of texts."""
        self._check(prompt)
        remote: dict[str, Any] = {
            "token": self.token,
            "cache": self.cache,
            "concurrency": self.concurrency,
        }
        model: Any = prompt.make_server(**remote)
        if self.endpoint is not None:
            from textsobol.endpoints.hub import endpoint

            applied = None if self.function_to_apply is None else self.function_to_apply.value
            model = endpoint(self.endpoint, function_to_apply=applied, **remote)
        elif model is None:  # a remote model does not need transformers
            silence_transformers()
            model = self.model
        from textsobol.text.explainer import TextExplainer
        from textsobol.text.windows import Windows

        windows = Windows((self.aggregate or Aggregate.mean).value, self.stride)
        is_list = self.ignore is not None and self.ignore != "stopwords"
        return TextExplainer(
            model,
            unit=self.unit,
            perturbation=self.perturbation,
            long=windows if self.long is Long.window else self.long.value,
            score=self.score.value,
            ignore=self.ignore.split(",") if self.ignore and is_list else self.ignore,
            dtype=None if self.dtype is None else self.dtype.value,
            prompt=prompt.make_prompt(),
            trust_remote_code=self.trust_remote_code,
            progress=not quiet,
        )


@dataclasses.dataclass(frozen=True)
class CallOptions:
    """What is explained, and how."""

    target: Target = None
    budget: Annotated[
        int | None,
        typer.Option(
            help="Forward passes allowed, at least 2. By default 8 per word, more for short texts "
            "and fewer for long ones.",
            show_default=False,
        ),
    ] = None
    method: Annotated[str, typer.Option(help="sobol, or a method listed by compare --help.")] = (
        "sobol"
    )
    seed: Seed = 0

    def make_arguments(self, options: Sobol) -> dict[str, Any]:
        """Make the arguments of an explainer's call."""
        method = choose_method(self.method, options)
        return {"target": self.target, "budget": self.budget, "method": method, "seed": self.seed}


def choose_method(name: str, given: Sobol) -> Method:
    """The method of that name, with the given options."""
    method = find_method(name)
    changed = given.chosen_options()
    for option in changed:
        if option not in method.options():
            raise ValueError(f"--{option.replace('_', '-')} is an option of sobol, not of {name}")
    return dataclasses.replace(method, **changed)  # type: ignore[type-var]
