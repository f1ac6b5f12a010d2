#!/usr/bin/env bash
# Question: ten users of a Thread Group with a duration of 5 s share a Throughput Shaping Timer of one request per second.
# How many requests are sent, and when does the test end?
# Guess: 5 or 6 within 5 s: JMeter ends users who wait in a timer with the duration, as with its own timers.
# Seen: 14 to 16 within about 15 s. This timer waits by itself, so each user sends one request more after the end, at the rate.
# Since: seen with jmeter-plugins-tst 2.5 in JMeter 5.6.3.
# A user notices: a load of 65 s takes 76 s, and its requests per second are too few.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
for jar in jmeter-plugins-tst:2.5 jmeter-plugins-cmn-jmeter:0.8; do
    mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="kg.apc:$jar" -DoutputDirectory=jmeter/lib/ext >/dev/null
done
group() { # a Thread Group of ten users for 5 s with the timer $1
    cat <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">10</stringProp><boolProp name="ThreadGroup.scheduler">true</boolProp>
<stringProp name="ThreadGroup.duration">5</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">-1</stringProp>
</elementProp></ThreadGroup><hashTree>$1<hashTree/>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">5</stringProp></elementProp>
<elementProp name="Sleep_Mask" elementType="Argument"><stringProp name="Argument.name">Sleep_Mask</stringProp>
<stringProp name="Argument.value">0</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
}
shaping='<kg.apc.jmeter.timers.VariableThroughputTimer guiclass="kg.apc.jmeter.timers.VariableThroughputTimerGui"
testclass="kg.apc.jmeter.timers.VariableThroughputTimer" testname="rate"><collectionProp name="load_profile">
<collectionProp name="1"><stringProp name="1">1</stringProp><stringProp name="2">1</stringProp><stringProp name="3">60</stringProp>
</collectionProp></collectionProp></kg.apc.jmeter.timers.VariableThroughputTimer>'
own='<ConstantThroughputTimer guiclass="TestBeanGUI" testclass="ConstantThroughputTimer" testname="rate">
<intProp name="calcMode">4</intProp><doubleProp><name>throughput</name><value>60.0</value></doubleProp></ConstantThroughputTimer>'
late() { # the requests that begin 5.5 s after the first one or later, of a run with the timer $2 and the name $1
    group "$2" >"$1.jmx"
    java -jar jmeter/bin/ApacheJMeter.jar -n -t "$1.jmx" -l "$1.jtl" -j "$1.log" >/dev/null
    awk -F, 'NR == 2 {first = $1} NR > 1 && $1 >= first + 5500 {count++} END {print count + 0}' "$1.jtl"
}
own_late=$(late own "$own")
shaping_late=$(late shaping "$shaping")
echo "jmeter-plugins-tst 2.5, JMeter 5.6.3: requests after the end of 5 s: own timer $own_late, Throughput Shaping Timer $shaping_late"
[ "$own_late" -eq 0 ] && [ "$shaping_late" -ge 7 ] || { echo "CHANGED: not 0 and about 9"; exit 1; }
