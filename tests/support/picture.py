"""The picture in README.md: the first screen of a report as one HTML file, in the frame of a window.

`python -m tests.support.picture REPORT.html` writes docs/report.png; `make report RUN=… HTML=1` writes REPORT.html.
"""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path
from typing import Any

from tests.support.browser import BROWSERS, FLAGS
from tests.support.paths import ROOT
from tests.support.programs import program

PICTURE = ROOT / "docs" / "report.png"
_WIDTH, _HEIGHT = 1000, 700
_FRAME = """<body style="margin:0;padding:24px;background:#dfe5ec;font:600 14px sans-serif;color:#445">
<div style="border-radius:10px;overflow:hidden;box-shadow:0 6px 24px #0005;background:#fff">
<div style="background:#eef1f5;border-bottom:1px solid #ccd3db;padding:10px 14px">
<span style="color:#e0605a">●</span> <span style="color:#e0b040">●</span> <span style="color:#58b060">●</span>
&emsp;lth · {title}</div><img alt="" style="display:block;width:{width}px" src="data:image/png;base64,{image}">
</div></body>"""


def write_picture(browser: Any, report: Path, picture: Path = PICTURE) -> None:
    """Write the first screen of an HTML report in a frame as PNG."""
    page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
    page.goto(report.resolve().as_uri())
    image = base64.b64encode(page.screenshot()).decode()
    frame = browser.new_page(viewport={"width": _WIDTH + 48, "height": _HEIGHT + 92})
    frame.set_content(_FRAME.format(title=page.title(), width=_WIDTH, image=image))
    frame.screenshot(path=picture)


if __name__ == "__main__":
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROME") or program(*BROWSERS, package="chromium")
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=[*FLAGS, "--no-sandbox"])
        write_picture(opened, Path(sys.argv[1]))
        opened.close()
