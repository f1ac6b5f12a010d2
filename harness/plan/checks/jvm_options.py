"""Accepts the options of JMeter's JVM that are known to be harmless, and refuses all others.

A JVM has hundreds of options. Some load classes, native code or agents, open a port for remote control, start a
program, or lead connections past the agent that watches them; an option is accepted only when it does none of these.
"""

from __future__ import annotations

import re
import shlex

from harness.base.errors import UsageError

_SIZE = r"\d+[kKmMgGtT]?"
# A file in the run's folder that the JVM writes; its ending keeps it apart from what JMeter and the harness read there.
_FILE = r"(?!jmeter\.log|foreign-connections)[\w%+-][\w.%+-]*\.(log|txt|jfr|hprof)"
# Switches of the JVM: collectors, memory, compiler, and what it does when memory runs out.
_SWITCHES = (
    r"Use(G1|Parallel|Serial|Z|Shenandoah|Epsilon|ConcMarkSweep|ParallelOld)GC|ZGenerational|ZProactive|ZUncommit"
    r"|UseStringDeduplication|UseCompressed(Oops|ClassPointers)|UseCompactObjectHeaders|UseNUMA(Interleaving)?"
    r"|UseLargePages|UseTransparentHugePages|UseTLAB|ResizeTLAB|UseContainerSupport|UseDynamicNumberOf(GC|Compiler)Threads"
    r"|AlwaysPreTouch|DisableExplicitGC|ExplicitGCInvokesConcurrent|ParallelRefProcEnabled|UseAdaptiveSizePolicy"
    r"|UseGCOverheadLimit|G1UseAdaptiveIHOP|ShenandoahUncommit|ClassUnloading|UseMaximumCompactionOnSystemGC"
    r"|TieredCompilation|SegmentedCodeCache|UseCodeCacheFlushing|DoEscapeAnalysis|Inline|UseSuperWord|OptimizeStringConcat"
    r"|BackgroundCompilation|OmitStackTraceInFastThrow|StackTraceInThrowable|ShowCodeDetailsInExceptionMessages"
    r"|PerfDisableSharedMem|UsePerfData|PreserveFramePointer|DebugNonSafepoints|PrintGC(Details|DateStamps|TimeStamps)?"
    r"|PrintCommandLineFlags|PrintFlagsFinal|HeapDumpOnOutOfMemoryError|(Exit|Crash)OnOutOfMemoryError"
    r"|Unlock(Experimental|Diagnostic)VMOptions|IgnoreUnrecognizedVMOptions|UseBiasedLocking|UseSpinning"
    r"|BytecodeVerification(Remote|Local)|UseOnStackReplacement|UseFastUnorderedTimeStamps|VMContinuations"
)
# Flags whose value is a text: 1 is the name of a file in the run's folder, or of a program.
_NAMES_A_FILE = (
    r"(On\w*Error|Flags|\w*Options\w*|\w*File|\w*Path|\w*Library|\w*Lib|\w*List|\w*Cache|\w*Config|\w*AtExit"
    r"|AllocateHeapAt|CompileCommand|CompileOnly|AOT\w*|CRaC\w*|AbortVM\w*|TraceJVMTI|\w*Agent\w*)"
)
_OPTIONS = (
    rf"-X(ms|mx|mn|ss)({_SIZE})|-X(int|comp|mixed|batch|rs|future)|-Xshare:(auto|on|off)|-Xnoclassgc|-server|-client",
    r"-(ea|enableassertions|da|disableassertions|esa|dsa)(:[\w.]+)?|-verbose:(gc|class|module|jni)|-showversion",
    rf"-XX:[+-]({_SWITCHES})",
    # A flag whose value is a number is a size, a time, a count or a percentage, unless it names a file or a program.
    rf"-XX:(?!{_NAMES_A_FILE}=)[A-Za-z]\w*=-?\d+(\.\d+)?[kKmMgGtT%]?",
    r"-XX:NativeMemoryTracking=(off|summary|detail)|-XX:ShenandoahGCHeuristics=\w+|-XX:ShenandoahGCMode=\w+",
    rf"-XX:(HeapDumpPath|ErrorFile|JVMLogFile)=({_FILE}|\.)|-Xloggc:(file=)?{_FILE}",
    # Tags, where to (the console, or a file in the run's folder), decorations, and the rotation of the file.
    rf"-Xlog(:(disable|[\w+*=,-]*)(:(stdout|stderr|(file=)?{_FILE})?(:[\w,]*(:[\w,=]*)?)?)?)?",
    rf"-XX:StartFlightRecording(=|:)((filename={_FILE}|(duration|delay|maxage)=\d+[smhd]|maxsize={_SIZE}|name=\w+"
    r"|(disk|dumponexit|path-to-gc-roots)=(true|false)|settings=(default|profile))(,|$))*",
    r"--add-(opens|exports)(=[\w.]+/[\w.]+=ALL-UNNAMED)?|--enable-native-access=ALL-UNNAMED|--enable-preview",
    r"-Dharness\.(exchanges=|bench=1)",  # of `lth bench`: failed requests are not stored
)  # fmt: skip
# Properties of Java that name no class, program, proxy or host: time limits, addresses, TLS, texts, time zones.
_PROPERTIES = (
    r"java\.net\.preferIPv(4Stack|6Addresses)|sun\.net\.inetaddr\.(negative\.)?ttl|networkaddress\.cache\.[\w.]*ttl",
    r"sun\.net\.client\.default(Connect|Read)Timeout|http\.(keepAlive|maxConnections|maxRedirects|agent)",
    r"sun\.net\.http\.(allowRestrictedHeaders|retryPost)|jdk\.httpclient\.[\w.]*(timeout|Timeout|size|Size)",
    r"https\.(protocols|cipherSuites)|jdk\.tls\.[\w.]+|jsse\.enableSNIExtension|sun\.security\.ssl\.allow\w+",
    r"javax\.net\.ssl\.((key|trust)Store(Password|Type)?|sessionCacheSize)|javax\.net\.debug",
    r"java\.security\.egd|((stdout|stderr|file|native|sun\.jnu)\.)?encoding|sun\.(stdout|stderr)\.encoding",
    r"user\.(timezone|language|region|country|variant)",
    r"java\.awt\.headless|java\.util\.concurrent\.ForkJoinPool\.common\.(parallelism|maximumSpares)",
    r"jdk\.virtualThreadScheduler\.(parallelism|maxPoolSize|minRunnable)|jdk\.(xml|nio)\.max\w+",
    r"log4j2?\.(enable|formatMsg)[\w.]*|log4j2\.(level|is\.webapp|garbagefreeThreadContextMap)",
)  # fmt: skip
_ALLOWED = re.compile("|".join(f"(?:{one})" for one in _OPTIONS))
_ALLOWED_PROPERTY = re.compile("|".join(f"(?:{one})" for one in _PROPERTIES))
_PROPERTY = re.compile(r"-D([\w.-]+)(=.*)?", re.DOTALL)
_EXPORT = re.compile(r"[\w.]+/[\w.]+=ALL-UNNAMED")
_TODO = "remove it; heap, collector, logs in the run's folder, limits of time, TLS and time zone can be set"


def check_jvm_options(text: str, where: str, *, is_quoted: bool = True) -> None:
    """Raise a UsageError for the first option of `text` that is not known to be harmless.

    `where` is the setting or variable; its words may be quoted, as in JDK_JAVA_OPTIONS, but not in JVM_ARGS.
    """
    try:
        words = shlex.split(text) if is_quoted else text.split()
    except ValueError:
        raise UsageError(f"{where}: a quotation mark is not closed", "close it") from None
    before = ""
    for word in words:
        is_value = before in ("--add-opens", "--add-exports") and bool(_EXPORT.fullmatch(word))
        if not is_value and not _is_harmless(word):
            raise UsageError(f"{where}: {word} is not one of the options that JMeter's JVM may get", _TODO)
        before = word


def _is_harmless(word: str) -> bool:
    if match := _PROPERTY.fullmatch(word):
        return bool(_ALLOWED_PROPERTY.fullmatch(match[1]))
    return bool(word) and bool(_ALLOWED.fullmatch(word))
