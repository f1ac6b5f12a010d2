"""XML that came from elsewhere reads no file, asks no server and grows to no size: wherever XML is parsed."""

import ast
import http.server
import io
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.jtl.sample import Dropped
from harness.jtl.xml import parse_xml
from harness.plan.adopt.draft import Draft
from harness.plan.jmx.tree import fixed_secrets, plan_tree, read_properties
from harness.plan.plan import load_plan
from tests.support.imports import MODULES, imports_of, name_of
from tests.support.local_server import serving
from tests.support.paths import ROOT
from tests.support.tiny import TINY_JMX

SECRET = "content of a file that is nobody's business"
LAUGHS = '<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {one} "{f"&{before};" * 10}">' for before, one in zip("abcdefghi", "bcdefghij", strict=True)
)
SAMPLE = '<httpSample t="10" ts="1700000000000" s="true" lb="{label}" rc="200" rm="OK" tn="Users 1-1"/>'


@pytest.fixture(scope="module")
def asked():
    """What a server was asked for, by any of the tests, and its address."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            self.send_error(404)

    with serving(Handler) as port:
        yield paths, f"http://127.0.0.1:{port}"


def declarations(folder: Path, address: str) -> dict[str, str]:
    """Document types of which a careless parser makes something, by what they try; each defines or loads &x;."""
    (folder / "secret.txt").write_text(SECRET)
    (folder / "more.dtd").write_text('<!ENTITY x "from the other file">')
    file = (folder / "secret.txt").as_uri()
    return {
        "a file": f'<!DOCTYPE r [<!ENTITY x SYSTEM "{file}">]>',
        "a server": f'<!DOCTYPE r [<!ENTITY x SYSTEM "{address}/x">]>',
        "a DTD elsewhere": f'<!DOCTYPE r SYSTEM "{address}/r.dtd">',
        "a DTD beside": f'<!DOCTYPE r SYSTEM "{(folder / "more.dtd").as_uri()}">',
        "a public DTD": f'<!DOCTYPE r PUBLIC "-//X//EN" "{address}/r.dtd">',
        "a parameter entity": f'<!DOCTYPE r [<!ENTITY % p SYSTEM "{address}/p"> %p;]>',
        "a billion laughs": f'<!DOCTYPE r [{LAUGHS}<!ENTITY x "&j;">]>',
        "its own entity": '<!DOCTYPE r [<!ENTITY x "y">]>',
    }


every_try = pytest.mark.parametrize(
    "tries",
    [
        "a file", "a server", "a DTD elsewhere", "a DTD beside", "a public DTD", "a parameter entity",
        "a billion laughs", "its own entity",
    ],
)  # fmt: skip


@every_try
@pytest.mark.parametrize(
    "read", [read_properties, plan_tree, fixed_secrets, Draft.read], ids=lambda read: read.__name__
)
def test_a_plan_with_a_document_type_is_refused_by_all_that_read_it(tmp_path, asked, tries, read):
    paths, address = asked
    evil = declarations(tmp_path, address)[tries]
    head, _, rest = TINY_JMX.partition("\n")
    jmx = tmp_path / "evil.jmx"
    jmx.write_text(f"{head}\n{evil}\n{rest.replace('Tiny', '&x;')}")
    with pytest.raises(UsageError, match="declares a document type or entities") as error:
        read(jmx)
    assert SECRET not in str(error.value)
    assert paths == []


def test_a_run_refuses_such_a_plan_before_anything_is_started(home):
    jmx = home / "plans" / "tiny.jmx"
    head, _, rest = TINY_JMX.partition("\n")
    jmx.write_text(f'{head}\n<!DOCTYPE r [<!ENTITY x "y">]>\n{rest}')
    with pytest.raises(UsageError, match="declares a document type or entities"):
        load_plan(home / "plans", "tiny")


@every_try
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_jtl_with_a_document_type_is_refused(tmp_path, asked, tries, encoding):
    paths, address = asked
    evil = declarations(tmp_path, address)[tries]
    text = f'<?xml version="1.0"?>\n{evil}\n<testResults version="1.2">\n{SAMPLE.format(label="&x;")}\n</testResults>'
    with pytest.raises(UsageError, match="a document type declaration, which a JTL never has"):
        list(parse_xml(io.BytesIO(text.encode(encoding)), "evil.jtl", Dropped()))
    assert paths == []


@every_try
@pytest.mark.parametrize("torn", ["", '<httpSample t="10" ts="17'], ids=["whole", "torn"])
def test_a_later_document_type_loads_nothing(tmp_path, asked, tries, torn):
    """Where a second file was put behind the first one, a new parser takes over: it knows no entities either."""
    paths, address = asked
    evil = declarations(tmp_path, address)[tries]
    first = f'<?xml version="1.0"?>\n<testResults version="1.2">\n{SAMPLE.format(label="Good")}\n{torn}'
    second = f'</testResults>\n<?xml version="1.0"?>\n{evil}\n<testResults>\n{SAMPLE.format(label="&x;")}\n'
    data = f"{first}{second}{SAMPLE.format(label='Last')}\n</testResults>".encode()
    try:
        labels = [sample.label for sample in parse_xml(io.BytesIO(data), "evil.jtl", Dropped())]
    except UsageError as error:
        assert "document type" in str(error)
    else:
        assert set(labels) <= {"Good", "Last"}
    assert paths == []


@pytest.mark.real
def test_the_command_says_in_one_line_why_it_refuses_such_a_file(tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    jtl = tmp_path / "samples.jtl"
    entity = f'<!DOCTYPE r [<!ENTITY x SYSTEM "{(tmp_path / "secret.txt").as_uri()}">]>'
    jtl.write_text(f'<?xml version="1.0"?>\n{entity}\n<testResults>{SAMPLE.format(label="&x;")}</testResults>')
    done = subprocess.run(
        [sys.executable, ROOT / "aggregate.py", "table", jtl], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "samples.jtl:2: a document type declaration" in done.stderr


@pytest.mark.real
def test_nothing_else_parses_xml():
    """Plans and charts by defusedxml, JTLs by expat with document types refused: a new reader of XML belongs here."""
    found = {}
    for path in [path for path in MODULES if "xml" in path.read_text()]:
        parsers = {
            name for name in imports_of(path) if name.split(".")[0] in ("xml", "defusedxml", "lxml", "xmltodict")
        }
        if parsers - {"xml.sax.saxutils", "xml.sax.saxutils.escape"}:
            found[name_of(path)] = {name.split(".")[0] for name in parsers}
    assert found == {
        "harness.plan.jmx.tree": {"xml", "defusedxml"},  # xml for types
        "harness.plan.jmx.data_files": {"xml"},  # types, as the next one
        "harness.plan.jmx.modules": {"xml"},
        "harness.plan.jmx.words": {"xml"},
        "harness.plan.jmx_writer": {"xml"},  # builds and writes it, for the others
        "harness.plan.adopt.data": {"xml"},
        "harness.plan.adopt.draft": {
            "xml"
        },  # expat for where elements are in a file that harness.plan.jmx.tree has read
        "harness.plan.adopt.adopt": {"xml"},  # builds it, as the next one
        "harness.plan.adopt.requests": {"xml"},
        "harness.plan.har.jmx": {"xml"},  # builds and writes it
        "harness.plan.adopt.one_request": {"xml"},
        "harness.run.replay.one_pass": {"xml"},  # to build and write
        "harness.plan.jmx.think_time": {"xml"},  # writes into what thread_groups has read
        "harness.plan.jmx.thread_groups": {"xml"},  # builds and writes it
        "harness.plan.jmx.trace": {"defusedxml"},  # reads what thread_groups has written
        "harness.plan.jmx.headers": {"xml", "defusedxml"},  # as the one before
        "harness.plan.jmx.job_threads": {"xml", "defusedxml"},  # as the one before; xml builds
        "harness.base.install.before_setup": {"xml"},  # expat before defusedxml is installed; refuses every DTD
        "harness.base.secrets": {"xml", "defusedxml"},  # to ask whether a file is XML; xml to escape
        "harness.report.charts.chart": {"defusedxml"},  # the charts that we drew
        "harness.jtl.xml": {"xml"},
        "harness.jtl.xml_elements": {"xml"},
    }
    calls = {
        node.func.attr
        for node in ast.walk(ast.parse((ROOT / "harness" / "plan" / "jmx" / "tree.py").read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not calls & {"fromstring", "XML", "iterparse", "XMLParser", "XMLPullParser"}
