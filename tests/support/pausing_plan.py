"""A test plan whose groups pause, hide results and extract values, each in a way of its own."""

from __future__ import annotations

from tests.support.agent_runs import (
    action,
    answers,
    constant,
    decides,
    does,
    group,
    long,
    number,
    parent,
    table,
    timer,
    tree,
    whole,
)
from tests.support.extractor_shapes import extractor_plan
from tests.support.off_host import collection, element, script, text


def random_timer(kind: str, offset_ms: int) -> str:
    return timer(kind, text("ConstantTimer.delay", str(offset_ms)), text("RandomTimer.range", "0.0"))


def debug(name: str) -> str:
    return element("DebugSampler", name)


def failed(name: str) -> str:
    return does("SampleResult.setSuccessful(false); SampleResult.setResponseCode('500')", name)


_SHAPER = timer("kg.apc.jmeter.timers.VariableThroughputTimer", table("load_profile", (5, 5, 60)))
_SHARED = timer("ConstantThroughputTimer", whole("calcMode", 4), number("throughput", 6000))
_BY_TWO = timer("ConstantThroughputTimer", whole("calcMode", 2), number("throughput", 1200))
_PER_MINUTE = timer("ConstantThroughputTimer", whole("calcMode", 0), number("throughput", 600))
_PRECISE = timer(
    "PreciseThroughputTimer", number("throughput", 10), whole("throughputPeriod", 1), long("duration", 60),
    whole("batchSize", 1), whole("batchThreadDelay", 0), long("randomSeed", 1),
)  # fmt: skip
_MEETING = timer("SyncTimer", whole("groupSize", 2), long("timeoutInMs", 0))
_QUIET = script("JSR223PostProcessor", "quiet", "if (!prev.isSuccessful()) prev.setIgnore()")
_GOOD = script("JSR223PostProcessor", "good", "if (prev.responseCode == '500') { prev.setSuccessful(true); "
               "prev.setResponseCode('200') } else { prev.setSuccessful(true) }")  # fmt: skip
_THROWS = script("JSR223PreProcessor", "throws", "vars.put('order', nothing.toString())")
_THROWS_AFTER = script("JSR223PostProcessor", "throws", "nothing.toString()")
_TIMER_THROWS = script("JSR223Timer", "throws", "nothing.toString()")
_SHELL_THROWS = script("BeanShellPostProcessor", "throws", "nothing.x();")
_BUSY_100_MS = "long end = System.nanoTime() + 100_000_000L; while (System.nanoTime() < end) {}"
_ASSERTS = element(
    "ResponseAssertion", "asserts", collection("Asserion.test_strings", "y"), whole("Assertion.test_type", 2),
    text("Assertion.test_field", "Assertion.response_data"),
)  # fmt: skip
_PASSES = script("JSR223Assertion", "passes", "prev.setSuccessful(true)")
_SIGNS = script("JSR223PostProcessor", "Signs", _BUSY_100_MS)
_NOTES = element("DebugPostProcessor", "Notes")
_SETS = script("JSR223PreProcessor", "sets", "vars.put('ready', '1')")
_LATE = does("if (ctx.threadNum == 1) Thread.sleep(1000)", "late")


def pausing_plan() -> str:
    """Return the plan: its groups are named by what they do."""
    step = does("1")
    return tree(
        group("none", does("Thread.sleep(300)"), loops=3),
        group("constant", step + constant(150), users=2, loops=10),
        group("two", step + constant(50) + constant("${__P(think_time_ms,70)}"), loops=5),
        group("uniform", step + random_timer("UniformRandomTimer", 80), loops=5),
        group("gaussian", step + random_timer("GaussianRandomTimer", 60), loops=5),
        group("poisson", step + random_timer("PoissonRandomTimer", 40), loops=5),
        group("script", step + timer("JSR223Timer", text("scriptLanguage", "groovy"), text("script", "return 90")),
              loops=5),
        group("action", step + action(1, "200"), loops=4),
        group("per minute", step + _PER_MINUTE, loops=20),
        group("precise", step + _PRECISE, loops=50),
        group("late", does("Thread.sleep(30)") + _SHARED, loops=30),
        group("by two", step + _BY_TWO, users=2, loops=15),
        group("sleeps", step + script("JSR223PreProcessor", "Sleeps", "Thread.sleep(100)"), loops=5),
        group("signs", step + _SIGNS, loops=5),
        group("meeting", _LATE + element("GenericController", "in", below=step + _MEETING), users=2),
        group("shaped", step + _SHAPER, users=2, loops=8),
        group("first", step + constant(110), "SetupThreadGroup"),
        group("last", step + constant(120), "PostThreadGroup"),
        # After all others: no script waits for the compiler.
        group("moved", answers("x", "Moved", below=_SIGNS + _NOTES) + answers("x", "Noted", below=_NOTES + _SIGNS),
              "PostThreadGroup", loops=5),
        group("checked", answers("x", below=script("JSR223Assertion", "Waits", "Thread.sleep(100)")
              + script("BeanShellAssertion", "Rests", "Thread.sleep(60);")), "PostThreadGroup", loops=5),
        group("told", answers("x", below=script("JSR223Listener", "Tells", _BUSY_100_MS)
              + script("BeanShellListener", "Says", "Thread.sleep(50);")), "PostThreadGroup", loops=5),
        group("at the end", step + constant(130), loops=3),
        group("Größe\\t&#9;&#10;1", step + constant(140)),
        # By its sampler, and by what follows it; also in a transaction, where JMeter asks more often.
        group("ignored", does("SampleResult.setIgnore(); Thread.sleep(100)", "Poll")
              + parent("whole", does("SampleResult.setSuccessful(vars.getIteration() % 2 == 0)", "Buy") + _QUIET)
              + does("1", "Seen"), loops=4),
        group("made good", failed("Pay") + _GOOD
              + does("SampleResult.setSuccessful(false)", "Kept")
              + answers("x", "Passed", below=_ASSERTS + _PASSES) + answers("x", "Asserted", below=_ASSERTS), loops=3),
        group("not sent", debug("Debug") + does("Thread.sleep(20)", "Waits"), loops=3),
        group("inside", parent("both", debug("Debug") + debug("Quiet") + failed("Mend") + debug("Last") + _GOOD),
              loops=2),
        group("extractors", extractor_plan(), loops=4),
        # The name is sent; it is not, or by a failure; a script fails before, in its pause, and after a failure.
        group("names", answers("ok", "Sent", sent="${order}", below=_THROWS) + answers("ok ${order}", "Kept", sent="-")
              + answers("ok", "Set", sent="${ready}", below=_SETS + _TIMER_THROWS)
              + answers("x", "Failed", sent="${order}", status="NO", below=_THROWS_AFTER)
              + answers("x", "Read", below=_SHELL_THROWS)
              + decides("If", "fine", "${__jexl3(1 == 1)}", answers("x", "Asked", sent="${__groovy(nothing.x())}"))
              + decides("If", "wrong", "${__jexl3(paid == 1)}", answers("x")), loops=3),
        group("locked", element("CriticalSectionController", "One by one",
                                text("CriticalSectionController.lockName", "a"), below=does("Thread.sleep(300)")),
              users=3),
    )  # fmt: skip
