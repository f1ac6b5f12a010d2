package thruzero;

import java.util.ArrayList;
import java.util.List;

/** The filters of one node, one after the other. It counts where it is: a chain is for one node at a time. */
public final class InfoNodeFilterChain {
    private final List<InfoNodeFilter> filters;
    private int next;

    public InfoNodeFilterChain(List<InfoNodeFilter> filters) {
        this.filters = new ArrayList<>(filters);
    }

    /** Returns the node as the filters leave it. */
    public InfoNode apply(InfoNode node) {
        next = 0;
        return proceed(node);
    }

    /** Hands the node to the next filter. */
    public InfoNode proceed(InfoNode node) {
        return filters.get(next++).filter(node, this);
    }
}
