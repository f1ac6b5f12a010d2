"""Writes the pages of a site; of what did not change since the site was last written, the old files are used again."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from harness.base.kept import KeptData, Stamp, stamps
from harness.history.catalogue import Entry
from harness.run.directory import PLAN_NAME
from harness.site.pages import Page, Site, data_path


class _Added(NamedTuple):
    """A page that was rendered: what it is made of, which paths it asked for, its own files and those that it shows."""

    made_of: str
    asked: dict[str, bool]
    own: list[str]
    shown: tuple[str, ...]


class KeptPages:
    """The pages that are being written into `draft`, and those of the site in `output`, which it will replace."""

    def __init__(self, reports_dir: Path, output: Path, draft: Path) -> None:
        """Read what is known of the pages of the old site."""
        self.reports_dir = reports_dir
        self._output, self._draft = output, draft
        self._kept = KeptData("site", output)
        self._added: dict[str, _Added] = {}
        self._stamps: dict[str, list[Stamp] | None] = {}
        self._folders: set[str] = set()

    def stamp_of(self, entry: Entry) -> list[Stamp] | None:
        """Return the stamps of the files that the page of a run is made of; None when one may be changing."""
        if entry.id not in self._stamps:
            run = f"{self.reports_dir}/{entry.id}"
            self._stamps[entry.id] = stamps((f"{run}/run.json", f"{run}.json", f"{run}.md", f"{run}/{PLAN_NAME}"))
        return self._stamps[entry.id]

    def reuse(self, path: str, made_of: str, site: Site) -> bool:
        """Use the files of an old page again; False when it was made of something else, or was changed since.

        The links and images of a page depend on what else the site has.
        """
        old = self._kept.get(path, made_of) if made_of else None
        if not old or any(site.has(target) != is_there for target, is_there in old["asked"].items()):
            return False
        if any(_seen(f"{self._output}/{name}") != stamp for name, stamp in old["files"].items()):
            return False
        if any(_seen(f"{self.reports_dir}/{name}") != stamp for name, stamp in old["shown"].items()):
            return False
        for name in old["files"]:
            self._link(name)
        return True

    def _link(self, name: str) -> None:
        """Make an old file a file of the new site, without a copy where the disk can do that."""
        old, new = f"{self._output}/{name}", f"{self._draft}/{name}"
        folder = name.rpartition("/")[0]
        if folder not in self._folders:
            (self._draft / folder).mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)
        try:
            os.link(old, new)
        except FileExistsError:  # two pages may show one file
            pass
        except OSError:
            shutil.copy2(old, new)

    def add(self, page: Page, made_of: str = "") -> None:
        """Write a page with the files that it shows, and the data of a run where it has some."""
        own = [page.path]
        _write_text(self._draft / page.path, page.html)
        if page.data:
            own.append(data_path(page.path.removesuffix(".html")))
            _write_text(self._draft / own[-1], page.data)
        for name in page.files:
            target = self._draft / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)  # it may be a link to a file of the old site
            shutil.copyfile(self.reports_dir / name, target)
        self._kept.forget(page.path)
        if made_of:
            self._added[page.path] = _Added(made_of, dict(page.asked), own, page.files)

    def write(self) -> None:
        """Keep what is known of the new site, when it has taken the place of the old one."""
        for path, page in self._added.items():
            files = {name: _seen(f"{self._output}/{name}") for name in (*page.own, *page.shown)}
            shown = {name: _seen(f"{self.reports_dir}/{name}") for name in page.shown}
            self._kept.put(path, page.made_of, {"asked": page.asked, "files": files, "shown": shown})
        self._kept.write()


def made_of_text(*parts: object) -> str:
    """Return a short text that is another one when one of the parts, which are plain data, is."""
    return hashlib.sha256(repr(parts).encode(errors="surrogateescape")).hexdigest()


def _seen(path: str) -> list[int] | None:
    """Return size and last change (ns) of a file, whatever its links are; None without it."""
    try:
        status = os.stat(path)  # noqa: PTH116 - to make paths of so many texts takes longer
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
