"""The rows of a long run are packed while it lasts, and every reader finds each of them once."""

import gzip
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.packed import beginning_of, index_path, packed_path
from harness.base.secrets import mask_secrets
from harness.base.spellings import Spellings
from harness.jtl.inputs import Input, opened, resolve
from harness.metrics.files import read_tally
from harness.run import packing
from harness.run.directory import RunDirectory
from harness.run.jmeter.progress import JtlTail
from harness.run.packing import SamplesPacker, finish, pack, why_not
from tests.support.report_folder import HEAD

NO_SECRETS = Spellings(())
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux frees a part of a file this way")


class Killed(BaseException):
    """What ends the packer in the middle of a step."""


def rows(first: int, count: int, failure: str = "") -> bytes:
    """Return so many rows from this one on; each fifth spans two lines."""
    found = []
    for number in range(first, first + count):
        text = f'"two\nlines {number}"' if number % 5 == 0 else failure
        ok = "false" if text else "true"
        found.append(f"{1_700_000_000_000 + number},{number % 97},Pay,200,OK,Users 1-1,{ok},{text},300,100\n")
    return "".join(found).encode()


@pytest.fixture
def jtl(tmp_path):
    """A JTL that JMeter begins."""
    path = tmp_path / "run-01_1" / "samples.jtl"
    path.parent.mkdir()
    path.write_bytes(HEAD.encode() + b"\n")
    return path


def append(path: Path, data: bytes) -> bytes:
    with path.open("ab") as out:
        out.write(data)
    return data


def read(path: Path) -> bytes:
    """Return the text that every reader of a run's samples gets."""
    with opened(Input(path.name, RunDirectory(path.parent).samples)) as file:
        text = file.stream.read()
        assert file.truncated is None
        assert file.position() == file.size_bytes
    return text


@contextmanager
def killed_at(call: int) -> Iterator[None]:
    """Raise Killed before the C function with this number is called within the block, such as a system call."""
    left = call

    def look(_frame: object, event: str, _called: object) -> None:
        nonlocal left
        if event == "c_call":
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise Killed

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


def steps(jtl: Path, text: bytearray) -> Iterator[Callable[[], object]]:
    """Yield the steps of a run: JMeter writes, two steps pack, JMeter writes a torn row, the end."""
    text += append(jtl, rows(0, 40))
    first = pack(jtl, None, len(text), NO_SECRETS)
    text += append(jtl, rows(40, 60))
    to_bytes = len(text)
    text += append(jtl, rows(100, 10))
    yield lambda: pack(jtl, first, to_bytes, NO_SECRETS)
    text += append(jtl, rows(110, 20) + b"1700000000200,7,Pa")
    yield lambda: finish(jtl, beginning_of(jtl) or first, NO_SECRETS)


@pytest.mark.real
@pytest.mark.parametrize("broken_off", [0, pytest.param(1, marks=pytest.mark.real)], ids=["a step", "the end"])
def test_whenever_the_packer_is_killed_every_row_is_read_once(jtl, broken_off, monkeypatch):
    monkeypatch.setattr(packing.os, "fsync", lambda _: None)  # slow, and no test can cut the power
    chance, kill_count, is_killed = random.Random(7), 0, True
    while is_killed:
        kill_count += 1
        text = bytearray(jtl.write_bytes(HEAD.encode() + b"\n") and jtl.read_bytes())
        for part in (packed_path(jtl), index_path(jtl)):
            part.unlink(missing_ok=True)
        is_killed = False
        for number, step in enumerate(steps(jtl, text)):
            if number == broken_off:
                try:
                    with killed_at(kill_count):
                        step()
                except Killed:
                    is_killed = True
                    break
            else:
                step()
        beginning = beginning_of(jtl)
        if beginning and jtl.exists():  # what a crash of the machine may leave behind the synced rows
            with beginning.packed.open("r+b") as packed:
                packed.truncate(beginning.packed_bytes)
                packed.seek(beginning.packed_bytes)
                packed.write(chance.randbytes(chance.choice((0, 1, 500))))
        if is_killed and broken_off == 0:
            text += append(jtl, rows(200, 30))  # JMeter goes on
        assert read(jtl) == bytes(text), f"killed before call {kill_count}"
        if beginning and jtl.exists():
            finish(jtl, beginning, NO_SECRETS)
            assert gzip.decompress(packed_path(jtl).read_bytes()) == bytes(text)
        assert read(jtl) == bytes(text)
    assert kill_count > 30


def test_the_end_leaves_one_packed_file(jtl):
    text = bytearray(jtl.read_bytes())
    for step in steps(jtl, text):
        step()
    assert [path.name for path in jtl.parent.iterdir()] == ["samples.jtl.gz"]
    assert gzip.decompress(packed_path(jtl).read_bytes()) == bytes(text)
    directory = RunDirectory(jtl.parent)
    assert directory.samples == packed_path(jtl)
    assert directory.all_samples == (packed_path(jtl),)


def test_the_space_of_packed_rows_is_freed_and_their_offsets_stay(jtl):
    text = jtl.read_bytes() + append(jtl, rows(0, 20_000))
    before = jtl.stat()
    to_bytes = text.rindex(b"\n17", 0, len(text) - 5000) + 1
    pack(jtl, None, to_bytes, NO_SECRETS)
    after = jtl.stat()
    assert after.st_size == before.st_size
    assert after.st_blocks * 512 < 5000 + 2 * 4096 < before.st_blocks * 512 / 50
    assert packed_path(jtl).stat().st_size < to_bytes / 5
    assert read(jtl) == text


def test_metrics_are_those_of_the_plain_rows(jtl, tmp_path):
    text = bytearray(jtl.read_bytes())
    sides = steps(jtl, text)
    next(sides)()
    plain = tmp_path / "plain.jtl"
    expected = None
    for step in (lambda: None, lambda: next(sides)()):  # while the run lasts, and after its end
        step()
        plain.write_bytes(text)
        expected = read_tally(resolve([str(plain)]))
        packed = read_tally(resolve([str(jtl.parent)]))
        assert packed.groups() == expected.groups()
        assert packed.error_kinds() == expected.error_kinds()
        assert (packed.dropped.count, packed.dropped.first) == (expected.dropped.count, expected.dropped.first)
    assert expected is not None and expected.groups()[0].total.sample_count == 130


def test_a_jtl_and_its_packed_beginning_are_not_read_as_two_files(jtl):
    text = bytearray(jtl.read_bytes())
    next(steps(jtl, text))()
    assert [found.path for found in resolve([str(jtl.parent)])] == [jtl]
    with pytest.raises(UsageError, match="its samples would count twice"):
        resolve([str(jtl), str(packed_path(jtl))])


def test_a_damaged_index_is_an_error_and_not_an_empty_file(jtl):
    next(steps(jtl, bytearray(jtl.read_bytes())))()
    index_path(jtl).write_text('{"format_version": 1')
    with pytest.raises(UsageError, match=r"samples\.jtl\.packed: not the index of a packed JTL"):
        read(jtl)


@pytest.mark.real
def test_only_rows_that_progress_has_read_are_packed(jtl, monkeypatch):
    monkeypatch.setattr(packing, "_PERIOD_S", 0.001)
    text, counted, tail = jtl.read_bytes(), 0, JtlTail(jtl)
    with SamplesPacker(jtl, (), 2000, lambda: tail.offset) as packer:
        for number in range(100):
            text += append(jtl, rows(100 * number, 100))
            counted += tail.new_rows().row_count
        while packer.packed is None or len(text) - packer.packed.text_bytes >= 2000:
            time.sleep(0.001)
        assert packer.packed.text_bytes <= tail.offset
        assert read(jtl) == text
        text += append(jtl, rows(10_000, 3))  # written at JMeter's end
    assert counted == 10_000
    assert packer.problem == ""
    assert packer.packed.text_bytes == len(text)
    assert packer.packed.packed_bytes == packed_path(jtl).stat().st_size
    assert read(jtl) == text
    assert not jtl.exists()


@pytest.mark.real
def test_rows_are_packed_only_when_another_process_that_follows_the_file_has_read_them(jtl, monkeypatch):
    monkeypatch.setattr(packing, "_PERIOD_S", 0.001)
    text = jtl.read_bytes() + append(jtl, rows(0, 400))
    ends = [index + 1 for index, byte in enumerate(text) if byte == ord("\n")]
    given, packed, pack_rows = [], [], packing.pack

    def read_bytes():
        given.append(ends[min(len(given), len(ends) - 1)])
        return given[-1]

    def noted(jtl, before, to_bytes, spellings):
        packed.append((to_bytes, len(given)))
        return pack_rows(jtl, before, to_bytes, spellings)

    monkeypatch.setattr(packing, "pack", noted)
    with SamplesPacker(jtl, (), 2000, read_bytes):
        while len(packed) < 2:
            time.sleep(0.001)
    for to_bytes, read_count in packed[:2]:
        assert to_bytes == given[read_count - 1 - 3]  # what was read three periods, 3 s, before
    assert read(jtl) == text


def test_a_jtl_that_is_shorter_than_a_step_stays_as_it_is(jtl):
    text = jtl.read_bytes() + append(jtl, rows(0, 10))
    with SamplesPacker(jtl, (), len(text) + 1, lambda: len(text)) as packer:
        pass
    assert packer.packed is None
    assert [path.name for path in jtl.parent.iterdir()] == ["samples.jtl"]
    assert jtl.read_bytes() == text


def test_a_packer_that_fails_leaves_all_rows(jtl, monkeypatch):
    monkeypatch.setattr(packing, "_PERIOD_S", 0.001)
    text = jtl.read_bytes() + append(jtl, rows(0, 100))
    packed_path(jtl).mkdir()  # like any error of the disk
    with SamplesPacker(jtl, (), 100, lambda: len(text)) as packer:
        while not packer.problem:
            time.sleep(0.001)
    assert packer.problem == "Is a directory"
    assert jtl.read_bytes() == text
    assert RunDirectory(jtl.parent).samples == jtl


def test_secrets_are_masked_before_rows_are_packed_and_in_the_others_of_a_killed_run(jtl):
    secret = "hush12345"
    text = jtl.read_bytes() + append(jtl, rows(0, 400, f"token {secret} is wrong"))
    to_bytes = len(text)
    pack(jtl, None, to_bytes, Spellings((secret,)))
    text += append(jtl, rows(400, 50, f"token {secret} is wrong"))
    # Numbers that are in the index, too, are no secret of it.
    assert mask_secrets(jtl.parent, (secret, str(to_bytes))) == ("samples.jtl",)
    assert read(jtl) == text.replace(secret.encode(), "•••".encode())
    assert mask_secrets(jtl.parent, (secret,)) == ()


def test_a_system_that_cannot_free_a_part_of_a_file_is_named(tmp_path, monkeypatch):
    assert why_not(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(sys, "platform", "darwin")
    assert why_not(tmp_path) == "this operating system cannot free a part of a file"
