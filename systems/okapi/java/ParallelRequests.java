import com.github.tomakehurst.wiremock.core.Options;
import com.github.tomakehurst.wiremock.http.AdminRequestHandler;
import com.github.tomakehurst.wiremock.http.HttpServer;
import com.github.tomakehurst.wiremock.http.HttpServerFactory;
import com.github.tomakehurst.wiremock.http.StubRequestHandler;
import com.github.tomakehurst.wiremock.jetty11.Jetty11HttpServer;
import java.io.IOException;
import java.util.concurrent.Semaphore;
import wiremock.jakarta.servlet.ServletException;
import wiremock.jakarta.servlet.http.HttpServletRequest;
import wiremock.jakarta.servlet.http.HttpServletResponse;
import wiremock.org.eclipse.jetty.server.Request;
import wiremock.org.eclipse.jetty.server.handler.HandlerWrapper;

/**
 * A WireMock extension that processes at most as many requests at the same time as the system property parallel.requests;
 * the others queue in order of arrival. --container-threads is no alternative: its number of request threads depends on
 * the machine, and requests on keep-alive connections would overtake queued ones.
 */
public final class ParallelRequests implements HttpServerFactory {
    /** Each request that is processed has one, and each piece of a job's work: see Jobs.java. */
    static final Semaphore SLOTS = new Semaphore(Integer.getInteger("parallel.requests"), true);

    @Override
    public HttpServer buildHttpServer(Options options, AdminRequestHandler admin, StubRequestHandler stubs) {
        return new Jetty11HttpServer(options, admin, stubs) {
            @Override
            public void start() {
                jettyServer.insertHandler(new Queue());
                super.start();
            }
        };
    }

    /** Occupies a request's slot until its response is written: WireMock sleeps through its delay in the request's thread. */
    private static final class Queue extends HandlerWrapper {
        @Override
        public void handle(String target, Request base, HttpServletRequest request, HttpServletResponse response)
                throws IOException, ServletException {
            if (target.startsWith("/__admin")) {
                super.handle(target, base, request, response);
                return;
            }
            SLOTS.acquireUninterruptibly();
            try {
                super.handle(target, base, request, response);
            } finally {
                SLOTS.release();
            }
        }
    }
}
