"""The prompts that are measured."""

from __future__ import annotations

from collections.abc import Mapping

from textsobol import Prompt

LABELS = ("negative", "positive")
EXAMPLES = (
    ("a gripping and beautifully acted drama that stays with you for days", "positive"),
    ("the script is so lazy that even the actors look bored by it", "negative"),
    ("it is rare that a comedy is this clever , this warm and this well paced", "positive"),
    ("two hours of noise in search of a story", "negative"),
    ("one of the most moving portraits of friendship in recent years", "positive"),
    ("neither funny nor frightening , it simply runs out of ideas", "negative"),
    ("the camera work alone is worth the price of a ticket", "positive"),
    ("a tired remake that nobody needed and nobody will remember", "negative"),
    ("fresh , honest and often very funny", "positive"),
    ("the dialogue is wooden and the ending an insult to the audience", "negative"),
    ("a quiet film whose small moments add up to something grand", "positive"),
    ("it wants to be a thriller , but there is not a single surprise in it", "negative"),
    ("the young lead carries the film with a performance full of wit and feeling", "positive"),
    ("badly lit , badly cut and far too long for what little it has to say", "negative"),
)  # fmt: skip
_ONE = "Review: {text}\nSentiment:"


def few_shot(n_examples: int = len(EXAMPLES), **options: str) -> Prompt:
    """A prompt with examples before the text.

    Example:
        >>> print(few_shot(1).fill("so so"))
        Review: a gripping and beautifully acted drama that stays with you for days
        Sentiment: positive
        <BLANKLINE>
        Review: so so
        Sentiment:
    """
    examples = [_ONE.format(text=text) + f" {label}" for text, label in EXAMPLES[:n_examples]]
    answers = {label: f" {label}" for label in LABELS}
    return Prompt(f"{{example}}\n\n{_ONE}", answers, {"example": examples}, **options)


def all_prompts() -> Mapping[str, Prompt]:
    """Every prompt by name."""
    answers = {label: f" {label}" for label in LABELS}
    chat = [
        {"role": "user", "content": "Is this review of a film positive or negative? Answer with "
         "one word, positive or negative.\n\n{text}"}
    ]  # fmt: skip
    labels = {label: label.capitalize() for label in LABELS}
    return {
        "no examples": Prompt(_ONE, answers),
        "no examples, calibrated": Prompt(_ONE, answers, calibrate="N/A"),
        "4 examples": few_shot(4),
        "4 examples, calibrated": few_shot(4, calibrate="N/A"),
        "14 examples": few_shot(),
        "14 examples, calibrated": few_shot(calibrate="N/A"),
        "chat": Prompt(chat, labels),
        "chat, calibrated": Prompt(chat, labels, calibrate="N/A"),
    }
