"""Refuses options of JMeter's JVM that could take its connections past the agent that watches them."""

from __future__ import annotations

import re
import shlex

from harness.base.errors import UsageError

# Classes, native code and programs that run in, or instead of, the watched JVM; and proxies, which connect to any host.
_DOORS = re.compile(
    r"-(javaagent:|agentlib:|agentpath:|Xrun|Xbootclasspath|jar\b|cp\b|classpath\b|p\b|m\b)"
    r"|--(class-path|module-path|upgrade-module-path|patch-module|module|source)\b"
    r"|-XX:(Flags|VMOptionsFile|OnError|OnOutOfMemoryError)="
    r"|-D(socksProxyHost|(http|https|ftp)\.proxyHost|java\.net\.useSystemProxies|jdk\.net\.hosts\.file"
    r"|jdk\.net\.usePlain\w+|java\.system\.class\.loader)(=|$)"
    r"|@"
)


def check_jvm_options(text: str, where: str, *, is_quoted: bool = True) -> None:
    """Raise a UsageError for the first option of `text` that could lead connections past the agent.

    `where` is the setting or variable; its words may be quoted, as in JDK_JAVA_OPTIONS, but not in JVM_ARGS.
    """
    try:
        words = shlex.split(text) if is_quoted else text.split()
    except ValueError:
        raise UsageError(f"{where}: a quotation mark is not closed", "close it") from None
    found = next((word for word in words if _DOORS.match(word)), "")
    if found:
        what = f"{where}: with {found} JMeter's connections could go past the check of its hosts"
        raise UsageError(what, "remove it")
