"""Test plans that leave their target, or try to: each is a text of JMX around one that does not."""

from __future__ import annotations

from xml.sax.saxutils import escape

# An address of the loopback interface alone, added by the tests that need one which is not 127.x.x.x.
ALIAS = "10.255.255.9"


def text(name: str, value: str) -> str:
    """A property of an element."""
    return f'<stringProp name="{name}">{escape(value)}</stringProp>'


def element(kind: str, name: str, *props: str, below: str = "") -> str:
    """An element with its properties, and what is below it."""
    start = f'<{kind} guiclass="TestBeanGUI" testclass="{kind}" testname="{name}">'
    return f"{start}{''.join(props)}</{kind}><hashTree>{below}</hashTree>"


def request(*props: str, name: str = "Buy", path: str = "/", below: str = "") -> str:
    """An HTTP Request; host, port and scheme come from HTTP Request Defaults unless `props` have them."""
    return element(
        "HTTPSamplerProxy",
        name,
        text("HTTPSampler.path", path),
        text("HTTPSampler.method", "GET"),
        *props,
        below=below,
    )


def host(value: str) -> str:
    return text("HTTPSampler.domain", value)


def flag(name: str) -> str:
    return f'<boolProp name="{name}">true</boolProp>'


def variables(**values: str) -> str:
    """User Defined Variables."""
    rows = "".join(
        f'<elementProp name="{name}" elementType="Argument">{text("Argument.name", name)}'
        f"{text('Argument.value', value)}{text('Argument.metadata', '=')}</elementProp>"
        for name, value in values.items()
    )
    return element("Arguments", "Variables", f'<collectionProp name="Arguments.arguments">{rows}</collectionProp>')


def collection(name: str, *values: str) -> str:
    rows = "".join(text(str(index), value) for index, value in enumerate(values))
    return f'<collectionProp name="{name}">{rows}</collectionProp>'


ENDS = '<boolProp name="LoopController.continue_forever">false</boolProp>'
SCHEDULER = text("ThreadGroup.scheduler", "${__jexl3(${__P(duration_s,2)} > 0)}")


def jmx(in_group: str, beside: str = "", domain: str = "${host}") -> str:
    """A test plan whose requests go to the target, with more of it in the thread group, and beside that."""
    own = variables(host="${__P(host,127.0.0.1)}", port="${__P(port,80)}", scheme="${__P(scheme,http)}")
    defaults = element(
        "ConfigTestElement",
        "Defaults",
        host(domain),
        text("HTTPSampler.port", "${port}"),
        text("HTTPSampler.protocol", "${scheme}"),
        text("HTTPSampler.connect_timeout", "2000"),
        text("HTTPSampler.response_timeout", "2000"),
    )
    group = element(
        "ThreadGroup",
        "Users",
        text("ThreadGroup.num_threads", "${__P(users,1)}"),
        text("ThreadGroup.ramp_time", "${__P(ramp_s,0)}"),
        text("ThreadGroup.duration", "${__P(duration_s,2)}"),
        SCHEDULER,
        '<elementProp name="ThreadGroup.main_controller" elementType="LoopController" testclass="LoopController">'
        f"{text('LoopController.loops', '${__P(loops,-1)}')}{ENDS}</elementProp>",
        below=in_group,
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Off host"/>
<hashTree>{own}{defaults}{beside}{group}</hashTree>
</hashTree></jmeterTestPlan>
"""


def script(kind: str, name: str, code: str, language: str = "groovy") -> str:
    """A JSR223 or BeanShell element."""
    props = (text("scriptLanguage", language), text("script", code), text("cacheKey", "true"))
    if kind.startswith("BeanShell"):
        query = "BeanShellAssertion.query" if kind == "BeanShellAssertion" else "BeanShellSampler.query"
        props = (text(query, code), text("script", code))
    return element(kind, name, *props)


SERVER = variables(server=ALIAS)
URL = f"http://{ALIAS}:8080/"

# What it is called: (in the thread group, beside it, a part of the refusal).
REFUSED = {
    "property with a foreign default": (request(host(f"${{__P(server,{ALIAS})}}")), "", f"uses the host {ALIAS}"),
    "misspelt property": (request(host(f"${{__P(hosst,{ALIAS})}}")), "", f"uses the host {ALIAS}"),
    "property function with a foreign default": (
        request(host(f"${{__property(server,,{ALIAS})}}")), "", f"uses the host {ALIAS}"
    ),
    "default of a property that is empty in this run": (
        request(path="${__P(base_path,http://" + ALIAS + ")}"), "", f"its path is the URL http://{ALIAS}",
    ),
    "property without a default": (request(host("${__P(server)}")), "", "uses the host 1 "),
    "fixed host": (request(host(ALIAS)), "", f"uses the host {ALIAS}"),
    "fixed port of this machine": (request(text("HTTPSampler.port", "8099")), "", "uses the port 8099"),
    "fixed scheme": (request(text("HTTPSampler.protocol", "https")), "", "uses the scheme https"),
    "User Defined Variables": (request(host("${server}")), SERVER, f"uses the host {ALIAS} (${{server}})"),
    "two values of one variable": (request(), variables(host=ALIAS), "the variable host is defined as"),
    "variable nobody defines": (request(host("${server}")), "", "there is no User Defined Variable server"),
    "address in the path": (request(path=f"{URL}buy"), "", f"its path is the URL {URL}buy"),
    "host in the path by a variable": (request(path="http://${server}/"), SERVER, f"URL http://{ALIAS}/"),
    "path that is a variable of an answer": (
        request(path="${next}", below=element("RegexExtractor", "Next", text("RegexExtractor.refname", "next"))),
        "", "its path ${next} may be a complete URL",
    ),
    "path relative to the protocol": (request(path=f"//{ALIAS}/buy"), "", f"its path is the URL //{ALIAS}/buy"),
    "proxy": (request(text("HTTPSampler.proxyHost", ALIAS)), "", f"uses the proxy {ALIAS}"),
    "static hosts of a DNS Cache Manager": (
        request(),
        element(
            "DNSCacheManager", "Names",
            '<collectionProp name="DNSCacheManager.hosts"><elementProp name="a" elementType="StaticHost">'
            f"{text('StaticHost.Name', 'localhost')}{text('StaticHost.Address', ALIAS)}</elementProp></collectionProp>",
        ),
        "resolves host names differently",
    ),
    "host out of a CSV Data Set": (
        element("CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "id,host")) + request(),
        "", "Rows sets the variable host",
    ),
    "host in the first line of a CSV file": (
        element("CSVDataSet", "Rows", text("filename", "head.csv"), text("variableNames", "")) + request(),
        "", "Rows sets the variable host",
    ),
    "host out of User Parameters": (
        element("UserParameters", "Each user", collection("UserParameters.names", "host")) + request(),
        "", "Each user sets the variable host",
    ),
    "host out of an answer": (
        request(below=element("JSONPostProcessor", "Next", text("JSONPostProcessor.referenceNames", "id;host"))),
        "", "Next sets the variable host",
    ),
    "host of a ForEach Controller": (
        element("ForeachController", "Each", text("ForeachController.returnVal", "host"), below=request()),
        "", "Each sets the variable host",
    ),
    "host of a Counter": (
        element("CounterConfig", "Count", text("CounterConfig.name", "host")) + request(), "", "Count sets the variable"
    ),
    "host set by a function": (
        request(path="/${__StringFromFile(hosts.txt,host)}"), "", "Buy sets the variable host"
    ),
    "property set by a function": (
        request(path="/${__setProperty(host,elsewhere)}"), "", "Buy sets the property host"
    ),
    "variable by its name (__V)": (request(host("${__V(ser${__P(x,ver)})}")), SERVER, f"uses the host {ALIAS}"),
    "text that is evaluated (__eval)": (
        request(host("${__eval(${template})}")), variables(template=f"${{__P(s,{ALIAS})}}"), f"uses the host {ALIAS}"
    ),
    "nested functions": (request(host(f"${{__P(a,${{__P(b,{ALIAS})}})}}")), "", f"uses the host {ALIAS}"),
    "function that reads a file": (request(host("${__FileToString(host.txt)}")), "", "__FileToString is evaluated"),
    "function that reads a CSV file": (request(host("${__CSVRead(h.csv,0)}")), "", "__CSVRead is evaluated only"),
    "embedded resources": (request(flag("HTTPSampler.image_parser")), "", "add embedded_resources = true under"),
    "Groovy function": (request(path=f"/${{__groovy(new URL(\"{URL}\").text)}}"), "", "__groovy runs code"),
    "BeanShell function": (request(path="/${__BeanShell(new java.net.Socket())}"), "", "__BeanShell runs code"),
    "JavaScript function": (request(path="/${__javaScript(java.lang.System.exit(1))}"), "", "__javaScript runs code"),
    "JEXL that makes an object": (
        request(path=f"/${{__jexl3(new(\"java.net.URL\"\\,\"{URL}\").getContent())}}"),
        "", "__jexl3 runs code",
    ),
    "JEXL through a variable": (
        request(path="/${__jexl3(${code})}"), variables(code="''.getClass().forName('x')"), "__jexl3 runs code"
    ),
    "JavaScript of an If Controller": (
        element("IfController", "When", text("IfController.condition", "Packages.java.net.URL(1)"), below=request()),
        "", "its condition is JavaScript",
    ),
    **{
        kind: (request() + script(kind, "Code", f'new URL("{URL}").text'), "", f"Code: runs code ({kind})")
        for kind in (
            "JSR223Sampler", "JSR223PreProcessor", "JSR223PostProcessor", "JSR223Timer", "JSR223Listener",
            "JSR223Assertion", "BeanShellSampler", "BeanShellPreProcessor", "BeanShellListener", "BSFSampler",
            "SystemSampler", "JUnitSampler", "JavaSampler",
        )
    },
    **{
        kind: (request() + element(kind, "Other"), "", f"Other: may reach another host ({kind.rpartition('.')[2]})")
        for kind in (
            "JDBCSampler", "JDBCDataSource", "JDBCPreProcessor", "TCPSampler", "FTPSampler", "SmtpSampler",
            "LDAPSampler", "LDAPExtSampler", "PublisherSampler", "SubscriberSampler", "JMSSampler", "MailReaderSampler",
            "AjpSampler", "AccessLogSampler", "BackendListener", "MailerResultCollector",
            "kg.apc.jmeter.perfmon.PerfMonCollector", "eu.luminis.jmeter.wssampler.OpenWebSocketSampler",
            "net.xmeter.samplers.PubSampler",
        )
    },
    **{
        kind: (request() + element(kind, "Other"), "", f"Other: is an unknown element ({kind}); remove it, or find out")
        for kind in ("com.shop.GraphSampler", "com.jmeter.sse.SSESampler", "SoapSampler")
    },
    "Include Controller": (
        element("IncludeController", "Part", text("IncludeController.includepath", "b.jmx")),
        "", "loads another test plan",
    ),
    "classes of its own": (
        request(), element("Arguments", "Path", text("TestPlan.user_define_classpath", "x.jar")),
        "adds classes to the class path",
    ),
}  # fmt: skip
