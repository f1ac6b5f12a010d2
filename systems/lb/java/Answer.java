import io.netty.handler.codec.http.HttpResponseStatus;

/** What every back-end answers, and how many milliseconds after the request. */
record Answer(int delayMs, byte[] body, HttpResponseStatus status) {}
