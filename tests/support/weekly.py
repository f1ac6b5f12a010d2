"""Values of a parametrised test, of which some are tried in each `make test` and the others weekly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def often(count: int, values: Iterable[Any]) -> list[Any]:
    """Return the values of `pytest.mark.parametrize`: `count` for each `make test`, the others for `make test-real`.

    Those of each `make test` are spread evenly over the values, from the first one on.
    """
    listed = list(values)
    tried = {index * len(listed) // count for index in range(count)}
    return [value if index in tried else _weekly(value) for index, value in enumerate(listed)]


def _weekly(value: Any) -> Any:
    values = value if type(value) is tuple else (value,)  # a named one is one value
    return pytest.param(*values, marks=pytest.mark.counterpart)
