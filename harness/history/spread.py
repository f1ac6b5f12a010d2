"""Estimate the spread of values with outliers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

# Scales the distance to the standard deviation of normal values: 1 / (sqrt 2 * their 5/8 quantile).
_DEVIATION_PER_DISTANCE = 2.2219
# Scales the median absolute deviation to the standard deviation of normal values.
_DEVIATION_PER_MAD = 1.4826
_OF_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of at least two values, in their unit; half of them may be outliers.

    It is Qn, the quarter quantile of the distances between all pairs: P. J. Rousseeuw and C. Croux, Alternatives to the
    median absolute deviation, JASA 88 (1993); the factors for few values are from their paper of 1992. When values
    repeat, such as whole ms, a quarter of the distances can be 0: then the median absolute deviation is used.
    """
    count = len(values)
    half = count // 2 + 1
    rank = half * (half - 1) // 2
    array = np.asarray(values, dtype=float)
    first, second = np.triu_indices(count, 1)
    distances = np.abs(array[first] - array[second])
    factor = _OF_FEW.get(count) or count / (count + (1.4 if count % 2 else 3.8))
    distance = float(np.partition(distances, rank - 1)[rank - 1])
    if distance:
        return _DEVIATION_PER_DISTANCE * factor * distance
    middle = median(values)
    return _DEVIATION_PER_MAD * median(abs(value - middle) for value in values)
