import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * One connection to a back-end. Every path has the same response, except /stats (the counts of all back-ends, itself not
 * counted) and /stats/reset, which resets the counts.
 */
final class Service extends SimpleChannelInboundHandler<HttpObject> {
    private static final String STATS = "/stats";

    private final Answer answer;
    private final Counts counts;
    private final int backend;

    Service(Answer answer, Counts counts, int backend) {
        this.answer = answer;
        this.counts = counts;
        this.backend = backend;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        if (!(message instanceof HttpRequest request)) {
            return; // the end of a request, or an unused body
        }
        if (request.uri().startsWith(STATS)) {
            if (request.uri().equals(STATS + "/reset")) {
                counts.reset();
            }
            byte[] json = counts.json().getBytes(StandardCharsets.US_ASCII);
            send(context, response(request, HttpResponseStatus.OK, json, "application/json"));
            return;
        }
        counts.requested(backend);
        FullHttpResponse response = response(request, answer.status(), answer.body(), "text/xml; charset=UTF-8");
        if (answer.delayMs() == 0) {
            send(context, response);
        } else {
            context.executor().schedule(() -> send(context, response), answer.delayMs(), TimeUnit.MILLISECONDS);
        }
    }

    private FullHttpResponse response(HttpRequest request, HttpResponseStatus status, byte[] body, String type) {
        ByteBuf content = Unpooled.wrappedBuffer(body);
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, content);
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, type)
                .setInt(HttpHeaderNames.CONTENT_LENGTH, body.length)
                .set("X-Backend", backend + 1);
        boolean isKept = HttpUtil.isKeepAlive(request);
        HttpUtil.setKeepAlive(response, isKept);
        if (isKept && request.protocolVersion().equals(HttpVersion.HTTP_1_0)) {
            response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
        }
        return response;
    }

    private static void send(ChannelHandlerContext context, FullHttpResponse response) {
        boolean isKept = HttpUtil.isKeepAlive(response);
        var sent = context.writeAndFlush(response);
        if (!isKept) {
            sent.addListener(ChannelFutureListener.CLOSE);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        if (!(cause instanceof IOException)) { // a peer that closes the connection is not an error
            cause.printStackTrace();
        }
        context.close();
    }
}
