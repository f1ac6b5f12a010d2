"""A plan with three thread groups behind a slow setUp, each with a load of its own."""

from __future__ import annotations

# A plan file for a JMX with the thread groups Browse and Buy.
TWO_LOADS = """format_version = 1
title = "Two loads"
shape = "tiny.jmx"
system = "tiny"
[[load]]
group = "Browse"
users = 2
duration_s = 4
[[load]]
group = "Buy"
users = 1
"""


def sampler(label: str, elapsed_ms: int) -> str:
    """Return a sampler that asks no server."""
    return f"""<kg.apc.jmeter.samplers.DummySampler guiclass="kg.apc.jmeter.samplers.DummySamplerGui"
  testclass="kg.apc.jmeter.samplers.DummySampler" testname="{label}">
  <boolProp name="WAITING">true</boolProp>
  <boolProp name="SUCCESFULL">true</boolProp>
  <stringProp name="RESPONSE_CODE">200</stringProp>
  <stringProp name="RESPONSE_MESSAGE">${{__P(scheme,)}}${{__P(host,)}}${{__P(port,)}}${{__P(base_path,)}}</stringProp>
  <stringProp name="RESPONSE_DATA">x</stringProp>
  <stringProp name="RESPONSE_TIME">{elapsed_ms}</stringProp>
  <stringProp name="LATENCY">0</stringProp>
  <stringProp name="CONNECT">0</stringProp>
</kg.apc.jmeter.samplers.DummySampler><hashTree/>"""


def group(name: str, children: str, kind: str = "ThreadGroup", more: str = "") -> str:
    """Return a thread group of one user and one loop, as an engineer saves it from JMeter's editor."""
    return f"""<{kind} guiclass="{kind}Gui" testclass="{kind}" testname="{name}">
  <stringProp name="ThreadGroup.on_sample_error">startnextloop</stringProp>
  <elementProp name="ThreadGroup.main_controller" elementType="LoopController">
    <boolProp name="LoopController.continue_forever">false</boolProp>
    <stringProp name="LoopController.loops">1</stringProp>
  </elementProp>
  <stringProp name="ThreadGroup.num_threads">1</stringProp>{more}
</{kind}><hashTree>{children}</hashTree>"""


def several_jmx(*groups: str) -> str:
    """Return a test plan with these thread groups."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Several"/>
<hashTree>{"".join(groups)}</hashTree>
</hashTree></jmeterTestPlan>
"""


BROWSE, SPIKE, BUY = (
    group("Browse", sampler("Page", 40)),
    group("Night batch", sampler("Batch", 50) + sampler("Shared", 20)),
    group("Buy", sampler("Order", 30) + sampler("Shared", 20)),
)
HEAD = """format_version = 1
title = "Several loads"
shape = "tiny.jmx"
[allow]
other_protocols = true
"""
