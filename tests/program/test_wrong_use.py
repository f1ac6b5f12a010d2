"""What people type who come from JMeter or another tool, and misspell: one line with what they mean, exit code 2."""

import time

import pytest

from harness.base.project import current_project
from tests.support.commands import command


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    current_project.cache_clear()
    yield
    current_project.cache_clear()


def refused(words):
    began = time.process_time()
    done = command("lth", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert time.process_time() - began < 1
    return done.stderr


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["run", "-Jusers=5"], "-Jusers=5: an option of JMeter; give -u 5, or --properties users=5"),
        (["run", "-J", "threads=7"], "give -u 7, or --properties threads=7"),
        (["check", "-Jhost.name=a b"], "give --properties 'host.name=a b'"),
        (["-n", "-t", "x.jmx", "-l", "y.jtl"], "-n -t x.jmx: options of JMeter; type: lth run x.jmx\n"),
        (["run", "-t", "x.jmx"], "type: lth run x.jmx\n"),
        (["jmeter", "-n", "-t", "a b.jmx", "-Jn=5", "-Jm=6"], "type: lth run 'a b.jmx' --properties 'n=5 m=6'"),
        (["sweep", "-n", "-t", "x.jmx"], "type: lth sweep x.jmx\n"),
        (["run", "x", "-q", "user.properties"], "-q: an option of JMeter; give each property, as with --properties"),
        (["run", "x", "-l", "y.jtl"], "the samples of a run are in reports/<plan>/<run>/samples.jtl"),
        (["run", "x", "-R", "gen1"], "--on ssh:gen1,gen2"),
        (["run", "x", "-Dhttp.proxyHost=a"], "an option of JMeter; write it into jvm_args of [generator]"),
    ],
)
def test_options_of_jmeter_are_answered_with_ours(words, answer):
    assert answer in refused(words)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "--threads", "5"], "did you mean --users?"),
        (["run", "--vus=5"], "did you mean --users?"),
        (["run", "--user", "5"], "did you mean --users?"),
        (["run", "--think-time", "2s"], "did you mean --think?"),
        (["run", "--usrs", "5"], "did you mean --users?"),
        (["run", "--ramp-up=5"], "did you mean --ramp?"),
        (["check", "--host=http://a"], "did you mean --target?"),
        (["sweep", "--rate=5"], "--rate: no such option; other verbs have it; lth help sweep lists all"),
        (["run", "-p"], "-p/--plan: expected one argument; lth help run explains it"),
        (["run", "a", "b"], "b: too many arguments"),
        (["rnu"], "rnu: no such verb; did you mean run? lth help all lists them"),
        (["-x"], "-x: an option without a verb"),
    ],
)
def test_a_misspelt_option_or_verb_is_answered_with_the_nearest_one(words, meant):
    assert meant in refused(words)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "lb-ngnix"], "did you mean lb-nginx?"),
        (["run", "shop.jmx"], "shop.jmx: no such file; did you mean shp.jmx?"),
        (["run", "lb-nginx", "-e", "lcal"], "did you mean local?"),
        (["run", "lb-nginx", "-g", "p94<3"], "did you mean p90, p95 or p99?"),
        (["run", "lb-nginx", "-g", "p95<"], "--goal=p95<: p95 has no limit"),
        (["table", "samples.jtl"], "did you mean sample.jtl?"),
        (["run", "load.yml"], "load.yml: a YAML file is no test plan; of Taurus give the JMX that it leaves"),
        (["init", "load.yml"], "lth init: load.yml: a YAML file is no test plan"),
        (["init", "path/to/shop.jmx"], "lth init: path/to/shop.jmx: there is no such file"),
        (["run", "path/to/shop.jmx", "-t", "http://127.0.0.1:1"], "lth run: path/to/shop.jmx: there is no such file"),
    ],
)
def test_a_misspelt_plan_profile_file_or_goal_is_answered_with_the_nearest_one(tmp_path, words, meant):
    (tmp_path / "shp.jmx").write_text("<jmeterTestPlan/>")
    (tmp_path / "sample.jtl").write_text("")
    (tmp_path / "load.yml").write_text("execution:\n- concurrency: 5\n")
    assert meant in refused(words)
