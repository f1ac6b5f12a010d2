#!/usr/bin/env bash
# Question: how often does a user run a Once Only Controller inside a Loop Controller, if the Thread Group has 5 loops?
# Guess: once, as the name says.
# Seen: five times. "Once" means: in the first round of the next Loop Controller above, and each iteration of the Thread
# Group starts that loop anew. Directly in the Thread Group it is run once.
# Since: seen with JMeter 5.6.3.
# A user notices: five times as many log-ins as users.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
count() { # requests of a Once Only Controller, which is inside $1
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">5</stringProp>
</elementProp></ThreadGroup><hashTree>
<$1 guiclass="$2" testclass="$1" testname="outer">
<boolProp name="LoopController.continue_forever">true</boolProp><stringProp name="LoopController.loops">3</stringProp></$1><hashTree>
<OnceOnlyController guiclass="OnceOnlyControllerGui" testclass="OnceOnlyController" testname="once"/><hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">1</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l "$1.jtl" >/dev/null
    grep -c ,page, "$1.jtl"
}
in_loop=$(count LoopController LoopControlPanel)
in_group=$(count GenericController LogicControllerGui)
echo "JMeter 5.6.3, Thread Group of 5 loops, one user: once in a Loop Controller: $in_loop; in a Simple Controller: $in_group"
[ "$in_loop $in_group" = "5 1" ] || { echo "CHANGED: not 5 and 1"; exit 1; }
