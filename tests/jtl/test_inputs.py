import codecs
import gzip
import os
import pty
import subprocess
import sys
import zlib

import pytest
import zstandard

from harness.base.errors import UsageError
from harness.jtl.inputs import Input, opened, resolve
from tests.support.paths import ROOT

CSV = (
    "timeStamp,elapsed,label,responseCode,success\n"
    + "".join(f"{1700000000000 + i},12,Pay,200,true\n" for i in range(50))
).encode()
XML = b'<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n<sample t="1" ts="2" lb="a" s="true"/>\n'
UTF_16 = codecs.BOM_UTF16_LE + CSV.decode().encode("utf-16-le")


def write(path, data=CSV):
    path.write_bytes(data)
    return path


def read(path):
    with opened(Input(path.name, path)) as jtl:
        return jtl.stream.read(), jtl.truncated


def names(*arguments):
    return [source.name for source in resolve([str(argument) for argument in arguments])]


def refusal(path) -> str:
    with pytest.raises(UsageError) as caught, opened(Input(path.name, path)):
        pass
    text = str(caught.value)
    assert "\n" not in text
    assert caught.value.exit_code == 2
    return text


# What arguments name.


def test_files_and_standard_input_keep_their_order(tmp_path):
    first, second = write(tmp_path / "b.jtl"), write(tmp_path / "a.jtl")
    assert resolve([str(first), "-", str(second)]) == (
        Input(str(first), first),
        Input("standard input", None),
        Input(str(second), second),
    )


def test_a_pattern_not_expanded_by_the_shell_is_matched_and_sorted(tmp_path):
    paths = [write(tmp_path / name) for name in ("gen2.jtl", "gen1.jtl", "other.csv")]
    assert names(tmp_path / "gen*.jtl") == [str(paths[1]), str(paths[0])]
    with pytest.raises(UsageError, match="matches no file"):
        names(tmp_path / "no*.jtl")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    path = write(tmp_path / "run[1].jtl")
    write(tmp_path / "run1.jtl")
    assert names(path) == [str(path)]


@pytest.mark.parametrize("name", ["samples.jtl", "samples.jtl.gz", "samples.jtl.zst"])
def test_the_folder_of_a_run_means_its_samples(tmp_path, name):
    write(tmp_path / name)
    write(tmp_path / "zz-extra.jtl")
    write(tmp_path / "telemetry.csv")
    assert names(tmp_path) == [str(tmp_path / name)]


def test_any_other_folder_means_its_jtls(tmp_path):
    for name in ("b.jtl.gz", "a.jtl", "c.jtl.zst", "telemetry.csv", "jmeter.log"):
        write(tmp_path / name)
    assert names(tmp_path) == [str(tmp_path / name) for name in ("a.jtl", "b.jtl.gz", "c.jtl.zst")]


def test_a_folder_without_samples_says_what_to_name(tmp_path):
    with pytest.raises(UsageError, match=r"a folder without samples.*; name a JTL, or the folder of a run"):
        names(tmp_path)
    write(tmp_path / "result.csv")
    with pytest.raises(UsageError, match=r"name one of its files: result\.csv"):
        names(tmp_path)
    for number in range(1, 8):
        (tmp_path / f"run-01_{number}").mkdir()
        write(tmp_path / f"run-01_{number}" / "samples.jtl")
    with pytest.raises(UsageError, match=r"one of its runs: run-01_1, run-01_2, run-01_3, run-01_4, run-01_5, …"):
        names(tmp_path)


def test_the_same_file_twice_is_refused(tmp_path):
    path = write(tmp_path / "a.jtl")
    (tmp_path / "link.jtl").symlink_to(path)
    with pytest.raises(UsageError, match=r"a\.jtl: given twice; its samples would count twice"):
        names(path, path)
    with pytest.raises(UsageError, match=r"link\.jtl: the same file as .*a\.jtl, given twice"):
        names(path, tmp_path / "link.jtl")
    with pytest.raises(UsageError, match="standard input: given twice"):
        names("-", "-")


def test_a_similar_name_is_suggested(tmp_path):
    write(tmp_path / "samples.jtl")
    with pytest.raises(UsageError, match=r"sample\.jtl: not found; did you mean samples\.jtl\?"):
        names(tmp_path / "sample.jtl")
    with pytest.raises(UsageError, match=r"not found; there is no folder .*nowhere"):
        names(tmp_path / "nowhere" / "samples.jtl")


def test_a_file_without_permission_is_named(tmp_path):
    path = write(tmp_path / "a.jtl")
    path.chmod(0)
    is_root = os.geteuid() == 0  # who may read everything
    if is_root:
        os.seteuid(65534)
    try:
        assert "no permission to read it; check its permissions with ls -l" in refusal(path)
    finally:
        if is_root:
            os.seteuid(0)


# What is in them.


@pytest.mark.parametrize("data", [CSV, XML, CSV * 2000], ids=["csv", "xml", "large"])
@pytest.mark.parametrize(
    "packed",
    [
        lambda data: data,
        gzip.compress,
        lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]) + b"\0" * 512,
        lambda data: zstandard.compress(data),
        lambda data: zstandard.compress(data[:50]) + zstandard.compress(data[50:]),
        lambda data: b"\x50\x2a\x4d\x18\x04\0\0\0size" + zstandard.compress(data),
    ],
    ids=["plain", "gzip", "gzip of two members", "zstd", "zstd of two frames", "pzstd"],
)
def test_compression_is_detected_by_content_and_not_by_name(tmp_path, packed, data):
    path = write(tmp_path / "a.jtl", packed(data))
    with opened(Input("a.jtl", path)) as jtl:
        assert jtl.kind == ("xml" if data is XML else "csv")
        assert jtl.is_plain == (packed(data) == data)
        assert jtl.size_bytes == path.stat().st_size
        assert jtl.stream.read(7) + jtl.stream.read() == data
        assert jtl.position() == path.stat().st_size
        assert jtl.truncated is None


def test_lines_of_a_stream_can_be_iterated(tmp_path):
    with opened(Input("a", write(tmp_path / "a.jtl", gzip.compress(CSV)))) as jtl:
        assert list(jtl.stream) == CSV.splitlines(keepends=True)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_of_a_windows_shell_is_read(tmp_path, encoding):
    data = "\ufeff".encode(encoding) + CSV.decode().replace("Pay", "café €").encode(encoding)
    path = write(tmp_path / "a.jtl", data)
    with opened(Input("a.jtl", path)) as jtl:
        assert (jtl.kind, jtl.is_plain) == ("csv", False)
        assert jtl.stream.read().decode() == CSV.decode().replace("Pay", "café €")
    assert read(write(tmp_path / "b.jtl", gzip.compress(UTF_16))) == (CSV, None)


def test_a_truncated_gzip_file_yields_its_content_and_a_warning(tmp_path):
    packed = gzip.compress(CSV)
    data, truncated = read(write(tmp_path / "a.gz", packed[:-30]))
    assert truncated == "the gzip data is cut off"
    assert CSV.startswith(data)
    assert len(data) > len(CSV) / 2
    assert read(write(tmp_path / "b.gz", packed[:-4])) == (CSV, "the gzip data is cut off")


def test_a_truncated_zstd_file_yields_its_complete_blocks(tmp_path):
    data = bytes(range(97, 123)) * 40_000
    packed = zstandard.compress(CSV) + zstandard.compress(data)
    got, truncated = read(write(tmp_path / "a.zst", packed[:-3]))
    assert (got.startswith(CSV), truncated) == (True, "the zstd data is cut off")
    assert len(got) > len(CSV) + 128 * 1024


def test_damage_is_named_and_the_data_before_it_counts(tmp_path):
    packed = bytearray(gzip.compress(CSV))
    packed[-5] ^= 1  # of the checksum
    assert read(write(tmp_path / "a.gz", bytes(packed))) == (CSV, "the gzip data is damaged")
    for name, bad in (("b.gz", gzip.compress(CSV) + b"rubbish"), ("b.zst", zstandard.compress(CSV) + b"rubbish")):
        data, truncated = read(write(tmp_path / name, bad))
        assert data == CSV
        assert truncated in ("other data follows the gzip data", "the zstd data is damaged")


@pytest.mark.real
def test_a_highly_compressed_file_needs_little_memory(tmp_path):
    code = (
        "import re, sys; from pathlib import Path; from harness.jtl.inputs import Input, opened\n"
        "with opened(Input('a', Path(sys.argv[1]))) as jtl:\n"
        "    count = 0\n"
        "    while chunk := jtl.stream.read(1 << 20): count += len(chunk)\n"
        "print(count, re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    compress = zlib.compressobj(wbits=31)
    compressor = zstandard.ZstdCompressor().compressobj()
    zeros = b"\0" * (1 << 20)
    packed = {"a.gz": compress.compress(CSV), "a.zst": compressor.compress(CSV)}
    for _ in range(300):
        packed["a.gz"] += compress.compress(zeros)
        packed["a.zst"] += compressor.compress(zeros)
    packed["a.gz"] += compress.flush()
    packed["a.zst"] += compressor.flush()
    for name, data in packed.items():
        path = write(tmp_path / name, data)
        done = subprocess.run(
            [sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
        )
        count, peak_kib = map(int, done.stdout.split())
        assert count == len(CSV) + 300 * len(zeros)
        assert peak_kib < 130 * 1024, name


def test_a_pipe_is_read_in_pieces_of_any_size(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    code = (
        "import sys; out = open(sys.argv[1], 'wb', 0); [out.write(bytes([byte])) for byte in sys.stdin.buffer.read()]"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE) as writer:
        writer.stdin.write(gzip.compress(CSV))
        writer.stdin.close()
        with opened(Input("fifo", path)) as jtl:
            assert (jtl.size_bytes, jtl.is_plain) == (None, False)
            assert jtl.stream.read() == CSV
            jtl.check_unchanged()


READ_STANDARD_INPUT = (
    "from harness.jtl.inputs import opened, resolve\n"
    "with opened(resolve(['-'])[0]) as jtl: print(jtl.kind, jtl.is_plain, jtl.size_bytes, len(jtl.stream.read()))"
)


@pytest.mark.real
def test_standard_input_is_a_file_or_a_pipe(tmp_path):
    command = [sys.executable, "-c", READ_STANDARD_INPUT]
    piped = subprocess.run(command, input=gzip.compress(CSV), cwd=ROOT, capture_output=True, check=True, timeout=30)
    assert piped.stdout.decode().split() == ["csv", "False", "None", str(len(CSV))]
    with write(tmp_path / "a.jtl").open("rb") as stream:
        given = subprocess.run(command, stdin=stream, cwd=ROOT, capture_output=True, check=True, timeout=30)
    assert given.stdout.decode().split() == ["csv", "False", str(len(CSV)), str(len(CSV))]


def test_a_terminal_is_not_waited_for():
    leader, follower = pty.openpty()
    try:
        path = os.ttyname(follower)
        with pytest.raises(UsageError, match=r"^standard input is a terminal; pipe a JTL into it"):
            terminal_as_input(follower)
        with pytest.raises(UsageError, match="is a terminal"), opened(resolve([path])[0]):
            pass
    finally:
        os.close(leader)
        os.close(follower)


def terminal_as_input(terminal):
    before = os.dup(0)
    os.dup2(terminal, 0)
    try:
        with opened(resolve(["-"])[0]):
            pass
    finally:
        os.dup2(before, 0)
        os.close(before)


# What is no JTL.


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "a: empty; JMeter wrote nothing to it"),
        (gzip.compress(b"", mtime=0), "a: empty;"),
        (gzip.compress(CSV, mtime=0)[:8], "a: the gzip data is cut off at its beginning"),
        (zstandard.compress(CSV)[:5], "a: the zstd data is cut off at its beginning"),
        (b'<?xml version="1.0"?>\n<jmeterTestPlan version="1.2">', "a JMeter plan (JMX), not a JTL"),
        (b"\n<!-- copied -->\n<jmeterTestPlan/>", "a JMeter plan (JMX), not a JTL"),
        (b"<!DOCTYPE html>\n<html><head>", "a web page, not a JTL"),
        (b"<HTML><body>404", "a web page, not a JTL"),
        (b'<?xml version="1.0"?><project xmlns="x">', "XML that begins with <project>, not a JTL"),
        (b'{\n  "format_version": 3,', "JSON, not a JTL; lth report takes the run's folder"),
        (b'[{"label": "a"}]', "JSON, not a JTL; name a JTL"),
        (b"PK\x03\x04\x14\x00", "a zip archive, not a JTL; unpack it"),
        (b"a/" + b"\0" * 255 + b"ustar\x0000" + b"\0" * 248 + CSV, "a tar archive, not a JTL; unpack it"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image, not a JTL"),
        (b"\xca\xfe\xba\xbe\0\0\0\x3d", "a Java class, not a JTL"),
        (b"\x7fELF\x02\x01\x01", "a program, not a JTL"),
        (b"PAR1\x15\x04", "a Parquet file, not a JTL"),
        (b"FLR\0\0\x02", "a Java flight recording, not a JTL"),
        (b"\xfd7zXZ\0\0", "compressed with xz, not a JTL; unpack it: unxz"),
        (bytes(range(256)) * 8, "a binary file, not a JTL"),
        (b"\0" * 5000, "a binary file, not a JTL"),
        (b"plain text\x01\x02", "a binary file, not a JTL"),
    ],
)  # fmt: skip
def test_another_kind_of_file_is_named_in_one_line(tmp_path, data, part):
    assert part in refusal(write(tmp_path / "a", data))


@pytest.mark.parametrize(
    "data",
    [
        CSV[:60] + b"\0" * 700 + CSV[60:],
        b"\0" * 20_000 + CSV,
        b"\0" * 20_000 + b"1700000000000|12|Pay|200\n",
        CSV.replace(b"Pay", b"caf\xe9 \x1b[1m \xff"),
        b"\xef\xbb\xbf" + CSV,
        b"1700000000000,12,a\x01b,200,true\n",
        b"some;columns;without;a;header\n",
    ],
    ids=["hole", "hole first", "hole, no header", "bytes", "mark", "control character", "no header"],
)
def test_a_damaged_or_unknown_table_is_passed_to_the_reader(tmp_path, data):
    path = write(tmp_path / "a.jtl", data)
    with opened(Input("a.jtl", path)) as jtl:
        assert jtl.kind == "csv"
        assert jtl.stream.read() == data


def test_xml_is_recognised_without_a_declaration_and_after_a_byte_order_mark(tmp_path):
    for data in (
        XML.split(b"\n", 1)[1],
        b"\xef\xbb\xbf\n" + XML,
        XML[:30],
        b'<httpSample t="1"/>',
        b"<?xml-stylesheet?>" + XML,
    ):
        with opened(Input("a", write(tmp_path / "a.jtl", data))) as jtl:
            assert jtl.kind == "xml"


# What changes.


def test_a_file_that_grows_while_it_is_read_is_named(tmp_path):
    path = write(tmp_path / "samples.jtl")
    with opened(Input("samples.jtl", path)) as jtl:
        jtl.stream.read()
        jtl.check_unchanged()
        with path.open("ab") as more:
            more.write(b"1700000000100,12,Pay,200,true\n")
        with pytest.raises(UsageError) as caught:
            jtl.check_unchanged()
    size = len(CSV)
    assert str(caught.value) == (
        f"samples.jtl: grew from {size:,} to {size + 30:,} bytes while it was read: the run is still in progress; "
        "wait until it ends, or copy the file first"
    )


def test_a_large_growth_is_reported_in_mb_and_a_rewrite_as_such(tmp_path):
    path = write(tmp_path / "samples.jtl", CSV + b"\n" * (3 << 20))
    with opened(Input("samples.jtl", path)) as jtl:
        os.truncate(path, 8 << 20)
        with pytest.raises(UsageError, match="grew from 3 to 8 MB while it was read"):
            jtl.check_unchanged()
    with opened(Input("samples.jtl", path)) as jtl:
        os.utime(path, (1, 1))
        with pytest.raises(UsageError, match="was written to while it was read"):
            jtl.check_unchanged()


def test_zstandard_is_not_imported_for_other_files(tmp_path):
    code = (
        "import sys; from pathlib import Path; from harness.jtl.inputs import Input, opened\n"
        "with opened(Input('a', Path(sys.argv[1]))) as jtl: jtl.stream.read()\n"
        "print(sorted({'zstandard', 'rich', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    path = write(tmp_path / "a.jtl", gzip.compress(CSV))
    done = subprocess.run([sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
