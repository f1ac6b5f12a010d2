package thruzero;

/** One step from a stored node to what a page shows; all but the last hand the node on to the chain. */
public interface InfoNodeFilter {
    InfoNode filter(InfoNode node, InfoNodeFilterChain chain);
}
