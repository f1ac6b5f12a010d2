import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.Simulation;

/** The load of scripts/bench tools by Gatling: requests without pause to the system property target. */
public class Load extends Simulation {
    {
        int users = Integer.getInteger("users");
        setUp(scenario("users").during(Integer.getInteger("seconds")).on(exec(http("requests").get("/")))
                        .injectOpen(atOnceUsers(users)))
                .protocols(http.baseUrl(System.getProperty("target")));
    }
}
