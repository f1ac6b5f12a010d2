# Assemble a JMeter 5.6.3 home in ./jmeter from Maven packages; source this file in a temporary folder.
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>home</artifactId><version>1</version>
<dependencyManagement><dependencies><dependency><groupId>org.apache.jmeter</groupId>
<artifactId>ApacheJMeter_bom-thirdparty</artifactId><version>5.6.3</version><type>pom</type><scope>import</scope>
</dependency></dependencies></dependencyManagement><dependencies>
<dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter</artifactId><version>5.6.3</version></dependency>
<dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_config</artifactId><version>5.6.3</version></dependency>
<dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_components</artifactId><version>5.6.3</version></dependency>
<dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_functions</artifactId><version>5.6.3</version></dependency>
<dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_http</artifactId><version>5.6.3</version></dependency>
<dependency><groupId>org.apache.jmeter</groupId><artifactId>ApacheJMeter_java</artifactId><version>5.6.3</version></dependency>
</dependencies></project>
XML
mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=jars >/dev/null
mkdir -p jmeter/bin jmeter/lib/ext jmeter/lib/junit
python3 -m zipfile -e jars/ApacheJMeter_config-5.6.3.jar jmeter
mv jars/ApacheJMeter-5.6.3.jar jmeter/bin/ApacheJMeter.jar
mv jars/ApacheJMeter_*.jar jmeter/lib/ext/
mv jars/*.jar jmeter/lib/
