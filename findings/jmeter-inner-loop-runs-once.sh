#!/usr/bin/env bash
# Question: how many requests does a JMX send with a Loop Controller of 2 loops in a Thread Group of 10 loops, one user, if
# LoopController.continue_forever is false in both?
# Guess: 20; the property can only matter where the number of loops is -1.
# Seen: 2. With false, an inner loop is finished for good after the first iteration of the Thread Group; JMeter's GUI
# writes true there, and false in Thread Groups. With true in the inner loop it is 20.
# Since: seen with JMeter 5.6.3.
# A user notices: a generated or hand-written JMX sends a tenth of its requests, with success and without a warning; the
# GUI shows the same tree for both.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
count() { # requests with continue_forever=$1 in the inner loop
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">10</stringProp>
</elementProp></ThreadGroup><hashTree>
<LoopController guiclass="LoopControlPanel" testclass="LoopController" testname="loop">
<boolProp name="LoopController.continue_forever">$1</boolProp><stringProp name="LoopController.loops">2</stringProp>
</LoopController><hashTree>
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
with_false=$(count false)
with_true=$(count true)
echo "JMeter 5.6.3: requests of 10 x 2 loops: $with_false with continue_forever=false in the inner loop, $with_true with true"
[ "$with_false $with_true" = "2 20" ] || { echo "CHANGED: not 2 and 20"; exit 1; }
