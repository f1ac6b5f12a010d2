#!/usr/bin/env bash
# Question: a Transaction Controller has a request of 30 ms and a timer of 500 ms. JMeter's dialog makes a new one without
# "Include duration of timer"; which time does its row have if the property is not in the file, as in generated plans?
# Guess: 30 ms, as of a new one in the dialog; a flag that is not there is false.
# Seen: 530 ms, as with the flag. Only the value false leaves pauses out.
# Since: seen with JMeter 5.6.3.
# A user notices: a transaction of a generated plan takes 17 times as long as its requests, and seems to be slow.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
transaction() { # a Transaction Controller with the name $1 and the property $2
    cat <<XML
<TransactionController guiclass="TransactionControllerGui" testclass="TransactionController" testname="$1">$2</TransactionController><hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="page">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">30</stringProp></elementProp>
<elementProp name="Sleep_Mask" elementType="Argument"><stringProp name="Argument.name">Sleep_Mask</stringProp>
<stringProp name="Argument.value">0</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree>
<ConstantTimer guiclass="ConstantTimerGui" testclass="ConstantTimer" testname="pause">
<stringProp name="ConstantTimer.delay">500</stringProp></ConstantTimer><hashTree/></hashTree></hashTree>
XML
}
flag='<boolProp name="TransactionController.includeTimers">'
cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">3</stringProp>
</elementProp></ThreadGroup><hashTree>
$(transaction missing "")$(transaction yes "${flag}true</boolProp>")$(transaction no "${flag}false</boolProp>")
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
kind() { # "with" if the shortest transaction of the name $1 includes the pause
    least=$(awk -F, -v name="$1" '$3 == name {print $2}' rows.jtl | sort -n | head -1)
    if [ "$least" -ge 500 ]; then echo with; else echo without; fi
}
seen="$(kind missing) $(kind yes) $(kind no)"
echo "JMeter 5.6.3, 30 ms and a pause of 500 ms: the property is missing, true, false: $seen the pause"
[ "$seen" = "with with without" ] || { echo "CHANGED: not with, with, without"; exit 1; }
