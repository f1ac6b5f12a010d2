# Let a user of a real JMeter (or `users`) send HTTP requests to a server; source this file after jmeter-home.bash.
serve() { # start the class Page, which standard input has; its port is in the file port
    {
        echo "import http.server, time"
        cat
        cat <<'PY'
Page.protocol_version = "HTTP/1.1"
Page.log_message = lambda *_: None
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
open("port", "w").write(str(server.server_port))
server.serve_forever()
PY
    } >server.py
    python3 server.py &
    trap "kill $! 2>/dev/null; rm -rf '$work'" EXIT
    for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
}
request() { # an HTTP request named $1 to the path /$1, with method $2 (GET), arguments $3 and what is below it $4
    cat <<XML
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="$1">
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp><stringProp name="HTTPSampler.port">$(cat port)</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp><stringProp name="HTTPSampler.path">/$1</stringProp>
<stringProp name="HTTPSampler.method">${2:-GET}</stringProp><boolProp name="HTTPSampler.use_keepalive">true</boolProp>
<boolProp name="HTTPSampler.follow_redirects">true</boolProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments">
<collectionProp name="Arguments.arguments">${3:-}</collectionProp></elementProp>
</HTTPSamplerProxy><hashTree>${4:-}</hashTree>
XML
}
run() { # run $3 so many times ($1) by each user, with the elements $2 beside them; the rows are in rows.jtl
    cat >plan.jmx <<XML
<jmeterTestPlan version="1.2" properties="5.0"><hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="plan"/><hashTree>$2
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="users">
<stringProp name="ThreadGroup.num_threads">${users:-1}</stringProp>
<boolProp name="ThreadGroup.same_user_on_next_iteration">true</boolProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<boolProp name="LoopController.continue_forever">false</boolProp><stringProp name="LoopController.loops">$1</stringProp>
</elementProp></ThreadGroup><hashTree>$3</hashTree></hashTree></hashTree></jmeterTestPlan>
XML
    rm -f rows.jtl
    java -jar jmeter/bin/ApacheJMeter.jar -n -t plan.jmx -l rows.jtl >/dev/null
}
