"""Exceptions counted in logs: one trace is one exception, in every layout in which Java writes them."""

import subprocess

import pytest

from harness.system.exceptions import ExceptionCount, count_exceptions, most_frequent
from tests.support.java_program import java_command

LOGBACK = """\
2026-11-21T06:16:57.279Z WARN Listener [exec-3] Bad request
org.example.MappableException: {code=7199, formattedMsg='Plugin'}
\tat org.example.Dispatcher.map(Dispatcher.java:185) ~[jersey.jar:2.39]
\tat jdk.proxy5/jdk.proxy5.$Proxy114.purchase(Unknown Source)
Caused by: org.example.PaymentApiException: Plugin
\tat org.example.Payment.lambda$doIt$0(Payment.java:182)
\t... 14 common frames omitted
Caused by: com.stripe.exception.ApiException: An unknown error occurred.
\tat com.stripe.net.Getter.handle(Getter.java:197)
\t... 26 common frames omitted
2026-11-21T06:16:57.401Z WARN Listener [exec-2] Bad request
"""
JAVA_UTIL_LOGGING = """\
Nov 21, 2026 6:16:19 AM org.apache.catalina.core.StandardWrapperValve invoke
SEVERE: Servlet.service() for servlet [x] threw exception
java.lang.IllegalStateException: no tenant
\tat org.example.Tenants.find(Tenants.java:1)
Nov 21, 2026 6:16:20 AM org.apache.catalina.startup.Catalina load
INFO: Server initialization in [1390] milliseconds
"""
# Tomcat's OneLineFormatter indents the whole trace.
CATALINA = """\
21-Nov-2026 06:33:22.123 SEVERE [http-nio-8080-exec-1] org.apache.catalina.core.Valve.invoke threw exception
\tjava.lang.RuntimeException: outer
\t\tat org.example.A.a(A.java:1)
\tCaused by: java.io.IOException: inner
\t\tat org.example.B.b(B.java:2)
\t\t... 23 more
21-Nov-2026 06:33:23.456 INFO [main] org.apache.catalina.startup.Catalina.start Server startup
"""
UNCAUGHT = """\
Exception in thread "pool-1-thread-2" java.lang.NullPointerException
\tat org.example.A.<init>(A.java:1)
"""
ON_THE_SAME_LINE = """\
2026-11-21 06:16:57 ERROR Foo - cannot pay: java.lang.RuntimeException: java.io.IOException: broken pipe
\tat org.example.A.a(A.java:1)
2026-11-21 06:16:58 ERROR Foo - next
"""
MESSAGE_OVER_LINES = """\
org.jdbi.UnableToExecuteStatementException: Duplicate key; SQL statement:
insert into payments
  values (?, ?)

\tat org.example.Dao.insert(Dao.java:1)
Caused by: org.h2.JdbcSQLException: Duplicate key
of table payments
\tat org.h2.Message.get(Message.java:1)
"""
RMI = """\
java.rmi.ConnectException: Connection refused to host: 127.0.0.1; nested exception is:
\tjava.net.ConnectException: Connection refused
\tat sun.rmi.transport.TCPEndpoint.newSocket(TCPEndpoint.java:1)
Caused by: java.net.ConnectException: Connection refused
\tat java.base/sun.nio.ch.Net.pollConnect(Native Method)
\t... 9 more
"""
ROOT_CAUSE_FIRST = """\
java.io.IOException: inner
\tat org.example.B.b(B.java:2)
Wrapped by: java.lang.IllegalStateException: middle
\tat org.example.M.m(M.java:2)
Wrapped by: java.lang.RuntimeException: outer
\tat org.example.A.a(A.java:1)
"""


def kinds_of(text: str) -> list[tuple[str, str, int]]:
    return [(kind.class_name, kind.cause, kind.count) for kind in count_exceptions(text.splitlines(True), "a.log")]


@pytest.mark.parametrize(
    ("text", "class_name", "cause"),
    [
        (LOGBACK, "org.example.MappableException", "com.stripe.exception.ApiException"),
        (JAVA_UTIL_LOGGING, "java.lang.IllegalStateException", ""),
        (CATALINA, "java.lang.RuntimeException", "java.io.IOException"),
        (UNCAUGHT, "java.lang.NullPointerException", ""),
        (ON_THE_SAME_LINE, "java.lang.RuntimeException", ""),
        (MESSAGE_OVER_LINES, "org.jdbi.UnableToExecuteStatementException", "org.h2.JdbcSQLException"),
        (RMI, "java.rmi.ConnectException", "java.net.ConnectException"),
        (ROOT_CAUSE_FIRST, "java.lang.RuntimeException", "java.io.IOException"),
    ],
    ids=[
        "logback", "java.util.logging", "catalina", "uncaught", "on the same line", "message over lines", "RMI",
        "root cause first",
    ],
)  # fmt: skip
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_trace_is_one_exception_with_its_innermost_cause(text, class_name, cause, line_end):
    assert kinds_of(text.replace("\n", line_end)) == [(class_name, cause, 1)]
    assert kinds_of(text.replace("\n", line_end) * 3) == [(class_name, cause, 3)]


def test_all_layouts_in_one_log_are_distinguished():
    everything = LOGBACK + JAVA_UTIL_LOGGING + CATALINA + UNCAUGHT + ON_THE_SAME_LINE + MESSAGE_OVER_LINES + RMI
    assert sum(count for _, _, count in kinds_of(everything)) == 7


def test_the_first_line_and_the_first_message_are_stored():
    first, second = LOGBACK, LOGBACK.replace("{code=7199", "{code=1")
    assert count_exceptions((first + second).splitlines(), "system.log") == (
        ExceptionCount(
            log="system.log",
            class_name="org.example.MappableException",
            cause="com.stripe.exception.ApiException",
            count=2,
            first_line=2,
            example="{code=7199, formattedMsg='Plugin'}",
        ),
    )


@pytest.mark.parametrize(
    ("message", "example"),
    [(": a\tb   c", "a b c"), (": " + "x" * 300, "x" * 200), ("", ""), (": null", ""), (": ", "")],
)
def test_an_example_is_the_message_on_one_line_cut_to_200_characters(message, example):
    (kind,) = count_exceptions([f"java.lang.RuntimeException{message}\n", "\tat a.B.c(B.java:1)\n"], "a.log")
    assert kind.example == example


def test_the_cause_of_a_suppressed_exception_is_not_the_cause_of_the_exception():
    text = """\
java.lang.RuntimeException: outer
\tat a.B.c(B.java:1)
\tSuppressed: java.lang.IllegalStateException: close
\t\tat a.B.close(B.java:2)
\tCaused by: java.net.SocketException: reset
\t\tat a.B.d(B.java:3)
\t\t... 1 more
Caused by: java.io.IOException: inner
\tat a.B.e(B.java:4)
\tSuppressed: java.util.zip.ZipException: last
\t\t... 2 more
"""
    assert kinds_of(text) == [("java.lang.RuntimeException", "java.io.IOException", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-21T06:16:57Z WARN Foo [main] got java.io.IOException: broken pipe, trying again\n",
        "the java.io.IOException: broken pipe is expected here\n",
        "A request ended with java.lang.IllegalStateException\n2026-11-21T06:16:57Z INFO Foo [main] next\n",
        "org.example.Starter: ready\n2026-11-21T06:16:57Z INFO Foo [main] next\n",
        "2026-11-21T06:16:57Z INFO Foo [main] waiting\n\tat the door (for you)\n",
        # A log that begins in the middle of a trace, and a thread dump.
        "\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: inner\n\tat a.B.d(B.java:1)\n\t... 3 more\n",
        '"main" #1 prio=5 waiting\n   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(B.java:1)\n\t- locked <0x1>\n'
        "\tat a.B.d(B.java:1)\n",
        "",
    ],
)
def test_a_line_that_only_mentions_an_exception_is_not_counted(text):
    assert kinds_of(text) == []


def test_an_exception_without_frames_counts_separately():
    text = """\
2026-11-21T06:16:57.279Z WARN Foo [a] cannot
java.lang.NullPointerException: null
2026-11-21T06:16:57.280Z WARN Foo [a] cannot
java.lang.NullPointerException: null
2026-11-21T06:16:57.281Z WARN Foo [a] cannot either: java.io.IOException: x
\tat a.B.c(B.java:1)
"""
    assert kinds_of(text) == [("java.lang.NullPointerException", "", 2), ("java.io.IOException", "", 1)]


def test_a_class_with_frames_is_an_exception_whatever_its_name():
    text = "feign.RetryableFailure$NotFound: x\n\tat a.B.c(B.java:1)\njava.lang.ThreadDeath\n\tat a.B.c(B.java:1)\n"
    assert kinds_of(text) == [("feign.RetryableFailure$NotFound", "", 1), ("java.lang.ThreadDeath", "", 1)]


def test_a_log_that_is_cut_within_a_trace_keeps_it():
    cut = LOGBACK[: LOGBACK.index("\t... 14")]
    assert kinds_of(cut) == [("org.example.MappableException", "org.example.PaymentApiException", 1)]


def test_the_twenty_most_frequent_kinds_are_listed_and_the_others_are_counted():
    counts = [ExceptionCount("a.log", f"a.E{number}", "", number, number, "") for number in range(1, 26)]
    found = most_frequent(counts)
    assert [kind.count for kind in found.kinds] == list(range(25, 5, -1))
    assert found.left_out_count == 5
    assert most_frequent(found.kinds) == (found.kinds, 0)


THROWER = """
public class Thrower {
    public static void main(String[] arguments) throws Exception {
        for (int round = 0; round < 3; round++) {
            try {
                fail();
            } catch (Exception outer) {
                if (round < 2) outer.printStackTrace(); else throw outer;
            }
        }
    }
    static void fail() {
        IllegalStateException middle = new IllegalStateException("middle\\nover two lines", new java.io.IOException());
        middle.addSuppressed(new RuntimeException("suppressed", new ArithmeticException("deep")));
        throw new UnsupportedOperationException("outer", middle);
    }
}
"""


@pytest.mark.real
def test_exceptions_printed_by_java_itself_are_counted():
    command = java_command("Thrower", THROWER, "-Xmx64m")
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert kinds_of(printed) == [("java.lang.UnsupportedOperationException", "java.io.IOException", 3)]
