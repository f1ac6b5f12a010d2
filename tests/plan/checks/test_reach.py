"""Load cannot leave the target: what a plan may reach, judged before anything is started."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.plan.load.groups import SeveralLoads
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.spec import parse_system
from harness.run.preflight import check_request
from tests.plan.checks.conftest import TARGET
from tests.support.off_host import (
    ALIAS,
    ENDS,
    REFUSED,
    SCHEDULER,
    element,
    flag,
    host,
    jmx,
    request,
    script,
    text,
    variables,
)
from tests.support.paths import ROOT
from tests.support.requests import request_of


def refusal(check, *arguments, **options) -> str:
    with pytest.raises(UsageError) as error:
        check(*arguments, **options)
    return str(error.value)


@pytest.mark.real
@pytest.mark.parametrize("name", REFUSED)
def test_a_plan_that_can_reach_another_host_is_refused(check, name):
    in_group, beside, message = REFUSED[name]
    for target in (TARGET, None):
        refused = refusal(check, jmx(in_group, beside), target)
        assert refused.startswith("plans/tiny.jmx:")
        assert message in refused


def test_the_refusal_names_the_element_its_destination_and_the_remedy(check):
    plan = jmx(request(host(f"${{__P(hosst,{ALIAS})}}")))
    line = plan[: plan.index('testname="Buy"')].count("\n") + 1
    assert refusal(check, plan) == (
        f"plans/tiny.jmx:{line}: Off host > Users > Buy: uses the host {ALIAS} (${{__P(hosst,{ALIAS})}}); "
        f'the target has 127.0.0.1; write ${{__P(host,127.0.0.1)}} instead, or add hosts = ["{ALIAS}"] under [allow] '
        "in the plan's TOML"
    )


def test_several_findings_are_all_named(check):
    refused = refusal(check, jmx(request(host(ALIAS)) + request(flag("HTTPSampler.image_parser"), name="Pay")))
    assert refused.splitlines()[0] == ("plans/tiny.jmx: 2 problems prevent this run; correct them:")
    assert [line.split(": ")[1] for line in refused.splitlines()[1:]] == [
        "Off host > Users > Buy",
        "Off host > Users > Pay",
    ]


def test_scripts_run_refuses_such_a_plan_with_code_2_before_anything_starts(refused, home, target):
    (home / "plans" / "tiny.jmx").write_text(jmx(request(host(ALIAS))))
    assert f"uses the host {ALIAS}" in refused("--target", target)
    assert f"uses the host {ALIAS}" in refused()


@pytest.mark.parametrize("name", ["sweep", "capacity"])
def test_a_sweep_and_a_search_refuse_it_too(home, tmp_path, target, name):
    (home / "plans" / "tiny.jmx").write_text(jmx(request(host(ALIAS))))
    more = ["--users", "1,2"] if name == "sweep" else []
    folders = ["--home", str(home), "--reports", str(tmp_path / "reports"), "--build", str(tmp_path / "build")]
    with pytest.raises(UsageError, match=f"uses the host {ALIAS}"):
        main(["--plan", "tiny", "--target", target, *more, *folders], f"scripts/{name}")
    assert not (tmp_path / "reports").exists()


ALLOWED = {
    "redirects within the target": (
        request(flag("HTTPSampler.follow_redirects")) + request(flag("HTTPSampler.auto_redirects"), name="Pay"), ""
    ),
    "the target by its properties": (request(), ""),
    "the target by its address": (request(host("127.0.0.1")), ""),
    "the whole address of the target": (request(path="${scheme}://${host}:${port}/buy"), ""),
    "an address in the query": (request(path=f"/?to=http://{ALIAS}"), ""),
    "a value of an answer within the path": (
        request(path="/a/${next}", below=element("RegexExtractor", "Next", text("RegexExtractor.refname", "next"))), "",
    ),
    "paths out of a CSV file": (
        element("CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "path,x"))
        + request(path="${__P(base_path,)}${path}"), "",
    ),
    "disabled elements": (request(host(ALIAS)).replace("testname", 'enabled="false" testname') + request(), ""),
    "elements below a disabled one": (
        element("LoopController", "Off", below=request(host(ALIAS))).replace("testname", 'enabled="false" testname', 1)
        + request(), "",
    ),
    "JEXL that compares": (
        element(
            "IfController", "When", flag("IfController.useExpression"),
            text(
                "IfController.condition", '${__jexl3(vars.get("a") == "x y" && ${n} > 1 || empty(${n}))}',
            ),
            below=request(),
        ), variables(n="2"),
    ),
    "JavaScript that compares": (
        element("IfController", "When", text("IfController.condition", '"${n}" == "2"'), below=request()),
        variables(n="2"),
    ),
    "samples of Java Request's own test": (
        element("JavaSampler", "Sleep", text("classname", "org.apache.jmeter.protocol.java.test.SleepTest"))
        + request(),
        "",
    ),
    "plugins that send nothing": (
        element("com.blazemeter.jmeter.controller.ParallelSampler", "Both", below=request())
        + element("kg.apc.jmeter.samplers.DummySampler", "Dummy")
        + element("kg.apc.jmeter.timers.VariableThroughputTimer", "Shape")
        + element("com.blazemeter.jmeter.RandomCSVDataSetConfig", "Random rows"), "",
    ),
    "usual elements": (
        "".join(
            element(kind, kind)
            for kind in (
                "HeaderManager", "CookieManager", "CacheManager", "AuthManager", "KeystoreConfig",
                "RandomVariableConfig",
                "TransactionController", "ModuleController", "TestFragmentController", "WhileController",
                "ThroughputController", "OnceOnlyController", "CriticalSectionController", "UniformRandomTimer",
                "ConstantThroughputTimer", "ResponseAssertion", "JSONPathAssertion", "DurationAssertion",
                "RegexExtractor", "XPath2Extractor", "HtmlExtractor", "JMESPathExtractor", "DebugPostProcessor",
                "TestAction", "DebugSampler", "ResultCollector", "InterleaveControl", "RunTime", "AnchorModifier",
                "JavaConfig", "HttpMirrorControl", "RegExUserParameters", "ProxyControl", "RandomController",
                "org.apache.jmeter.control.SwitchController", "SubstitutionElement",
            )
        ) + request(), "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_requests_to_the_target_are_not_refused(check, name):
    for target in (TARGET, None):
        check(jmx(*ALLOWED[name]), target)


def test_a_plan_that_permits_redirects_as_earlier_versions_needed_it_is_accepted(check):
    check(jmx(request(flag("HTTPSampler.follow_redirects"))), allow="redirects = true")


def test_urls_from_a_csv_file_are_refused(check, home):
    rows = element("CSVDataSet", "Rows", text("filename", "paths.csv"), text("variableNames", "path"))
    (home / "plans" / "paths.csv").write_text(f"/a\nHTTP://{ALIAS}/b\n")
    refused = refusal(check, jmx(rows + request(path="${path}")))
    assert f"its path is the URL HTTP://{ALIAS}/b" in refused


def test_elements_of_a_disabled_group_count_when_a_module_controller_may_run_them(check):
    off = element("ThreadGroup", "Parts", below=request(host(ALIAS))).replace("testname", 'enabled="false" testname', 1)
    check(jmx(request(), off))
    assert f"uses the host {ALIAS}" in refusal(check, jmx(element("ModuleController", "Part") + request(), off))


OPT_INS = {
    "scripts = true": (
        "JSR223PostProcessor", "BeanShellSampler", "SystemSampler", "Groovy function", "classes of its own",
    ),
    "embedded_resources = true": ("embedded resources",),
    "other_protocols = true": ("JDBCSampler", "BackendListener", "com.shop.GraphSampler"),
    f'hosts = ["{ALIAS}"]': (
        "fixed host", "User Defined Variables", "address in the path", "proxy", "host out of a CSV Data Set",
        "static hosts of a DNS Cache Manager", "path that is a variable of an answer",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "name"), [(line, name) for line, names in OPT_INS.items() for name in names])
def test_one_line_in_the_plan_allows_it(check, line, name):
    in_group, beside, _ = REFUSED[name]
    check(jmx(in_group, beside), allow=line, profile=f'allowed_targets = ["{ALIAS}"]\n')


@pytest.mark.parametrize("profile", ["", 'allowed_targets = ["10.255.255.8", "10.255.255.9:81"]\n'])
def test_a_host_that_a_plan_allows_must_be_allowed_by_the_profile(check, profile):
    refused = refusal(check, jmx(request()), allow=f'hosts = ["{ALIAS}:80"]', profile=profile)
    assert refused == (
        f"plans/tiny.toml [allow] hosts has '{ALIAS}:80': {ALIAS} is not this machine, and env/local.toml does not "
        f'allow it; if you may load it, add "{ALIAS}:80" to allowed_targets there'
    )


def test_a_host_on_this_machine_needs_no_profile(check):
    check(jmx(request(host("127.0.0.2"))), allow='hosts = ["127.0.0.2:8099"]')


@pytest.mark.parametrize("allow", ["scripts = 1", "script = true", 'hosts = "a.example"', 'hosts = ["*.example.org"]'])
def test_an_invalid_opt_in_is_refused(check, allow):
    assert "plans/tiny.toml [allow]" in refusal(
        check, jmx(request()), allow=allow, profile='allowed_targets = ["*.example.org"]\n'
    )


GROUP_USERS = text("ThreadGroup.num_threads", "${__P(users,1)}")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (GROUP_USERS, text("ThreadGroup.num_threads", "5"), "Users: has 5; the run has 2 (users)"),
        ("${__P(users,1)}", "${__P(user,1)}", "Users: has ${__P(user,1)}; the run has 2 (users)"),
        ("${__P(ramp_s,0)}", "${__P(ramp,7)}", "Users: has ${__P(ramp,7)}; the run has 0 (ramp_s)"),
        ("${__P(duration_s,2)}", "300", "Users: has 300; the run has 2 (duration_s)"),
        (text("ThreadGroup.duration", "${__P(duration_s,2)}"), "", "Users: ignores duration_s of the run, 2"),
        (SCHEDULER, "", "its scheduler is off"),
        ("${__P(loops,-1)}", "3", "ends after 3 loops, even before the duration is over"),
    ],
)
def test_a_plan_that_ignores_the_load_is_refused(check, old, new, message):
    plan = jmx(request())
    assert old in plan
    assert message in refusal(check, plan.replace(old, new))


def test_a_plan_whose_groups_start_more_users_than_requested_is_refused(check):
    plan = jmx(request()).replace(GROUP_USERS, text("ThreadGroup.num_threads", "5"))
    start = plan.index("<ThreadGroup ")
    end = plan.index("</hashTree>\n</hashTree>")
    second = plan[start:end].replace("Users", "Others").replace(">5<", ">3<")
    refused = refusal(check, plan[:end] + second + plan[end:], load=LoadArguments(users="1"))
    assert "its thread groups (Users, Others) start 8 users; the run has 1" in refused
    check(plan[:end] + second + plan[end:], load=LoadArguments(users="8"))


def test_loops_need_a_plan_that_reads_them(check):
    load = LoadArguments(loops="4")
    check(jmx(request()), load=load)
    refused = refusal(check, jmx(request()).replace(SCHEDULER, flag("ThreadGroup.scheduler")), load=load)
    assert "Users: its scheduler is on, but this run has no duration" in refused
    assert "Users: loops forever and ignores --loops" in refusal(check, jmx(request()).replace(ENDS, ""), load=load)
    refused = refusal(check, jmx(request()).replace("${__P(loops,-1)}", "-1"), load=load)
    assert "Users: has -1; the run has 4 (loops)" in refused


def test_an_open_load_needs_a_group_named_users(check):
    load = LoadArguments(rate="5", duration="60")
    check(jmx(request()), load=load)
    refused = refusal(check, jmx(request()).replace('testname="Users"', 'testname="Load"'), load=load)
    assert "0 Thread Groups are named Users" in refused


def test_a_path_of_the_target_needs_a_plan_that_reads_it(check):
    refused = refusal(check, jmx(request()), f"{TARGET}/shop")
    assert "ignores the path /shop of --target: no element uses the property base_path" in refused
    check(jmx(request(path="${__P(base_path,)}/buy")), f"{TARGET}/shop")


def test_missing_data_is_reported_before_the_start(check):
    refused = refusal(
        check, jmx(element("CSVDataSet", "Rows", text("filename", "gone.csv"), text("variableNames", "a")))
    )
    assert "Rows: the file gone.csv is missing" in refused


def test_a_request_without_host_port_or_scheme_needs_the_defaults_of_the_target(check):
    assert "has no host" in refusal(check, jmx(request(), domain=""))
    plan = jmx(request())
    assert "has no port: it uses 80, not 8098" in refusal(check, plan.replace(text("HTTPSampler.port", "${port}"), ""))
    refused = refusal(check, plan.replace(text("HTTPSampler.protocol", "${scheme}"), ""), "https://127.0.0.1:8098")
    assert "uses http, not https" in refused


@pytest.mark.real
@pytest.mark.parametrize(
    "name",
    [
        name if name == "lb-nginx" else pytest.param(name, marks=pytest.mark.real)
        for name in sorted(path.stem for path in (ROOT / "plans").glob("*.toml"))
    ],
)
def test_every_plan_of_the_project_may_run(name, monkeypatch):
    for secret in ("FOLIO_TENANT", "FOLIO_USERNAME", "FOLIO_PASSWORD"):
        monkeypatch.setenv(secret, "opensesame")
    for target in ("https://localhost", "http://127.0.0.1:8290/stocks"):
        requested = request_of(ROOT, ROOT / "build", name, "local", target)
        loads = requested.plan.load.loads
        for arguments in (
            LoadArguments(),
            # Arrivals and stages of several loads end by time.
            LoadArguments(users="2") if loads else LoadArguments(users="1", loops="2"),
            LoadArguments(duration="60"),
            # A plan whose loads are all closed has no rate to scale.
            *([] if loads and not SeveralLoads(loads).has_open else [LoadArguments(rate="5", duration="60")]),
        ):
            check_request(requested, resolve_load(parse_load(arguments), requested.plan.load))


@pytest.mark.parametrize(
    "output",
    [
        *(element("ResultSaver", "Keep", text("FileSaver.filename", name)) for name in (
            "foreign-connections.txt", "./foreign-connections", "run.json", "samples", "${__P(dump_dir,.)}/samples.jtl",
            "foreign-connections-", "../run-01_1/run.json", "/reports/tiny/run-01_1/samples.jtl", "system/web",
            "${answer}", "/tmp/${answer}", "answers/${answer}/../${answer}",
        )),
        element("ResultCollector", "Keep", text("filename", "samples.jtl")),
        element("kg.apc.jmeter.vizualizers.CorrectedResultCollector", "Keep", text("filename", "telemetry.csv")),
        request(path="/${__StringToFile(jmeter.log,x)}", name="Keep"),
    ],
)  # fmt: skip
def test_a_listener_that_writes_to_a_file_of_the_run_is_refused(check, output):
    extractor = element("RegexExtractor", "Next", text("RegexExtractor.refname", "answer"))
    refused = refusal(check, jmx(request(below=extractor) + output), allow="scripts = true\nredirects = true")
    assert "Keep: writes to " in refused
    assert refused.count("\n") == 0


@pytest.mark.parametrize(
    "output",
    [
        *(element("ResultSaver", "Keep", text("FileSaver.filename", name)) for name in (
            "${__P(dump_dir,.)}/metrics-after.json", "answers/Buy", "answers/buy-${answer}", "sample", "/tmp/shop/Buy",
        )),
        *(element("ResultCollector", "Keep", text("filename", name)) for name in ("", "results.csv", "samples")),
    ],
)  # fmt: skip
def test_a_listener_with_a_file_of_its_own_is_not_refused(check, output):
    extractor = element("RegexExtractor", "Next", text("RegexExtractor.refname", "answer"))
    check(jmx(request(below=extractor) + output))


def test_a_script_that_is_allowed_does_not_allow_a_foreign_host(check):
    plan = jmx(script("JSR223PostProcessor", "Code", "1") + request(host(ALIAS)))
    assert f"uses the host {ALIAS}" in refusal(check, plan, allow="scripts = true")


DATABASE = "tcp://127.0.0.1:5432"


def test_a_plan_without_http_has_a_target_of_tcp(check) -> None:
    query = jmx(element("JDBCSampler", "Query")).replace("${host}", "${__P(host,h)}")
    check(query, DATABASE, "other_protocols = true")
    assert "sends HTTP, and --target is tcp://127.0.0.1:5432; give --target=http://" in refusal(
        check, jmx(request() + element("JDBCSampler", "Query")), DATABASE, "other_protocols = true"
    )
    for wrong in ("tcp://127.0.0.1", "tcp://127.0.0.1:5432/shop", "jdbc:h2:mem:shop", "gopher://127.0.0.1:70"):
        with pytest.raises(UsageError, match="--target="):
            check(query, wrong, "other_protocols = true")


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("postgresql://127.0.0.1", "postgresql://127.0.0.1:5432"),
        ("postgres://127.0.0.1:5433", "postgresql://127.0.0.1:5433"),
        ("jdbc:sqlserver://127.0.0.1;databaseName=shop", "sqlserver://127.0.0.1:1433"),
        ("jdbc:h2:tcp://127.0.0.1:9092", "h2://127.0.0.1:9092"),
        ("mqtt://127.0.0.1", "mqtt://127.0.0.1:1883"),
        ("grpc://127.0.0.1:50051", "grpc://127.0.0.1:50051"),
    ],
)
def test_a_target_may_have_the_scheme_of_its_protocol(given: str, origin: str) -> None:
    assert parse_system(given).origin == origin


def test_a_path_of_a_database_must_be_read(check) -> None:
    pool = element("JDBCDataSource", "Pool", text("dbUrl", "jdbc:postgresql://${__P(host,h)}:${__P(port,1)}%s"))
    database = "jdbc:postgresql://127.0.0.1:5432/shop"
    assert "ignores the path /shop of --target" in refusal(
        check, jmx(pool % "/fix"), database, "other_protocols = true"
    )
    check(jmx(pool % "/shop?ssl=true"), database, "other_protocols = true")
    check(jmx(pool % "${__P(base_path,/shop)}"), database, "other_protocols = true")


def test_a_plan_that_goes_elsewhere_than_its_target_is_refused(check) -> None:
    pool = jmx(element("JDBCDataSource", "Pool", text("dbUrl", "jdbc:postgresql://127.0.0.1:5433/shop")))
    assert "Pool: goes to 127.0.0.1:5433, and --target is postgresql://127.0.0.1:5432; write ${__P(host" in refusal(
        check, pool, "postgresql://127.0.0.1:5432", "other_protocols = true"
    )
    check(pool, "postgresql://127.0.0.1:5433", "other_protocols = true")
    check(pool, "postgresql://127.0.0.1:5432", 'other_protocols = true\nhosts = ["127.0.0.1:5433"]')
