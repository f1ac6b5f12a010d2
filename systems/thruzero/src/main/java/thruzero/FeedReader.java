package thruzero;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/** Reads RSS over HTTP. A time-out of 0 waits for ever. */
final class FeedReader {
    private static final int TITLES_SHOWN = 5;
    private final XMLInputFactory xml = XMLInputFactory.newFactory();
    private final int timeoutMs;

    FeedReader(int timeoutMs) {
        this.timeoutMs = timeoutMs;
        xml.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    }

    /** Returns the titles of the first items. */
    List<String> titles(String url) throws NotReadException {
        try {
            HttpURLConnection connection = (HttpURLConnection) URI.create(url).toURL().openConnection();
            connection.setConnectTimeout(timeoutMs);
            connection.setReadTimeout(timeoutMs);
            try (InputStream body = connection.getInputStream()) {
                return titles(body);
            }
        } catch (IOException | XMLStreamException error) {
            throw new NotReadException(error);
        }
    }

    private List<String> titles(InputStream body) throws XMLStreamException {
        List<String> titles = new ArrayList<>();
        XMLStreamReader reader;
        synchronized (xml) { // a factory is not made for several threads
            reader = xml.createXMLStreamReader(body);
        }
        boolean isInItem = false;
        while (reader.hasNext() && titles.size() < TITLES_SHOWN) {
            if (reader.next() == XMLStreamConstants.START_ELEMENT) {
                isInItem |= reader.getLocalName().equals("item");
                if (isInItem && reader.getLocalName().equals("title")) {
                    titles.add(reader.getElementText());
                }
            }
        }
        reader.close();
        return List.copyOf(titles);
    }

    /** The feed was not there in time, or is none. */
    static final class NotReadException extends Exception {
        private static final long serialVersionUID = 1;

        NotReadException(Exception cause) {
            super(cause);
        }
    }
}
