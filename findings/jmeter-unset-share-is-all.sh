#!/usr/bin/env bash
# Question: how often does a Throughput Controller run if its percent, or its number of executions, is ${share}, and
# nothing sets that variable?
# Guess: never, as a Loop Controller with such a number.
# Seen: percent: in each of 20 iterations, as 100 %. Total: once. jmeter.log has a warning.
# Since: seen with JMeter 5.6.3.
# A user notices: a misspelt name makes the rare step as frequent as all others, and nothing fails.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
count() { # executions with style $1: 0 is a number, 1 percent
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">20</stringProp>
</elementProp></ThreadGroup><hashTree>
<ThroughputController guiclass="ThroughputControllerGui" testclass="ThroughputController" testname="some">
<intProp name="ThroughputController.style">$1</intProp><boolProp name="ThroughputController.perThread">false</boolProp>
<stringProp name="ThroughputController.maxThroughput">\${share}</stringProp>
<stringProp name="ThroughputController.percentThroughput">\${share}</stringProp></ThroughputController><hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">1</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l "$1.jtl" >/dev/null
    grep -c ,page, "$1.jtl"
}
percent=$(count 1)
total=$(count 0)
echo "JMeter 5.6.3, 20 iterations, share by a variable that is not set: percent: $percent executions; total: $total"
[ "$percent $total" = "20 1" ] || { echo "CHANGED: not 20 and 1"; exit 1; }
