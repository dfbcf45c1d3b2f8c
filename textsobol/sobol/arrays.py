"""The array types of the core."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BlackBox = Callable[[Array], ArrayLike]
"""Masks ``(masks, features)`` to scores ``(masks,)`` or ``(masks, labels)``."""
