package thruzero;

import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What is done to every node before a page shows it. They keep nothing of a node: all requests share them. */
final class InfoNodeFilters {
    private static final Map<String, String> MACROS = Map.of("site", "ThruZero stand-in", "pages", "22");
    private static final Pattern MACRO = Pattern.compile("\\{(\\w+)}");
    private static final Pattern LINK = Pattern.compile("\\[([^|\\]]+)\\|([^]]+)]");
    private static final Pattern BOLD = Pattern.compile("\\*([^*]+)\\*");
    private static final Pattern ITALIC = Pattern.compile("(?<!\\w)_([^_]+)_(?!\\w)");

    static final List<InfoNodeFilter> ALL = List.of(
            InfoNodeFilters::published,
            InfoNodeFilters::macros,
            InfoNodeFilters::escape,
            InfoNodeFilters::links,
            InfoNodeFilters::markup);

    private static InfoNode published(InfoNode node, InfoNodeFilterChain chain) {
        return node.published() ? chain.proceed(node) : node.withText("");
    }

    private static InfoNode macros(InfoNode node, InfoNodeFilterChain chain) {
        String text = MACRO.matcher(node.text()).replaceAll(match ->
                Matcher.quoteReplacement(MACROS.getOrDefault(match.group(1), match.group())));
        return chain.proceed(node.withText(text));
    }

    private static InfoNode escape(InfoNode node, InfoNodeFilterChain chain) {
        String text = node.text().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
        return chain.proceed(node.withText(text));
    }

    private static InfoNode links(InfoNode node, InfoNodeFilterChain chain) {
        return chain.proceed(node.withText(LINK.matcher(node.text()).replaceAll("<a href=\"$2\">$1</a>")));
    }

    private static InfoNode markup(InfoNode node, InfoNodeFilterChain last) {
        String bold = BOLD.matcher(node.text()).replaceAll("<b>$1</b>");
        return node.withText(ITALIC.matcher(bold).replaceAll("<i>$1</i>"));
    }

    private InfoNodeFilters() {}
}
