package thruzero;

import jakarta.inject.Inject;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** How the site has fared since its start, as JSON; asking changes nothing. */
@WebServlet("/status.json")
public class Status extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Inject
    private transient Feeds feeds;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        int refreshes = feeds.asTheyAre().stream().mapToInt(Feed::refreshCount).sum();
        int failures = feeds.asTheyAre().stream().mapToInt(Feed::failureCount).sum();
        int atOnce = feeds.asTheyAre().stream().mapToInt(Feed::mostRefreshesAtOnce).max().orElse(0);
        response.setContentType("application/json");
        response.getWriter().printf(
                "{\"feed_refreshes\": %d, \"failed_feed_refreshes\": %d, \"most_refreshes_of_a_feed_at_once\": %d}%n",
                refreshes, failures, atOnce);
    }
}
