#!/usr/bin/env bash
# Question: does JMeter's JSON Extractor return numbers and objects of a response as they are written there?
# Guess: yes; what is extracted can be sent back, signed or compared.
# Seen: no. 1.10 becomes 1.1, 1e3 becomes 1000.0, 0.00001 becomes 1.0E-5, and "http://x/y" in an extracted object becomes
# "http:\/\/x\/y". The JSON JMESPath Extractor rewrites the numbers too, and leaves the slashes.
# Since: seen with JMeter 5.6.3. A Regular Expression or Boundary Extractor returns the text.
# A user notices: 400 or "wrong signature" for an amount or an object that is sent back, from the load test only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
cat >plan.jmx <<'XML'
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">1</stringProp>
</elementProp></ThreadGroup><hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="ResultData" elementType="Argument"><stringProp name="Argument.name">ResultData</stringProp>
<stringProp name="Argument.value">{"price":1.10,"count":1e3,"rate":0.00001,"next":{"url":"http://x/y"}}</stringProp>
</elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree>
<JSONPostProcessor guiclass="JSONPostProcessorGui" testclass="JSONPostProcessor" testname="values">
<stringProp name="JSONPostProcessor.referenceNames">price;count;rate;next</stringProp>
<stringProp name="JSONPostProcessor.jsonPathExprs">$.price;$.count;$.rate;$.next</stringProp>
<stringProp name="JSONPostProcessor.match_numbers">1;1;1;1</stringProp>
<stringProp name="JSONPostProcessor.defaultValues">none;none;none;none</stringProp>
</JSONPostProcessor><hashTree/></hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="${price} ${count} ${rate} ${next}">
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l all.jtl >/dev/null
python3 - <<'PY'
import csv

with open("all.jtl") as rows:
    extracted = list(csv.DictReader(rows))[-1]["label"]
print('in the response: 1.10 1e3 0.00001 {"url":"http://x/y"}')
print(f"JMeter 5.6.3:    {extracted}")
if extracted != r'1.1 1000.0 1.0E-5 {"url":"http:\/\/x\/y"}':
    raise SystemExit("CHANGED: other texts")
PY
