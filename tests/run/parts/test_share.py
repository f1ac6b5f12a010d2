"""The share of a part: users, rates and rows of data files add up to those of the run, and no row is used twice."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.cli import verbs
from harness.experiment.warm import WarmLevel, WarmUp
from harness.plan.data_rows import read_data
from harness.plan.division import check_users, count_of_parts, part_of
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import ClosedLoad, OpenLoad, Part, parse_part
from harness.run.parts.drive import difference
from harness.run.parts.launchers import parse_places
from harness.run.parts.share import check_rows, check_start, keep_rows, parse_start, part_arguments
from harness.run.request import resolve_request

JMX = """<jmeterTestPlan version="1.2"><hashTree><TestPlan testclass="TestPlan" testname="Shop"/><hashTree>
<CSVDataSet testclass="CSVDataSet" testname="Customers"><stringProp name="filename">customers.csv</stringProp>
<stringProp name="variableNames">{names}</stringProp><stringProp name="recycle">true</stringProp>
<stringProp name="shareMode">shareMode.{mode}</stringProp></CSVDataSet>
<hashTree/></hashTree></hashTree></jmeterTestPlan>
"""


def plan_with_rows(folder, lines, names="customer", mode="all"):
    (folder / "customers.csv").write_text("".join(f"{line}\n" for line in lines))
    (folder / "shop.jmx").write_text(JMX.format(names=names, mode=mode))
    return folder / "shop.jmx"


@given(st.integers(1, 20), st.data())
def test_the_parts_of_a_load_add_up_to_it_and_differ_by_at_most_one_user(count, data):
    load = ClosedLoad(data.draw(st.integers(count, 500)), 5.0, 60.0, None, requests=1000)
    parts = [part_of(load, Part(number, count)) for number in range(1, count + 1)]
    users = [part.users for part in parts]
    assert sum(users) == load.users
    assert max(users) - min(users) <= 1
    # Only the whole run knows when it has 1000 samples.
    assert {replace(part, users=0) for part in parts} == {replace(load, users=0, requests=None)}
    rates = [part_of(OpenLoad(10.0, 0.0, 60.0), Part(number, count)).rate_per_s for number in range(1, count + 1)]
    assert sum(rates) == pytest.approx(10.0, rel=1e-12)


def test_a_run_with_more_parts_than_users_is_refused():
    check_users(ClosedLoad(3, 0.0, 10.0, None), 3)
    with pytest.raises(UsageError, match="--users=3 is less than the 4 generators"):
        check_users(ClosedLoad(3, 0.0, 10.0, None), 4)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 12))
def test_a_level_has_as_many_parts_as_can_each_have_a_user_of_each_load(users, most):
    """A load without users has a rate, which any number of parts shares."""
    stages = [Stage(one or None, None if one else 3.0, 0.0, 9.0) for one in users]
    load = SeveralLoads(tuple(GroupLoad(f"load {n}", (stage,)) for n, stage in enumerate(stages)))
    count = count_of_parts(load, most)
    check_users(load, count)
    assert 1 <= count <= most
    assert count == min([most, *filter(None, users)])
    assert count_of_parts(OpenLoad(5.0, 0.0, 60.0), most) == most
    assert count_of_parts(ClosedLoad(2, 0.0, 60.0, None), most) == min(most, 2)


@pytest.mark.parametrize("text", ["3", "0/2", "3/2", "1/101", "a/b", "1/2/3", "-1/2"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(UsageError, match="not a part of a run"):
        parse_part(text)


@pytest.mark.parametrize("names", ["customer", ""])  # without names the first line is a header
def test_no_row_of_a_data_file_is_in_two_parts_and_none_is_lost(tmp_path, names):
    head, rows = ([] if names else ["customer"]), [f"c{number}" for number in range(7)]
    found = []
    for number in (1, 2, 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        keep_rows(folder, plan_with_rows(folder, [*head, *rows], names), (), {}, Part(number, 3))
        own = (folder / "customers.csv").read_text().split()
        assert own[: len(head)] == head
        found.append(own[len(head) :])
    assert found == [["c0", "c3", "c6"], ["c1", "c4"], ["c2", "c5"]]


TENANTS = """<jmeterTestPlan version="1.2"><hashTree><TestPlan testclass="TestPlan" testname="Shop"/><hashTree>
<ThreadGroup testname="Browse"/><hashTree>
<CSVDataSet testclass="CSVDataSet" testname="Customers">
<stringProp name="filename">${__P(customers,all.csv)}</stringProp><stringProp name="variableNames">customer</stringProp>
</CSVDataSet><hashTree/></hashTree></hashTree></hashTree></jmeterTestPlan>
"""


def tenants(**files: str) -> list[GroupLoad]:
    stages = (Stage(2, None, 0.0, 9.0),)
    named = files.items()
    return [GroupLoad(f"Browse ({name})", stages, tenant=name, properties={"customers": file}) for name, file in named]


def test_no_row_of_the_file_of_a_tenant_is_in_two_parts(tmp_path):
    found: dict[str, list[list[str]]] = {"a.csv": [], "b.csv": []}
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "shop.jmx").write_text(TENANTS)
        for file in found:
            (folder / file).write_text("".join(f"{file[0]}{row}\n" for row in range(3)))
        assert keep_rows(folder, folder / "shop.jmx", tenants(one="a.csv", two="b.csv"), {}, Part(number, 2)) == {}
        for file, parts in found.items():
            parts.append((folder / file).read_text().split())
    assert found == {"a.csv": [["a0", "a2"], ["a1"]], "b.csv": [["b0", "b2"], ["b1"]]}


def test_tenants_who_share_a_file_share_the_rows_of_a_part(tmp_path):
    (tmp_path / "shop.jmx").write_text(TENANTS)
    (tmp_path / "a.csv").write_text("a0\na1\na2\n")
    keep_rows(tmp_path, tmp_path / "shop.jmx", tenants(one="a.csv", two="a.csv"), {}, Part(1, 2))
    assert (tmp_path / "a.csv").read_text().split() == ["a0", "a2"]


def test_the_file_of_a_tenant_that_cannot_be_divided_is_refused(tmp_path):
    (tmp_path / "shop.jmx").write_text(TENANTS)
    (tmp_path / "a.csv").write_text("a0\na1\n")
    with pytest.raises(UsageError, match=r"a\.csv has 2 rows for 3 parts"):
        check_rows(read_data(tmp_path, tmp_path / "shop.jmx", tenants(one="a.csv"), {}), 3)
    with pytest.raises(
        UsageError, match=r"/a\.csv is read where it is, so each of 2 parts would use all its rows; put it"
    ):
        check_rows(read_data(tmp_path, tmp_path / "shop.jmx", tenants(one=str(tmp_path / "a.csv")), {}), 2)


def test_each_user_of_a_part_still_reads_a_whole_file_that_users_do_not_share(tmp_path):
    jmx = plan_with_rows(tmp_path, ["a"], mode="thread")
    keep_rows(tmp_path, jmx, (), {}, Part(2, 2))
    assert (tmp_path / "customers.csv").read_text() == "a\n"


def test_a_data_file_with_fewer_rows_than_parts_is_refused(tmp_path):
    jmx = plan_with_rows(tmp_path, ["customer", "a", "b", ""], names="")
    check_rows(read_data(tmp_path, jmx, (), {}), 2)
    with pytest.raises(UsageError, match=r"customers\.csv has 2 rows for 3 parts, so one would have none; add rows"):
        check_rows(read_data(tmp_path, jmx, (), {}), 3)


def test_the_time_of_the_start_has_a_zone_and_is_not_over():
    assert parse_start("1970-01-01T00:00:01.500Z") == 1500
    check_start("2999-01-01T00:00:00Z")
    for text, message in [
        ("noon", "not a time"),
        ("2999-01-01T00:00:00", "no time zone"),
        ("1999-01-01Z", "not a time"),
    ]:
        with pytest.raises(UsageError, match=message):
            check_start(text)
    with pytest.raises(UsageError, match="s ago by the clock of this machine"):
        check_start("1999-01-01T00:00:00Z")


def test_the_places_of_parts_are_this_machine_or_hosts_for_ssh():
    assert [place.name for place in parse_places("local:2")] == ["local-1", "local-2"]
    here, there = parse_places("ssh:127.0.0.2,perf@gen2:2222")
    assert (here.name, here.is_here, there.name, there.is_here) == ("127.0.0.2", True, "gen2:2222", False)
    assert there.argv[:2] == ("ssh", "-T")
    assert there.argv[-5:-1] == ("-p", "2222", "--", "perf@gen2")
    assert there.by_hand == "ssh -o BatchMode=yes -p 2222 perf@gen2 python3 -V"


def test_parts_have_the_same_jmeter_and_java_release():
    own = {"java": "17.0.15", "jmeter": "5.6.3"}
    assert difference({"gen1": own, "gen2": {**own, "java": "17.0.2"}}) == ""
    assert difference({"gen1": own, "gen2": own, "gen3": {**own, "java": "21.0.1"}}) == (
        "gen1 has Java 17.0.15, gen3 has 21.0.1"
    )
    assert difference({"gen1": own, "gen2": {"java": "17.0.15"}}) == "gen1 has JMeter 5.6.3, gen2 has not"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gen1", "no such place; give local:2, ssh:gen1,gen2, or k8s:NAMESPACE/8"),
        ("local:0", "not a whole number from 1 to 100"),
        ("ssh:", "no such place"),
        ("ssh:gen1,", "an empty part is no host"),
        ("ssh:-oProxyCommand=x", "is no host"),
        ("ssh:gen1,me@gen1", "gen1 is repeated"),
    ],
)
def test_what_is_no_place_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse_places(text)


@pytest.fixture
def level_of(home):
    """Return the request and the options of a command with the tiny plan."""

    def of(*words):
        folders = (f"--home={home}", "--target=http://127.0.0.1:9")
        options = verbs._parsed((words[0], "tiny", *folders, "--on=local:2", *words[1:]), "lth").options
        return resolve_request(options), options

    return of


def test_the_parts_of_a_level_get_its_users_and_the_other_options_of_the_load(level_of):
    request, options = level_of("sweep", "-u", "1,5", "-d", "20", "--ramp=3", "-H", "A: b", "--goal=p90<1s", "--max=1h")
    level = WarmLevel(request, ClosedLoad(5, 3.0, 20.0, None), "", 5)
    found = part_arguments(options, request, level.load_options)
    assert set(found) == {"--header=A: b", "--ramp=3", "--duration=20", "--users=5"}


def test_a_warm_up_has_its_own_length_whatever_that_of_the_levels_is(level_of):
    request, options = level_of("sweep", "-u", "2,5", "--requests=500", "--ramp=3", "-d", "20")
    found = part_arguments(options, request, WarmUp(2, 30.0).load_options)
    assert set(found) == {"--users=2", "--duration=30"}


def test_the_runs_of_an_open_trust_test_have_its_rate_alone(level_of):
    request, options = level_of("trust", "--rate=4", "-d", "20")
    level = WarmLevel(request, OpenLoad(4.0, 0.0, 20.0), "", None)
    assert set(part_arguments(options, request, level.load_options)) == {"--rate=4", "--duration=20"}
