"""Files that the documentation speaks of: texts, a picture, and small models."""

import csv
import json
from pathlib import Path

REVIEW = (
    "Do not believe the bad reviews. Nothing in this film is dull, nothing is wasted, and the "
    "ending left me in tears. I only wish it had been an hour longer."
)
REVIEWS = [
    ("A gripping, beautifully acted film with a wonderful score.", "POSITIVE"),
    ("Dull, clumsy and far too long. I want my two hours back.", "NEGATIVE"),
    ("Not bad at all: the cast is fun and the story moves.", "POSITIVE"),
    ("I expected a masterpiece and got a boring, predictable mess.", "NEGATIVE"),
    ("Great actors, a great budget, a great composer, and I fell asleep.", "NEGATIVE"),
]


TEXTS = {
    "review.txt": REVIEW,
    "prompt.txt": "Review: {text}\nSentiment:",
    "question.txt": "In which city was the film shot?",
    "question-prompt.txt": "{document}\n\nQuestion: {text}\nAnswer:",
    "a.txt": "The music is by Anna.",
    "b.txt": "The film was shot in Rome.",
}
LANGUAGE_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
"""A directory here, with a random model: the pages name what a reader can run."""


def write_material(directory: Path) -> Path:
    """Write all files: ``MODEL`` and ``OTHER`` classify texts, ``DIRECTORY`` pictures."""
    import numpy as np
    from PIL import Image

    from tests.image.tiny import save_resnet
    from tests.models.test_onnx import export

    for name, text in TEXTS.items():
        (directory / name).write_text(text + "\n", encoding="utf-8")
    with (directory / "reviews.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [(f"r{k}", text, label) for k, (text, label) in enumerate(REVIEWS)]
        csv.writer(file).writerows([("id", "text", "label"), *rows])
    for name in ("MODEL", "OTHER"):
        _save_bert(directory / name)
    _save_language_model(directory / LANGUAGE_MODEL)
    inputs = ("input_ids", "attention_mask")
    export(directory / "model.onnx", inputs=inputs, shape=["rows", "tokens"])
    processor = {
        "image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 32},
        "crop_pct": 1.0, "do_resize": True, "do_rescale": True, "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
    }  # fmt: skip
    save_resnet(directory / "DIRECTORY", ["cat", "dog", "house"], processor)
    pixels = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(directory / "cat.jpg")
    return directory


def _save_bert(folder: Path) -> None:
    """A random classifier that sees 512 tokens."""
    from tests.text.tiny import random_model, tokenizer

    words = tokenizer()
    labels = {0: "NEGATIVE", 1: "POSITIVE"}
    random_model("bert", words, max_position_embeddings=512, id2label=labels).save_pretrained(
        folder
    )
    words.save_pretrained(folder)
    written = folder / "tokenizer_config.json"
    settings = json.loads(written.read_text(encoding="utf-8"))
    written.write_text(json.dumps({**settings, "model_max_length": 512}), encoding="utf-8")


def _save_language_model(folder: Path) -> None:
    from tests.prompts.tiny import model, tokenizer

    model("llama", max_position_embeddings=1024).save_pretrained(folder)
    tokenizer("llama").save_pretrained(folder)
