import com.github.tomakehurst.wiremock.core.Options;
import com.github.tomakehurst.wiremock.http.AdminRequestHandler;
import com.github.tomakehurst.wiremock.http.HttpServer;
import com.github.tomakehurst.wiremock.http.HttpServerFactory;
import com.github.tomakehurst.wiremock.http.StubRequestHandler;
import com.github.tomakehurst.wiremock.jetty11.Jetty11HttpServer;
import wiremock.org.eclipse.jetty.server.Connector;
import wiremock.org.eclipse.jetty.server.ServerConnector;

/**
 * A WireMock extension that binds all its ports to --bind-address. WireMock itself omits one: the port to which its
 * CONNECT proxy passes TLS connections listens on every address.
 */
public final class LoopbackWireMock implements HttpServerFactory {
    @Override
    public HttpServer buildHttpServer(Options options, AdminRequestHandler admin, StubRequestHandler stubs) {
        return new Jetty11HttpServer(options, admin, stubs) {
            @Override
            public void start() {
                for (Connector connector : jettyServer.getConnectors()) {
                    if (connector instanceof ServerConnector server && server.getHost() == null) {
                        server.setHost(options.bindAddress());
                    }
                }
                super.start();
            }
        };
    }
}
