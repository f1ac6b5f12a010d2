package thruzero;

import java.io.File;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.LifecycleException;
import org.apache.catalina.LifecycleState;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.session.StandardManager;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.DirResourceSet;
import org.apache.catalina.webresources.StandardRoot;
import org.apache.tomcat.util.scan.StandardJarScanner;

/** Starts the site on the loopback address: Main WEBAPP WORK, and the system properties that Settings names. */
public final class Main {
    private static final int WRONG_USE = 2;
    private static final Logger LOG = Logger.getLogger(Main.class.getName());

    public static void main(String[] arguments) throws Exception {
        Settings settings;
        try {
            settings = Settings.ofSystem();
        } catch (IllegalArgumentException error) {
            System.err.println("thruzero: " + error.getMessage());
            System.exit(WRONG_USE);
            return;
        }
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(arguments[1]);
        tomcat.setHostname("localhost");
        tomcat.setConnector(connector(settings));
        tomcat.setAddDefaultWebXmlToWebapp(false); // it needs JSP; the site's own web.xml is enough
        StandardContext site = site(tomcat, new File(arguments[0]));
        tomcat.start();
        if (site.getState() != LifecycleState.STARTED) {
            System.err.println("thruzero: the site did not start; the log above has the reason");
            System.exit(1);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(tomcat), "stop"));
        tomcat.getServer().await();
    }

    private static Connector connector(Settings settings) {
        Connector connector = new Connector();
        connector.setPort(settings.port());
        connector.setProperty("address", "127.0.0.1");
        connector.setProperty("maxThreads", String.valueOf(settings.maxThreads()));
        connector.setProperty("acceptCount", String.valueOf(settings.acceptCount()));
        connector.setProperty("maxConnections", String.valueOf(settings.maxConnections()));
        connector.setProperty("connectionTimeout", String.valueOf(settings.connectionTimeoutMs()));
        connector.setProperty("keepAliveTimeout", String.valueOf(settings.keepAliveTimeoutMs()));
        // A user of a load test keeps one connection for all pages: Tomcat's 100 requests would end it now and then.
        connector.setProperty("maxKeepAliveRequests", "-1");
        return connector;
    }

    private static StandardContext site(Tomcat tomcat, File webapp) throws Exception {
        StandardContext site = (StandardContext) tomcat.addWebapp("", webapp.getAbsolutePath());
        site.setParentClassLoader(Main.class.getClassLoader());
        StandardManager sessions = new StandardManager();
        sessions.setPathname(""); // none is written to disk
        site.setManager(sessions);
        // CDI looks for beans in WEB-INF/classes; the libraries and their resources are on the class path.
        File classes = new File(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        StandardRoot resources = new StandardRoot(site);
        resources.addPreResources(new DirResourceSet(resources, "/WEB-INF/classes", classes.getAbsolutePath(), "/"));
        site.setResources(resources);
        ((StandardJarScanner) site.getJarScanner()).setScanManifest(false);
        return site;
    }

    private static void stop(Tomcat tomcat) {
        try {
            tomcat.stop();
            tomcat.destroy();
        } catch (LifecycleException error) {
            LOG.log(Level.WARNING, "could not be stopped in order", error);
        }
    }
}
