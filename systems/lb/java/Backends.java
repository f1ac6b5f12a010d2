import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import java.net.InetAddress;
import java.util.Arrays;

/**
 * Back-ends in one process, each on its own port. They share event loops, one per core as in a single service, so that
 * five back-ends do not compete for the cores with five sets of threads.
 *
 * <p>Arguments: delay in ms, bytes of the body, status, threads (0: one per core), and the ports.
 */
public final class Backends {
    private static final int BACKLOG = 16_384;

    public static void main(String[] arguments) throws InterruptedException {
        int[] numbers = Arrays.stream(arguments).mapToInt(Integer::parseInt).toArray();
        int[] ports = Arrays.copyOfRange(numbers, 4, numbers.length);
        Answer answer = new Answer(numbers[0], Quotes.ofBytes(numbers[1]), HttpResponseStatus.valueOf(numbers[2]));
        int threads = numbers[3] > 0 ? numbers[3] : Runtime.getRuntime().availableProcessors();
        boolean isNative = Epoll.isAvailable();
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(
                threads, isNative ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
        Class<? extends ServerChannel> channel = isNative ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
        Counts counts = new Counts(ports.length);
        for (int index = 0; index < ports.length; index++) {
            listen(loops, channel, ports[index], answer, counts, index);
        }
        System.out.printf("%d back-ends on ports %s: %s, %d threads, %d bytes, status %s, delay %d ms%n", ports.length,
                Arrays.toString(ports), isNative ? "epoll" : "NIO", threads, answer.body().length, answer.status(),
                answer.delayMs());
    }

    private static void listen(EventLoopGroup loops, Class<? extends ServerChannel> channel, int port, Answer answer,
            Counts counts, int index) throws InterruptedException {
        new ServerBootstrap()
                .group(loops)
                .channel(channel)
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel connection) {
                        counts.connected(index);
                        connection.pipeline().addLast(new HttpServerCodec(), new Service(answer, counts, index));
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), port)
                .sync();
    }
}
