package thruzero;

import jakarta.enterprise.context.ApplicationScoped;
import jakarta.inject.Inject;
import java.util.ArrayList;
import java.util.List;
import thruzero.Settings.Fault;

/** Gives pages their nodes. It is stateless, but for the fault. */
@ApplicationScoped
public class InfoNodeService {
    private final boolean hasSharedChain = Settings.ofSystem().has(Fault.SHARED_FILTER_CHAIN);
    // The fault: one chain for all requests. A second request begins it anew while the first is in the middle of it,
    // the two take each other's filters, and whoever comes after the last one gets an IndexOutOfBoundsException.
    private final InfoNodeFilterChain sharedChain = new InfoNodeFilterChain(InfoNodeFilters.ALL);

    @Inject
    private InfoNodeStore store;

    /** Returns the nodes of a page, ready to be shown. */
    public List<InfoNode> nodesOf(String page) {
        List<InfoNode> nodes = new ArrayList<>();
        for (int number = 1; number <= store.countOf(page); number++) {
            nodes.add(filtered(store.read(page, number)));
        }
        return nodes;
    }

    private InfoNode filtered(InfoNode node) {
        InfoNodeFilterChain chain = hasSharedChain ? sharedChain : new InfoNodeFilterChain(InfoNodeFilters.ALL);
        return chain.apply(node);
    }
}
