"""Convert pictures to tensors for models, and to 8-bit pictures for display."""

from __future__ import annotations

import base64
import io
import struct
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from textsobol.sobol.arrays import Array

if TYPE_CHECKING:
    from torch import Tensor

_PNG = "data:image/png;base64,"


def as_tensor(image: Any) -> Tensor:
    """A picture as a tensor ``(1, channels, height, width)``.

    PIL pictures, in RGB, and 8-bit numbers are scaled to 0 to 1; other numbers stay as they are.
    Arrays are ``(height, width)`` or ``(height, width, channels)``, tensors
    ``(channels, height, width)``.
    """
    import torch

    if hasattr(image, "convert"):  # PIL, without importing it
        image = np.asarray(image.convert("RGB"))
    if isinstance(image, torch.Tensor):
        tensor = image.detach()
        if tensor.ndim == 4 and len(tensor) == 1:
            tensor = tensor[0]
        tensor = tensor[None] if tensor.ndim == 2 else tensor
    else:
        array = np.asarray(image)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"a picture is a PIL image or an array of numbers, not {type(image)}")
        array = array[..., None] if array.ndim == 2 else array
        if array.ndim != 3:
            raise ValueError(
                f"an array of shape {array.shape} is no picture; it must be (height, width) or "
                f"(height, width, channels)"
            )
        tensor = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    if tensor.ndim != 3 or 0 in tensor.shape:
        raise ValueError(
            f"a tensor of shape {tuple(tensor.shape)} is no picture; it must be "
            f"(channels, height, width)"
        )
    if not tensor.is_floating_point():
        tensor = tensor.float() / 255 if tensor.dtype == torch.uint8 else tensor.float()
    if not torch.isfinite(tensor).all():
        raise ValueError("the picture has pixels that are not finite numbers")
    return tensor[None]


def to_8_bits(image: Any) -> Array:
    """An 8-bit picture ``(height, width, 3)`` of any numbers."""
    if hasattr(image, "convert"):
        return np.asarray(image.convert("RGB"), dtype=np.uint8)
    values = as_tensor(image)[0].double().cpu().numpy().transpose(1, 2, 0)
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:  # normalised numbers: their own range
        values = (values - low) / (high - low or 1)
    values = np.repeat(values[..., :1], 3, axis=2) if values.shape[2] < 3 else values[..., :3]
    return np.round(255 * values).astype(np.uint8)


def as_photo(image: Any) -> Any:
    """A PIL picture in RGB, for processors that take photos only.

    Raises:
        ValueError: if numbers are neither 8-bit nor from 0 to 1.
    """
    if hasattr(image, "convert"):
        return image.convert("RGB")
    values = as_tensor(image)
    if float(values.min()) < 0 or float(values.max()) > 1:
        raise ValueError(
            f"a pipeline does its own preprocessing: give a PIL picture, 8-bit numbers, or "
            f"numbers from 0 to 1, not from {float(values.min()):g} to {float(values.max()):g}"
        )
    return _import_pillow("giving an array to a pipeline").fromarray(to_8_bits(image))


def show_prepared(image: Any, prepared: Tensor) -> Array:
    """The 8-bit picture as the model sees it: cropped and scaled, in its original colours.

    Args:
        image: the picture as given.
        prepared: the model's input ``(1, channels, height, width)``. Its normalisation is unknown:
            every channel gets the mean and standard deviation of the given picture.
    """
    whole = to_8_bits(image)
    values = prepared[0].double().cpu().numpy().transpose(1, 2, 0)
    if values.shape[2] != 3:
        # Channels that are not colours: shown as given, unless cropped.
        return whole if whole.shape[:2] == values.shape[:2] else to_8_bits(prepared)
    pixels = (0, 1)
    spread = np.where(values.std(pixels) > 0, values.std(pixels), 1.0)
    coloured = (values - values.mean(pixels)) / spread * whole.std(pixels) + whole.mean(pixels)
    # If nothing was cropped or scaled, this is the picture itself, except for rounding.
    return np.asarray(np.clip(np.round(coloured), 0, 255), dtype=np.uint8)


def load_picture(image: Any) -> Any:
    """Read a picture from a file, or take it as given; PIL pictures are rotated by their EXIF."""
    if isinstance(image, str | PathLike):
        try:
            with _import_pillow("reading picture files").open(image) as file:
                return load_picture(file).convert("RGB")
        except OSError as error:
            raise ValueError(f"cannot read the picture {str(image)!r}: {error}") from error
    if not hasattr(image, "getexif"):
        return image
    from PIL import ImageOps

    return ImageOps.exif_transpose(image)


def as_data_uri(image: Array) -> str:
    """An 8-bit picture as text, lossless."""
    buffer = io.BytesIO()
    _import_pillow("saving a picture").fromarray(image).save(buffer, format="png")
    return _PNG + base64.b64encode(buffer.getvalue()).decode("ascii")


def from_data_uri(text: str, size: tuple[int, int]) -> Array:
    """The picture from text that `as_data_uri` made.

    Args:
        text: the data URI.
        size: height and width that the picture must have, checked before it is read.

    Raises:
        ValueError: when it is no such picture.
    """
    if not text.startswith(_PNG):
        raise ValueError("image: must be a PNG data URI")
    pillow = _import_pillow("reading a picture")
    try:
        content = base64.b64decode(text[len(_PNG) :], validate=True)
        width, height = struct.unpack(">II", content[16:24])  # a PNG begins with its size
        if (height, width) != tuple(size):
            raise ValueError(f"has {height} x {width} pixels instead of {size[0]} x {size[1]}")
        with pillow.open(io.BytesIO(content), formats=["PNG"]) as file:
            image = np.asarray(file.convert("RGB"), dtype=np.uint8)
    except Exception as error:  # Pillow raises errors of many kinds for damaged files
        raise ValueError(f"image: {str(error)[:200]}") from error
    if image.shape[:2] != tuple(size):
        raise ValueError("image: has another size than its head says")
    return image


def _import_pillow(what: str) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f'{what} needs pillow: pip install "textsobol[image]"') from error
    return Image
