package thruzero;

import jakarta.enterprise.context.SessionScoped;
import jakarta.inject.Named;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** One visitor's session: who they are, and the list of viewers that they edit. */
@Named
@SessionScoped
public class Viewer implements Serializable {
    private static final long serialVersionUID = 1;
    private static final int SEEDED = 12;
    private static final int NAMES_MOST = 20;

    private final List<String> names =
            new ArrayList<>(IntStream.rangeClosed(1, SEEDED).mapToObj(number -> "Viewer " + number).toList());
    private String name = "";
    private String email = "";
    private String user = "";
    private String password = "";
    private boolean isLoggedIn;
    private String button = "";

    /** From crudList to the form of a new viewer. */
    public String create() {
        name = "";
        email = "";
        return "/apps/demo/crud/createViewer";
    }

    /** Adds the viewer of the form; the oldest go, so that a long test does not make the list longer and longer. */
    public String save() {
        synchronized (names) {
            names.add(name);
            while (names.size() > NAMES_MOST) {
                names.remove(0);
            }
        }
        return "/apps/demo/crud/updateViewer";
    }

    /** From commandButtons and navigationButtons to the page that the button names. */
    public String go(String view, String pressed) {
        button = pressed;
        return view;
    }

    /** Lets in whoever names a user and the password of the demo. */
    public String logIn() {
        isLoggedIn = !user.isBlank() && "demo".equals(password);
        return isLoggedIn ? "/apps/demo/secure/secure1" : null;
    }

    public List<String> getNames() {
        synchronized (names) {
            return List.copyOf(names);
        }
    }

    public String getName() {
        return name;
    }

    public void setName(String name) {
        this.name = name;
    }

    public String getEmail() {
        return email;
    }

    public void setEmail(String email) {
        this.email = email;
    }

    public String getUser() {
        return user;
    }

    public void setUser(String user) {
        this.user = user;
    }

    public String getPassword() {
        return password;
    }

    public void setPassword(String password) {
        this.password = password;
    }

    public boolean isLoggedIn() {
        return isLoggedIn;
    }

    public String getButton() {
        return button;
    }
}
