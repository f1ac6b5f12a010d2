#!/usr/bin/env bash
# Question: what are the values of a CSV Data Set in seven iterations of one user, if the file is "ann", "bob", an empty
# line, "cid", with recycle on end of file? And how many iterations has a user if the file is not read again?
# Guess: ann, bob, cid, ann, bob, cid, ann, or an empty value for the empty line; three or four iterations.
# Seen: ann, bob, <EOF>, cid, ann, bob, <EOF>: an empty line counts as the end of the file, but the next line is read
# after it. With stop on end of file the user ends after two of three rows. An empty line after the last row gives one
# <EOF> per round as well. With quotedData the empty line is a row with an empty value.
# Since: seen with JMeter 5.6.3.
# A user notices: one request in four with the user name <EOF>, or a load that ends early, without a warning.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
printf 'ann\nbob\n\ncid\n' >people.csv
names() { # the labels of one user with recycle=$1, stopThread=$2, quotedData=$3
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<CSVDataSet guiclass="TestBeanGUI" testclass="CSVDataSet" testname="people">
<stringProp name="filename">people.csv</stringProp><stringProp name="variableNames">name</stringProp>
<stringProp name="delimiter">,</stringProp><stringProp name="shareMode">shareMode.all</stringProp>
<boolProp name="recycle">$1</boolProp><boolProp name="stopThread">$2</boolProp><boolProp name="quotedData">$3</boolProp>
</CSVDataSet><hashTree/>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">7</stringProp>
</elementProp></ThreadGroup><hashTree>
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="[\${name}]">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">1</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    rm -f rows.jtl
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
    grep -o '\[[^]]*\]' rows.jtl | tr -d '\n'
}
again=$(names true false false)
once=$(names false true false)
quoted=$(names true false true)
echo "JMeter 5.6.3, rows ann, bob, empty, cid: recycled $again; stopped at the end $once; recycled with quotes $quoted"
[ "$again $once" = "[ann][bob][<EOF>][cid][ann][bob][<EOF>] [ann][bob]" ] || { echo "CHANGED: the empty line"; exit 1; }
[ "$quoted" = "[ann][bob][][cid][ann][bob][]" ] || { echo "CHANGED: the empty line with quotes"; exit 1; }
