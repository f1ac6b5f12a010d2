import io.netty.handler.codec.http.HttpResponseStatus;

/** The response of every back-end, and its delay in ms after the request. */
record Answer(int delayMs, byte[] body, HttpResponseStatus status) {}
