"""The same on Ray: two actors share the texts, each with the model, and leave the same files.

Run:  python examples/ray_corpus.py        # writes explained/; needs the extra "ray"

On a cluster, give its address; texts must then lie where all machines can read them, such as on
the hub or on shared storage. With GPUs: gpus_per_actor=1.
"""

import argparse
from pathlib import Path

from datasets import Dataset

from textsobol import TextExplainer, explain_corpus

REVIEWS = [
    "A gripping, beautifully acted film with a wonderful score.",
    "Dull, clumsy and far too long. I want my two hours back.",
    "Not bad at all: the cast is fun and the story moves.",
    "Great actors, wasted on an awful script.",
]

parser = argparse.ArgumentParser(description="Explain reviews on Ray.")
parser.add_argument("--out", type=Path, default=Path("explained"), help="directory for the files")
parser.add_argument("--address", help="of a running cluster; by default Ray is started here")
parser.add_argument("--actors", type=int, default=2, help="processes with the model")
asked = parser.parse_args()

# From the command line: textsobol corpus reviews.parquet --out explained/ --engine ray --actors 2
explained = explain_corpus(
    TextExplainer(),
    Dataset.from_dict({"text": REVIEWS}),
    out=asked.out,
    shard_size=2,  # texts that one actor takes at a time
    engine="ray",
    actors=asked.actors,
    address=asked.address,
)
for name, explanation in explained.items():
    print(f"{name}  {explanation.prediction}, mostly {explanation.top(1)[0]}")
