# A Faces page in Tomcat 10.1, of Mojarra or MyFaces, and a client of it; source this file in a temporary folder.
faces() { # start the page with the packages $1 (of Maven, as group:artifact:version); its port is in the file port
    local one parts=
    for one in org.apache.tomcat.embed:tomcat-embed-{core,el,websocket}:10.1.59 \
        org.jboss.weld.servlet:weld-servlet-core:5.1.7.Final $1; do
        IFS=: read -r group artifact version <<<"$one"
        parts+="<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
    done
    mkdir -p page/WEB-INF classes
    cat >pom.xml <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>local</groupId><artifactId>page</artifactId><version>1</version><dependencies>$parts</dependencies></project>
XML
    mvn -q -B -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory=jars >/dev/null
    echo '<beans xmlns="https://jakarta.ee/xml/ns/jakartaee" version="4.0" bean-discovery-mode="annotated"/>' >page/WEB-INF/beans.xml
    local listener='<listener><listener-class>org.apache.myfaces.webapp.StartupServletContextListener</listener-class></listener>'
    [[ $1 == *myfaces* ]] || listener=
    cat >page/WEB-INF/web.xml <<XML
<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">$listener
<context-param><param-name>jakarta.faces.PROJECT_STAGE</param-name><param-value>Production</param-value></context-param>
<servlet><servlet-name>Faces</servlet-name><servlet-class>jakarta.faces.webapp.FacesServlet</servlet-class></servlet>
<servlet-mapping><servlet-name>Faces</servlet-name><url-pattern>*.xhtml</url-pattern></servlet-mapping></web-app>
XML
    cat >page/index.xhtml <<'XML'
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:h="jakarta.faces.html"><h:head><title>Orders</title></h:head>
<h:body><h:form id="f"><h:commandButton id="go" value="Order" action="#{orders.add}"/>orders=#{orders.count};</h:form></h:body></html>
XML
    cat >Orders.java <<'JAVA'
package page;
import java.io.File;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.*;
import org.apache.tomcat.util.scan.StandardJarScanner;

@jakarta.inject.Named @jakarta.enterprise.context.ApplicationScoped
public class Orders {
    private int count;
    public int getCount() { return count; }
    public String add() { count++; return null; }

    public static void main(String[] arguments) throws Exception {
        var tomcat = new Tomcat();
        tomcat.setBaseDir("base");
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        var context = (StandardContext) tomcat.addWebapp("", new File("page").getAbsolutePath());
        context.setParentClassLoader(Orders.class.getClassLoader());
        var root = new StandardRoot(context);
        context.setResources(root);
        root.addPreResources(new DirResourceSet(root, "/WEB-INF/classes", new File("classes").getAbsolutePath(), "/"));
        ((StandardJarScanner) context.getJarScanner()).setScanManifest(false);
        tomcat.start();
        java.nio.file.Files.writeString(java.nio.file.Path.of("port"), "" + tomcat.getConnector().getLocalPort());
        tomcat.getServer().await();
    }
}
JAVA
    javac -cp 'jars/*' -d classes Orders.java
    java -cp 'jars/*:classes' page.Orders 2>/dev/null &
    trap "kill $! 2>/dev/null; rm -rf '$work'" EXIT
    for _ in $(seq 300); do [ -s port ] && break; sleep 0.1; done
    cat >user.py <<'PY'
import html
import http.client
import re
import urllib.parse


class User:
    """A session: `state` is the ViewState of its latest page, `orders` the number of orders on it."""

    def __init__(self) -> None:
        self.cookie = ""
        self.page()

    def page(self) -> str:
        self._send("GET", None)
        return self.state

    def order(self, state: str | None) -> int:
        """Press the button on a page with this state, None for a form without one; return the code."""
        fields = {"f": "f", "f_SUBMIT": "1", "f:go": "Order", "jakarta.faces.ViewState": state}
        return self._send("POST", urllib.parse.urlencode({name: one for name, one in fields.items() if one is not None}))

    def _send(self, method: str, body: str | None) -> int:
        client = http.client.HTTPConnection("127.0.0.1", int(open("port").read()), timeout=30)
        headers = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        client.request(method, "/index.xhtml", body, headers)
        response = client.getresponse()
        text = response.read().decode()
        for one in response.headers.get_all("Set-Cookie") or []:
            if one.startswith("JSESSIONID"):
                self.cookie = one.partition(";")[0]
        found = re.search(r'name="jakarta.faces.ViewState"[^>]*value="([^"]*)"', text)
        self.state = html.unescape(found[1]) if found else ""
        count = re.search(r"orders=(\d+);", text)
        self.orders = int(count[1]) if count else -1
        return response.status
PY
}
readonly MOJARRA=org.glassfish:jakarta.faces:4.0.14
readonly MYFACES="org.apache.myfaces.core:myfaces-api:4.0.2 org.apache.myfaces.core:myfaces-impl:4.0.2"
