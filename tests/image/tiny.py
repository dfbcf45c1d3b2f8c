"""A small random image classifier, as transformers saves it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def save_resnet(folder: Path, labels: Sequence[str], processor: Mapping[str, Any]) -> Path:
    """Write a ResNet with so many labels, and what its pictures are prepared by."""
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification
    from transformers.utils import logging

    logging.disable_progress_bar()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = ResNetConfig(
            embedding_size=8,
            hidden_sizes=[8, 16],
            depths=[1, 1],
            layer_type="basic",
            id2label=dict(enumerate(labels)),
        )
        ResNetForImageClassification(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder
