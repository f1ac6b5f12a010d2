#!/usr/bin/env bash
# Question: what does a JSR223 Sampler whose Groovy script begins with @Grab('…') do in JMeter, which has Groovy 3, in a plan
# of 3 users who send another request after it?
# Guess: it downloads the library; without a network the sample fails with a message, and the request after it is sent.
# Seen: no sample at all and exit code 0. JMeter has no Ivy: a NoClassDefFoundError, which is an Error and no exception,
# ends each user in the script; jmeter.log has it, the result file has no row of either sampler.
# Since: seen with JMeter 5.6.3 and Groovy 3.0.20.
# A user notices: a script that runs with `groovy script.groovy` is copied into a plan, and the test ends at once with success.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
count() { # rows of both samplers, and the exit code, with $1 as the first line of the script
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">3</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">1</stringProp>
</elementProp></ThreadGroup><hashTree>
<JSR223Sampler guiclass="TestBeanGUI" testclass="JSR223Sampler" testname="page"><stringProp name="scriptLanguage">groovy</stringProp>
<stringProp name="cacheKey">true</stringProp><stringProp name="parameters"></stringProp>
<stringProp name="filename"></stringProp><stringProp name="script">$1 import java.util.List
return 1</stringProp></JSR223Sampler><hashTree/>
<JSR223Sampler guiclass="TestBeanGUI" testclass="JSR223Sampler" testname="page"><stringProp name="scriptLanguage">groovy</stringProp>
<stringProp name="cacheKey">true</stringProp><stringProp name="parameters"></stringProp>
<stringProp name="filename"></stringProp><stringProp name="script">1</stringProp></JSR223Sampler><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    code=0
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l "$2.jtl" >/dev/null 2>&1 || code=$?
    echo "$(grep -c ,page, "$2.jtl" || true) $code"
}
without=$(count "" without)
with=$(count "@Grab('org.apache.commons:commons-csv:1.10.0')" with)
echo "JMeter 5.6.3: rows and exit code of 3 users and 2 samplers: $without; with @Grab $with"
[ "$without, $with" = "6 0, 0 0" ] || { echo "CHANGED: not 6 0, 0 0"; exit 1; }
