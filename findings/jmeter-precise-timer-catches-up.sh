#!/usr/bin/env bash
# Question: a Precise Throughput Timer of 5 requests per second is in a thread group that begins 6 s after the test. How
# many requests are sent in the group's first second?
# Guess: about five.
# Seen: about thirty-five. The timer plans its requests from the beginning of the test, and sends the late ones at once. A
# setUp Thread Group that takes 6 s does the same, and so do thread groups that run one after another.
# Since: seen with JMeter 5.6.3.
# A user notices: a burst at the beginning of the load, with long times and errors that no rate explains.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
first() { # requests in the first second of a group that begins after $1 s
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">10</stringProp><boolProp name="ThreadGroup.scheduler">true</boolProp>
<stringProp name="ThreadGroup.delay">$1</stringProp><stringProp name="ThreadGroup.duration">3</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">-1</stringProp>
</elementProp></ThreadGroup><hashTree>
<PreciseThroughputTimer guiclass="TestBeanGUI" testclass="PreciseThroughputTimer" testname="rate">
<doubleProp><name>throughput</name><value>5.0</value></doubleProp><intProp name="throughputPeriod">1</intProp>
<longProp name="duration">3600</longProp><intProp name="exactLimit">10000</intProp><intProp name="batchSize">1</intProp>
<doubleProp><name>allowedThroughputSurplus</name><value>1.0</value></doubleProp><longProp name="randomSeed">1</longProp>
</PreciseThroughputTimer><hashTree/>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">1</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l "after-$1.jtl" >/dev/null
    grep ,page, "after-$1.jtl" | sort -n | awk -F, 'NR == 1 { start = $1 } $1 < start + 1000' | wc -l
}
at_once=$(first 0)
late=$(first 6)
echo "JMeter 5.6.3, a Precise Throughput Timer of 5/s, first second: $at_once requests; in a group after 6 s: $late"
[ "$late" -ge 25 ] && [ "$late" -ge $((at_once + 12)) ] || { echo "CHANGED: no burst in a late group"; exit 1; }
