"""The array types that the core's functions speak of."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BlackBox = Callable[[Array], ArrayLike]
"""Masks ``(rows, features)`` to scores ``(rows,)`` or ``(rows, labels)``."""
