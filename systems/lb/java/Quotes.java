import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Made-up stock quotes as XML: a document of exactly the requested number of bytes. */
final class Quotes {
    private static final String HEAD = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<quotes>\n";
    private static final String TAIL = "</quotes>\n";

    /** Returns as many whole quotes as fit (15 into 987 bytes), padded with blanks. */
    static byte[] ofBytes(int byteCount) {
        StringBuilder text = new StringBuilder(HEAD);
        int room = byteCount - HEAD.length() - TAIL.length();
        if (room < 0) {
            throw new IllegalArgumentException("a body has at least " + (HEAD.length() + TAIL.length()) + " bytes");
        }
        for (int number = 0; ; number++) {
            String quote = quote(number);
            if (quote.length() > room) {
                break;
            }
            text.append(quote);
            room -= quote.length();
        }
        return text.append(" ".repeat(room)).append(TAIL).toString().getBytes(StandardCharsets.US_ASCII);
    }

    /** Returns a quote of 61 bytes; symbols and prices repeat after 1,000. */
    private static String quote(int number) {
        int index = number % 1000;
        double price = 10 + 0.37 * index;
        return String.format(Locale.ROOT, "<quote name=\"LT%03d\" last=\"%06.2f\" diff=\"%+05.2f\" vol=\"%05d\"/>\n", index,
                price, (index % 9 - 4) * 0.13, 100 * (index + 1) % 100_000);
    }
}
