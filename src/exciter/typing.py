"""Types that every part of Exciter shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  #: of numbers in SI units
Index = NDArray[np.int64]  #: of rows, samples, spans
BoolArray = NDArray[np.bool_]
ComplexArray = NDArray[np.complex128]
