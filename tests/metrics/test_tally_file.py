"""Tally files: the table of tallies is the one of their JTLs, to the byte; a damaged tally is one clear line."""

import gzip
import json
import random

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.jtl.inputs import Input
from harness.metrics.tally_file import from_bytes
from harness.report.jtls import Counting, summary_of_jtls

HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
    "allThreads,Latency,Connect"
)
TRANSACTION = '"Number of samples in transaction : 2, number of failing samples : 0"'
START_MS = 1_700_000_000_000


def rows(seed, count, generators=("",)):
    """Return the rows of a run: requests, transactions, setUp, once, errors, one torn row."""
    numbers = random.Random(seed)
    found = []
    for number in range(count):
        label = numbers.choice(("Search", '"Add, then pay"', "Größe", "Log in"))
        thread = f"{numbers.choice(generators)}{numbers.choice(('Users', 'Users', 'Users', 'setUp'))} 1-{number % 9}"
        code, is_ok, failure = (
            ("200", "true", "") if number % 11 else ("500", "false", f'"id {number}: ""no"", failed"')
        )
        message = TRANSACTION if number % 7 == 0 else "OK"
        found.append(
            f"{START_MS + 130 * number},{int(numbers.lognormvariate(5, 1))},{label},{code},{message},{thread},{is_ok},"
            f"{failure},{numbers.randrange(9000)},{numbers.randrange(300)},{3 + number % 4},{number % 50},{number % 3}"
        )
    found[count // 2] += ",torn"
    return found


def jtl(path, lines):
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path.name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys, *arguments, code=0):
    assert main(arguments) == code
    return capsys.readouterr()


def refused(*arguments):
    with pytest.raises(UsageError) as found:
        main(arguments)
    assert found.value.exit_code == 2
    text = str(found.value)
    assert "\n" not in text
    return text


def content_of(path):
    return json.loads(gzip.decompress(path.read_bytes()))


OPTIONS = (
    (),
    ("--layout", "wide", "--transactions"),
    ("--format", "csv", "--percentiles", "50,66.6,99.9"),
    ("--format", "json"),
    ("--label", "Search", "--sort", "p99"),
)


@pytest.mark.real
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_the_table_of_tallies_is_that_of_their_jtls_to_the_byte(options, folder, capsys):
    names = [
        jtl(folder / "a.jtl", rows(1, 400)),
        jtl(folder / "b.jtl", rows(2, 300, ("10.0.0.7:1099-", "10.0.0.8:1099-"))),
        jtl(folder / "c.jtl", rows(3, 200)),
    ]
    expected = printed(capsys, "table", *names, *options)
    printed(capsys, "tally", names[0], "-o", "a.tally")
    printed(capsys, "tally", names[1], names[2], "-o", "bc.tally")
    printed(capsys, "tally", "a.tally", "bc.tally", "-o", "all.tally")
    assert "3 of 900 rows of the JTL" in expected.out + expected.err  # the torn rows are counted through
    assert printed(capsys, "table", "a.tally", "bc.tally", *options) == expected
    assert printed(capsys, "table", "all.tally", *options) == expected
    assert printed(capsys, "table", "a.jtl", "bc.tally", *options) == expected


@pytest.mark.real
def test_generators_that_ran_at_once_have_no_clock_that_was_set_as_files_or_tallies(folder, capsys):
    names = [jtl(folder / f"{name}.jtl", rows(seed, 300)) for seed, name in enumerate("abc")]
    tallies = [name.replace(".jtl", ".tally") for name in names]
    for name, tally in zip(names, tallies, strict=True):
        printed(capsys, "tally", name, "-o", tally)
    for options in OPTIONS:
        expected = printed(capsys, "table", *names, *options)
        assert "clock" not in expected.out + expected.err
        assert printed(capsys, "table", *tallies, *options) == expected


def test_the_statistics_are_those_of_the_concatenated_jtls(folder, capsys):
    parts = [rows(seed, 300) for seed in (1, 2)]
    for name, part in zip("ab", parts, strict=True):
        printed(capsys, "tally", jtl(folder / f"{name}.jtl", part), "-o", f"{name}.tally")
    whole = jtl(folder / "whole.jtl", [*parts[0], *parts[1]])
    table = ("--layout", "wide", "--label", ".")
    found, expected = (printed(capsys, "table", *names, *table).out for names in (("a.tally", "b.tally"), (whole,)))
    assert found.count("\n| ") == expected.count("\n| ") >= 8
    assert [line for line in found.splitlines() if line.startswith("|")] == [
        line for line in expected.splitlines() if line.startswith("|")
    ]


@pytest.mark.real
def test_a_pause_of_few_users_stays_no_gap_in_the_table_of_a_tally(folder, capsys):
    lines = []
    for cycle in range(2):  # two users in step: 400 requests, ten seconds of pause
        for request in range(400):
            lines += [
                f"{START_MS + 210_000 * cycle + 500 * request},500,{('Search', 'Buy')[request % 2]},200,OK,"
                f"Users 1-{user},true,,9,9,2,1,0"
                for user in (1, 2)
            ]
    lines += lines[:40]
    cycled = [line.replace(line[:13], str(int(line[:13]) + 420_000)) for line in lines[-40:]]
    name = jtl(folder / "a.jtl", [*lines[:-40], *cycled])
    printed(capsys, "tally", name, "-o", "a.tally")
    content = content_of(folder / "a.tally")
    assert content["silences"]["long"]
    expected = printed(capsys, "table", name).out
    assert "offered-read" not in expected and "no sample ended" not in expected.lower()
    assert printed(capsys, "table", "a.tally").out == expected
    del content["silences"]
    content["silences"] = None
    (folder / "a.tally").write_bytes(text_of(content))
    assert printed(capsys, "table", "a.tally").out != expected


@pytest.mark.real
def test_the_tally_of_many_samples_is_small_and_its_bytes_depend_on_the_samples_only(folder, capsys):
    name = jtl(folder / "a.jtl", rows(1, 5000))
    for tally in ("one.tally", "two.tally"):
        printed(capsys, "tally", name, "-o", tally)
    data = (folder / "one.tally").read_bytes()
    assert data == (folder / "two.tally").read_bytes()
    assert len(data) < (folder / "a.jtl").stat().st_size / 10


def test_the_same_samples_in_two_tallies_are_refused(folder, capsys):
    for name, seed in (("a", 1), ("b", 2)):
        printed(capsys, "tally", jtl(folder / f"{name}.jtl", rows(seed, 50)), "-o", f"{name}.tally")
    printed(capsys, "tally", "a.tally", "b.tally", "-o", "all.tally")
    assert "all.tally: contains samples that a.tally contains, too" in refused("table", "a.tally", "all.tally")


def test_a_key_that_occurs_twice_is_refused(tally, folder):
    text = gzip.decompress(tally).replace(b'"dropped":', b'"first_ms":5,"dropped":')
    (folder / "x.tally").write_bytes(text)
    assert "x.tally: a damaged tally ('first_ms' occurs twice)" in refused("table", "x.tally")


def test_the_samples_of_a_file_and_of_its_tally_or_copy_are_not_counted_twice(folder, capsys):
    for name, seed in (("a", 1), ("b", 2)):
        printed(capsys, "tally", jtl(folder / f"{name}.jtl", rows(seed, 50)), "-o", f"{name}.tally")
    (folder / "copy.jtl").write_bytes((folder / "a.jtl").read_bytes())
    (folder / "copy.jtl.gz").write_bytes(gzip.compress((folder / "a.jtl").read_bytes()))
    assert "a.tally: contains samples that a.jtl contains, too" in refused("table", "a.jtl", "b.jtl", "a.tally")
    assert "a.jtl: contains samples that a.tally contains, too" in refused("table", "a.tally", "a.jtl")
    assert "copy.jtl: contains samples that a.jtl contains, too" in refused("table", "a.jtl", "b.jtl", "copy.jtl")
    assert "copy.jtl.gz: contains samples that a.jtl contains, too" in refused(
        "tally", "a.jtl", "copy.jtl.gz", "-o", "c.tally"
    )
    printed(capsys, "table", "a.jtl", "b.tally")


def test_a_tally_has_no_window(folder, capsys):
    printed(capsys, "tally", jtl(folder / "a.jtl", rows(1, 300)), "-o", "a.tally")
    assert "a.tally: a tally, which contains no samples" in refused("table", "a.tally", "--window", "5..20")
    with pytest.raises(UsageError, match="a tally, which contains no samples"):
        summary_of_jtls([Input("a.tally", folder / "a.tally")], Counting())


def test_only_a_name_of_a_tally_is_written_to(folder):
    name = jtl(folder / "a.jtl", rows(1, 5))
    assert "a.jtl: not the name of a tally; let it end with .tally" in refused("tally", name, "-o", name)
    assert "gone/ cannot be written" in refused("tally", name, "-o", "gone/a.tally")
    assert (folder / "a.jtl").read_text().startswith(HEADER)


def text_of(content):
    return json.dumps(content, separators=(",", ":")).encode()


@pytest.fixture(scope="module")
def tally(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tally")
    name = jtl(folder / "a.jtl", rows(1, 60))
    main(["tally", str(folder / name), "-o", str(folder / "a.tally")])
    return (folder / "a.tally").read_bytes()


def change(key, value):
    def changed(content):
        *path, last = key.split(".")
        for name in path:
            content = content[name]
        content[last] = value

    return changed


def first(key, value):
    def changed(content):
        *path, last = key.split(".")
        for name in path:
            content = content[name]
        content[last][0] = value

    return changed


HOSTILE = {
    "another version": (change("format_version", 1), "a tally of format_version 1; this version reads 2"),
    "a version that is no number": (change("format_version", [1]), "a tally of format_version [1]"),
    "an unknown key": (change("more", 1), "more is unknown"),
    "no files": (change("files", []), "files and back_ms do not fit together"),
    "a text for a number": (first("labels.error_count", "1"), "labels.error_count[0] is a text"),
    "a fraction": (first("labels.elapsed_sum_ms", 1.5), "labels.elapsed_sum_ms[0]"),
    "a negative sum": (first("labels.elapsed_sum_ms", -1), "a sum of labels contains -1"),
    "columns of different lengths": (change("labels.label", ["a"]), "labels has columns of different lengths"),
    "an unknown group": (first("labels.group", "other"), "labels.group 'other' is not one of load"),
    "a file that is not there": (first("labels.file", 1), "file 1 is not in files"),
    "times in a wrong order": (first("labels.elapsed_ms", "5:1 4:1"), "labels.elapsed_ms contains '4:1'"),
    "a time of no samples": (first("labels.elapsed_ms", "5:0"), "labels.elapsed_ms contains '5:0'"),
    "a time longer than any sample": (first("labels.elapsed_ms", "99999999999:1"), "labels.elapsed_ms contains"),
    "text instead of times": (first("labels.elapsed_ms", "a:b"), "invalid literal"),
    "fewer samples than codes say": (first("codes.sample_count", 10**6), "count different numbers of samples"),
    "fewer samples than seconds say": (first("requests.seconds.sample_count", 9), "count different numbers of samples"),
    "another sum of times": (first("labels.elapsed_sum_ms", 10**9), "is not the sum of its elapsed_ms"),
    "more errors than samples": (first("labels.error_count", 10**6), "labels has 1000000 errors in"),
    "more errors than labels say": (first("errors.count", 10**6), "count different numbers of samples"),
    "an error that no second has": (first("requests.seconds.error_count", 1), "numbers of samples, errors or"),
    "an average above the maximum": (first("requests.seconds.elapsed_sum_ms", 10**9), "errors or milliseconds"),
    "another first start": (change("first_ms", START_MS - 1), "first_ms is not the first start of labels"),
    "a time longer than the run": (
        lambda content: content["labels"]["last_ms"].__setitem__(0, content["labels"]["first_ms"][0]),
        "has a time that is longer than from its first_ms to its last_ms",
    ),
    "samples that wait without an end": (
        change("requests.waits", {"second": [1], "change": [9]}), "waits has samples without an end",
    ),
    "an end before the start": (first("labels.last_ms", 5), "labels.first_ms contains"),
    "a code of an unknown label": (first("codes.label", "other"), "'other' is not in labels"),
    "an error of an unknown label": (first("errors.label", "other"), "'other' is not in labels"),
    "a negative second": (first("requests.seconds.second", -1), "second contains -1"),
    "silences without lengths": (
        change("silences", {"with_transactions": False, "silence_ms": [1], "count": [], "pairs": [], "long": []}),
        "silences contains a length without a count",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_tally_with_impossible_content_is_refused_in_one_line(name, tally, folder):
    changed, part = HOSTILE[name]
    content = json.loads(gzip.decompress(tally))
    changed(content)
    (folder / "x.tally").write_bytes(gzip.compress(text_of(content)))
    text = refused("table", "x.tally")
    assert text.startswith("x.tally: a") and part in text, text


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.99])
def test_a_tally_that_is_cut_off_is_refused_in_one_line(ratio, tally, folder):
    (folder / "x.tally").write_bytes(tally[: int(ratio * len(tally))])
    assert "x.tally: a damaged tally (the gzip data is cut off)" in refused("table", "x.tally")
    (folder / "x.tally").write_bytes(gzip.decompress(tally)[:-20])
    assert "x.tally: a damaged tally" in refused("table", "x.tally")


def test_nesting_without_end_is_refused_in_one_line(folder):
    depth = 100_000
    (folder / "x.tally").write_bytes(
        b'{"kind":"tally","format_version":1,"files":' + b"[" * depth + b"]" * depth + b"}"
    )
    assert "x.tally: a damaged tally (nested too deeply)" in refused("table", "x.tally")


@pytest.mark.real
def test_a_tally_with_changed_bytes_makes_a_table_or_one_clear_line(tally):
    numbers = random.Random(5)
    text = gzip.decompress(tally)
    refused_count = 0
    for _ in range(300):
        index = numbers.randrange(len(text))
        changed = text[:index] + bytes([numbers.randrange(256)]) * numbers.randrange(4) + text[index + 1 :]
        try:
            found = from_bytes(changed, "x.tally", 0)
        except UsageError as error:
            refused_count += 1
            assert "\n" not in str(error)
        else:
            assert found.groups()
    assert 100 < refused_count < 300
