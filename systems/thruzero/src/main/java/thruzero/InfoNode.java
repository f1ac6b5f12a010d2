package thruzero;

/** A piece of content: where it belongs, who may see it, its language, and its text. */
public record InfoNode(String path, String title, String language, String role, boolean published, String text) {

    /** Returns the node with another text. */
    public InfoNode withText(String changed) {
        return new InfoNode(path, title, language, role, published, changed);
    }

    // Getters, because the pages' expressions look for them.
    public String getTitle() {
        return title;
    }

    public String getText() {
        return text;
    }
}
