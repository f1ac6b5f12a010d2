"""How far values are apart, though some are outliers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

# Makes it the standard deviation where values are normal: 1 / (sqrt 2 * the 5/8 quantile of the normal distribution).
_DEVIATION_PER_DISTANCE = 2.2219
# Makes the median absolute deviation the standard deviation where values are normal.
_DEVIATION_PER_MAD = 1.4826
_OF_FEW = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}


def spread(values: Sequence[float]) -> float:
    """Return the standard deviation of at least two values, in their unit; half of them may be outliers.

    It is Qn, the quarter quantile of the distances between all pairs: P. J. Rousseeuw and C. Croux, Alternatives to the
    median absolute deviation, JASA 88 (1993); the factors for few values are those of their paper of 1992. Where the
    same few values return, such as whole ms, a quarter of the distances is 0: then it is by the median deviation.
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
