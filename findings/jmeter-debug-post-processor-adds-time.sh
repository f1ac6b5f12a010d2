#!/usr/bin/env bash
# Question: a request of 30 ms has a script of 200 ms as a post-processor, and a Debug PostProcessor before it, after it, or
# none. Which time do the three rows have?
# Guess: 30 ms each: a post-processor runs when the sample has ended, and one for debugging changes no time.
# Seen: 230 ms where the Debug PostProcessor comes after the script, 30 ms in the two others. It adds a sub-result, which
# moves the end of the sample to that moment.
# Since: seen with JMeter 5.6.3.
# A user notices: requests take longer in JMeter than in the log of the server, in a plan that was debugged last.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
. "$here/support/jmeter-home.bash"
debug='<DebugPostProcessor guiclass="TestBeanGUI" testclass="DebugPostProcessor" testname="variables"/><hashTree/>'
script='<BeanShellPostProcessor guiclass="TestBeanGUI" testclass="BeanShellPostProcessor" testname="script">
<stringProp name="script">Thread.sleep(200);</stringProp></BeanShellPostProcessor><hashTree/>'
page() { # a sample of 30 ms with the name $1 and the post-processors $2
    cat <<XML
<JavaSampler guiclass="JavaTestSamplerGui" testclass="JavaSampler" testname="$1">
<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
<elementProp name="Sleep_Time" elementType="Argument"><stringProp name="Argument.name">Sleep_Time</stringProp>
<stringProp name="Argument.value">30</stringProp></elementProp>
<elementProp name="Sleep_Mask" elementType="Argument"><stringProp name="Argument.name">Sleep_Mask</stringProp>
<stringProp name="Argument.value">0</stringProp></elementProp></collectionProp></elementProp>
<stringProp name="classname">org.apache.jmeter.protocol.java.test.JavaTest</stringProp></JavaSampler><hashTree>$2</hashTree>
XML
}
cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">1</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">5</stringProp>
</elementProp></ThreadGroup><hashTree>
$(page none "$script")$(page before "$debug$script")$(page after "$script$debug")
</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
kind() { # "with" if the shortest sample of the name $1 includes the script
    least=$(awk -F, -v name="$1" '$3 == name {print $2}' rows.jtl | sort -n | head -1)
    if [ "$least" -ge 200 ]; then echo with; else echo without; fi
}
seen="$(kind none) $(kind before) $(kind after)"
echo "JMeter 5.6.3, 30 ms and a script of 200 ms: no Debug PostProcessor, one before, one after: $seen the script"
[ "$seen" = "without without with" ] || { echo "CHANGED: not without, without, with"; exit 1; }
