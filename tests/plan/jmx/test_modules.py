"""What Module Controllers run: its steps are those of the place from which they run it."""

import pytest

from harness.plan.jmx.steps import PlanStep, plan_steps
from tests.support.off_host import collection, element, flag, jmx, request


def skips(below):
    return element("IfController", "Logic", below=below)


def module(*path):
    return element("ModuleController", "Run", collection("ModuleController.node_path", "Test Plan", "Off host", *path))


@pytest.mark.parametrize("is_enabled", [True, False])
def test_what_a_module_controller_runs_is_a_step_of_its_place(tmp_path, is_enabled):
    flow = element("GenericController", "Flow", below=request(name="Pay") + skips(request(name="Refund")))
    lib = element("TestFragmentController", "Lib", below=flow + element("GenericController", "Unused", below=request()))
    lib = lib if is_enabled else lib.replace('testname="Lib"', 'testname="Lib" enabled="false"')
    cache = element("CacheManager", "Cache", flag("useExpires"))
    for in_group, skipped in ((module("Lib", "Flow"), False), (skips(module("Lib", "Flow")), True)):
        (tmp_path / "plan.jmx").write_text(jmx(cache + request(name="Open") + in_group, lib))
        found = [(one.label, one.may_be_skipped, one.may_be_cached) for one in plan_steps(tmp_path / "plan.jmx", {})]
        assert found == [("Open", False, True), ("Pay", skipped, True), ("Refund", True, True)]


def test_modules_that_run_themselves_or_nothing_or_either_of_two_have_no_steps(tmp_path):
    again = element("GenericController", "Again", below=request(name="Pay") + module("Lib", "Again"))
    two = element("GenericController", "Two", below=request(name="Sell")) * 2
    lib = element("TestFragmentController", "Lib", below=again + two)
    below = module("Lib", "Again") + module("Lib", "None") + module("Lib", "Two") + module()
    (tmp_path / "plan.jmx").write_text(jmx(below, lib))
    assert plan_steps(tmp_path / "plan.jmx", {}) == (PlanStep("Pay", may_be_skipped=False),)
