package thruzero;

import jakarta.inject.Inject;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebFilter;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** Sends visitors of the secured pages to the login page until they have logged in. */
@WebFilter("/apps/demo/secure/*")
public class Secured extends HttpFilter {
    private static final long serialVersionUID = 1;

    @Inject
    private transient Viewer viewer;

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        if (viewer.isLoggedIn()) {
            chain.doFilter(request, response);
        } else {
            response.sendRedirect("/auth/login.jsf");
        }
    }
}
