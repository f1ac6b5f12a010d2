#!/usr/bin/env bash
# Question: a Free-Form Arrivals Thread Group goes from 0 to 4 arrivals per second in 10 s and stays there for 5 s. How
# many arrivals are there?
# Guess: 40, the area of the curve; and 42 from 0.5 per second on.
# Seen: 11, and 42. After each arrival the group waits for 1 / rate of that moment: from 0 on that is most of the load.
# Since: seen with jmeter-plugins-casutg 2.10 in JMeter 5.6.3.
# A user notices: the load has a quarter of its arrivals, a long ramp hardly any; a ramp from a small rate has them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
for jar in jmeter-plugins-casutg:2.10 jmeter-plugins-cmn-jmeter:0.7; do
    mvn -q -B -Dstyle.color=never dependency:copy -Dartifact="kg.apc:$jar" -DoutputDirectory=jmeter/lib/ext >/dev/null
done
arrivals() { # the arrivals of a load whose ramp begins with the rate $1
    row() { echo "<collectionProp name=\"$1\"><stringProp name=\"1\">$2</stringProp><stringProp name=\"2\">$3</stringProp><stringProp name=\"3\">$4</stringProp></collectionProp>"; }
    cat >"$1.jmx" <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroup testname="arrivals"
guiclass="com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroupGui"
testclass="com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroup">
<elementProp name="ThreadGroup.main_controller" elementType="com.blazemeter.jmeter.control.VirtualUserController"/>
<collectionProp name="Schedule">$(row a "$1" 4 10)$(row b 4 4 5)</collectionProp>
<stringProp name="ConcurrencyLimit">100</stringProp><stringProp name="LogFilename"></stringProp>
<stringProp name="Iterations"></stringProp><stringProp name="Unit">S</stringProp>
</com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroup><hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">5</stringProp></elementProp>
<elementProp name="Sleep_Mask" elementType="Argument"><stringProp name="Argument.name">Sleep_Mask</stringProp>
<stringProp name="Argument.value">0</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    timeout 60 java -jar jmeter/bin/ApacheJMeter.jar -n -t "$1.jmx" -l "$1.jtl" -j "$1.log" >/dev/null
    grep -c ,page, "$1.jtl"
}
zero=$(arrivals 0)
half=$(arrivals 0.5)
echo "jmeter-plugins-casutg 2.10, JMeter 5.6.3: arrivals of a ramp to 4 per s in 10 s and 5 s there: from 0: $zero of 40, from 0.5: $half of 42"
[ "$zero" -le 20 ] && [ "$half" -ge 40 ] || { echo "CHANGED: not about 11 and 42"; exit 1; }
