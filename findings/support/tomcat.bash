# Tomcat's jars for the findings; source this file.
tomcat_jars() { # fetch those of version $1 into jars/ of the current folder
    cat >pom.xml <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>server</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.tomcat.embed</groupId><artifactId>tomcat-embed-core</artifactId><version>$1</version></dependency>
</dependencies></project>
XML
    mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
}

in_each_tomcat() { # for each version $2…: compile and run class $1 of Java on stdin in it; prints "VERSION OUTPUT" each
    local class=$1 code version api
    shift
    code=$(cat)
    for version in "$@"; do
        mkdir "$work/$version" && cd "$work/$version"
        api=jakarta && [ "${version%%.*}" != 9 ] || api=javax
        tomcat_jars "$version"
        cat >Server.java <<JAVA
import $api.servlet.http.*;
import java.io.*;
import org.apache.catalina.startup.Tomcat;

class Server {
    /** Starts a Tomcat on 127.0.0.1 with one servlet for all paths. */
    static Tomcat start(HttpServlet servlet) throws Exception {
        var tomcat = new Tomcat();
        tomcat.setBaseDir("base");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "one", servlet);
        context.addServletMappingDecoded("/", "one");
        tomcat.start();
        return tomcat;
    }
}
JAVA
        { echo "import $api.servlet.http.*;" && echo "$code"; } >"$class.java"
        javac -XDsuppressNotes -cp 'jars/*' -d classes Server.java "$class.java"
        echo "$version $(java -cp 'jars/*:classes' "$class" 2>/dev/null)"
    done
}
