package thruzero;

import jakarta.enterprise.context.RequestScoped;
import jakarta.faces.context.FacesContext;
import jakarta.inject.Inject;
import jakarta.inject.Named;
import java.util.List;

/** The page that is about to be shown, and its nodes. */
@Named
@RequestScoped
public class Page {
    private List<InfoNode> nodes = List.of();

    @Inject
    private InfoNodeService service;

    /** Reads the nodes before anything is written, so that a failure still becomes an error page. */
    public void load() {
        nodes = service.nodesOf(getName());
    }

    /** Returns the page's name: its path without the folder of the demo and the suffix. */
    public String getName() {
        String view = FacesContext.getCurrentInstance().getViewRoot().getViewId();
        return view.replaceFirst("^/(apps/demo/)?", "").replaceFirst("\\.xhtml$", "");
    }

    public List<InfoNode> getNodes() {
        return nodes;
    }
}
