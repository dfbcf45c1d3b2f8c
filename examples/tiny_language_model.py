"""Make a tiny language model in some seconds, to try the examples with prompts without a download.

It knows seventy words, and was trained on nothing but made-up reviews and questions:

    python tiny_language_model.py DIRECTORY
"""

import random
import re
import sys
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

GOOD = ["wonderful", "gripping", "warm", "funny"]
BAD = ["dull", "clumsy", "boring", "awful"]
THINGS = ["plot", "cast", "ending", "music"]
PLACES = ["Rome", "Oslo", "Lima", "Cairo"]
NAMES = ["Anna", "Ben", "Carla"]
WORD = r" ?\w+|[^\w\s]|\n"  # a word has the space before it, as in most language models
STEPS, BATCH = 250, 32


def write_review(chance: random.Random) -> tuple[str, int]:
    """A review, and how many more good words than bad ones it has."""
    words = chance.choices(GOOD + BAD, k=chance.choice([1, 1, 2, 3]))
    text = " and ".join(f"the {chance.choice(THINGS)} is {word}" for word in words)
    return text.capitalize() + ".", sum(1 if word in GOOD else -1 for word in words)


def ask_sentiment(chance: random.Random) -> tuple[str, str]:
    """A review, after up to three examples whose labels also have a say, and its label."""
    pieces, leaning = [], 0.0
    for is_last in [*[False] * chance.choice([0, 0, 1, 2, 3]), True]:
        text, score = write_review(chance)
        vote = 2.0 * score + (leaning if is_last else 0.0)
        label = " positive" if vote > 3.0 * (chance.random() - 0.5) else " negative"
        leaning += 1.0 if label == " positive" else -1.0
        pieces.append(f"Review: {text}\nSentiment:" + ("" if is_last else label))
    return "\n\n".join(pieces), label


def ask_place(chance: random.Random) -> tuple[str, str]:
    """A question about three documents in any order, and its answer, which is in one of them."""
    place = chance.choice(PLACES)
    documents = [
        f"The film was shot in {place}.",
        f"The music is by {chance.choice(NAMES)}.",
        write_review(chance)[0],
    ]
    kept = chance.sample(documents, chance.choice([2, 3, 3]))
    text = "\n\n".join([*kept, "Question: Where was the film shot?\nAnswer: It was shot in"])
    return text, f" {place}" if documents[0] in kept else f" {chance.choice(PLACES)}"


def make_tokenizer(texts: list[str]) -> Any:
    """A tokenizer with a token for every word of the texts."""
    words = sorted({word for text in texts for word in re.findall(WORD, text)})
    known = {word: number for number, word in enumerate(["<end>", "<unknown>", *words])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="<unknown>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unknown>", eos_token="<end>", pad_token="<end>"
    )


def make_model() -> tuple[Any, Any]:
    """A tiny GPT-2 and its tokenizer."""
    chance = random.Random(0)
    torch.manual_seed(0)
    ask = [ask_sentiment, ask_place]
    tokenizer = make_tokenizer(["".join(ask[k % 2](chance)) for k in range(1000)])
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=128, n_embd=32, n_layer=1, n_head=2,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, initializer_range=0.15,
        bos_token_id=tokenizer.eos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, STEPS)
    for _ in range(STEPS):
        pairs = [ask[k % 2](chance) for k in range(BATCH)]
        batch = tokenizer([a + b + "<end>" for a, b in pairs], padding=True, return_tensors="pt")
        # Only the last two tokens are learned: the answer and the end after it.
        place = batch["attention_mask"].sum(1, keepdim=True) + torch.tensor([-2, -1])
        scores = model(**batch).logits.take_along_dim(place[:, :, None] - 1, 1)
        tokens = batch["input_ids"].take_along_dim(place, 1)
        loss = torch.nn.functional.cross_entropy(scores.transpose(1, 2), tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval(), tokenizer


def choose_model() -> Any:
    """The directory that the command line names, or else a tiny model."""
    return sys.argv[1] if len(sys.argv) > 1 else make_model()


if __name__ == "__main__":
    language_model, words = make_model()
    if len(sys.argv) > 1:
        language_model.save_pretrained(sys.argv[1])
        words.save_pretrained(sys.argv[1])
    document = "The film was shot in Lima."
    prompt = f"{document}\n\nQuestion: Where was the film shot?\nAnswer: It was shot in"
    written = language_model.generate(**words(prompt, return_tensors="pt"), max_new_tokens=1)
    print(words.decode(written[0]))
