"""What is written down of what made results."""

import doctest

import pytest
import torch

from benchmarks import provenance
from benchmarks.provenance import weights_of, without_place


class Weights(torch.nn.Module):
    """Numbers of several kinds, one of them without a shape, one of them none."""

    matrix: torch.Tensor
    number: torch.Tensor

    def __init__(self, kind: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.register_buffer("matrix", torch.arange(6).reshape(2, 3).T.to(kind))
        self.register_buffer("number", torch.tensor(7))
        self.register_buffer("truth", torch.tensor(True))
        self.register_buffer("nothing", torch.zeros(0, dtype=kind))


def test_the_examples_of_the_docstrings_hold() -> None:
    assert doctest.testmod(provenance).failed == 0


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("/a/b=c/photos", "photos"),
        ("--data=/a/b=c/photos", "--data=photos"),
        ("--data=/a/photos", "--data=photos"),
        ("/a/photos=2", "photos=2"),
        ("~/photos", "photos"),
        ("--methods=rise,flip", "--methods=rise,flip"),
        ("--share-rows", "--share-rows"),
        ("a=b", "a=b"),
    ],
)
def test_places_are_not_told(argument: str, expected: str) -> None:
    assert without_place(argument) == expected


def test_the_name_of_weights_stays() -> None:
    # Files of results begin with it, and are only continued by the same.
    parts = [
        *(b"matrix", Weights().matrix.contiguous().numpy().tobytes()),
        *(b"number", Weights().number.numpy().tobytes(), b"truth", b"\1", b"nothing"),
    ]
    assert weights_of(Weights()) == provenance.digest_of(parts)


def test_weights_of_all_kinds_have_names_of_their_own() -> None:
    kinds = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
    assert len({weights_of(Weights(kind)) for kind in kinds}) == len(kinds)
    other = Weights(torch.bfloat16)
    other.matrix[2, 1] += 1
    assert weights_of(other) != weights_of(Weights(torch.bfloat16))
