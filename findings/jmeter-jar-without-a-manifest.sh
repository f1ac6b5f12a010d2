#!/usr/bin/env bash
# Question: what does JMeter do with a plan of ${__P(users,3)} users when somebody has put a jar of one text file, made with
# `zip`, into lib/ext?
# Guess: 3 requests; the jar has no class, so JMeter skips it or logs a warning.
# Seen: no request at all, and exit code 0. Such a jar has no META-INF/MANIFEST.MF, the search for functions ends with a
# NullPointerException there, and JMeter then knows no function: "${__P(users,3)}" is no number, so 0 threads start.
# Since: seen with JMeter 5.6.3.
# A user notices: after a jar of one's own is added, tests end at once with success, and no request is sent.
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
<stringProp name="ThreadGroup.num_threads">${__P(users,3)}</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">1</stringProp>
</elementProp></ThreadGroup><hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">1</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
count() { # requests, and the exit code
    code=0
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l "$1.jtl" >/dev/null 2>&1 || code=$?
    echo "$(grep -c ,page, "$1.jtl" 2>/dev/null || true) $code"
}
before=$(count before)
echo text >note.txt
python3 -m zipfile -c jmeter/lib/ext/own.jar note.txt
after=$(count after)
mkdir META-INF && echo "Manifest-Version: 1.0" >META-INF/MANIFEST.MF
python3 -m zipfile -c jmeter/lib/ext/own.jar META-INF note.txt
mended=$(count mended)
echo "JMeter 5.6.3: requests and exit code: $before; with a jar without a manifest $after; with one in it $mended"
[ "$before, $after, $mended" = "3 0, 0 0, 3 0" ] || { echo "CHANGED: not 3 0, 0 0, 3 0"; exit 1; }
