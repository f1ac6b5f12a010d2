"""The browser of the tests of HTML pages, and a small chart library."""

import pytest

from tests.support.browser import browser

__all__ = ["browser"]


@pytest.fixture
def charts(tmp_path):
    """What the chart library leaves, in small."""
    for library in ("chart.js", "chartjs-plugin-zoom"):
        folder = tmp_path / "charts" / library / "1.0"
        (folder / "dist").mkdir(parents=True)
        (folder / "dist" / f"{library}.min.js").write_text("// nothing")
        (folder / "LICENSE.md").write_text("MIT")
    return tmp_path / "charts"
