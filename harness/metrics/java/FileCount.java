import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HexFormat;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

/** The counts of one file, from a task and the orders where to resume: see {@link CountJtl}. */
final class FileCount implements Closeable {
  private static final int PART_BYTES_LEAST = 256 * 1024;
  private static final String NO_GROUPS = "-";

  private record Cut(long start, long stop, Future<Part> part) {}

  private final ExecutorService executor;
  private final int threads;
  private final DataOutputStream out;
  private final FileChannel file;
  private final long size;
  private final long fromMs;
  private final long toMs;
  private int partBytes;
  private final int batchCount;
  private final byte[][] threadGroups;
  private final Whole whole;
  private long offset;
  private long lines;

  FileCount(String task, ExecutorService executor, int threads, DataOutputStream out) throws IOException {
    this.executor = executor;
    this.threads = threads;
    this.out = out;
    String[] words = task.split(" ");
    // As Java decodes arguments.
    Charset ofNames = Charset.forName(System.getProperty("sun.jnu.encoding"));
    file = FileChannel.open(Path.of(new String(HexFormat.of().parseHex(words[0]), ofNames)), StandardOpenOption.READ);
    size = Long.parseLong(words[1]);
    fromMs = Long.parseLong(words[2]);
    toMs = Long.parseLong(words[3]);
    partBytes = Integer.parseInt(words[4]);
    batchCount = Integer.parseInt(words[6]);
    String[] groups = words[7].equals(NO_GROUPS) ? new String[0] : words[7].split(",");
    threadGroups = new byte[groups.length][];
    for (int number = 0; number < groups.length; number++) {
      threadGroups[number] = HexFormat.of().parseHex(groups[number].substring(1));
    }
    whole = new Whole(Boolean.parseBoolean(words[5]), batchCount, groups.length);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }

  /** Counts from the place in the order; returns whether the end was reached, false when the plain reader must continue. */
  boolean count(String order) throws IOException, InterruptedException, ExecutionException {
    if (count(layout(order))) {
      return true;
    }
    out.writeByte('S');
    out.writeLong(offset);
    out.writeLong(lines);
    out.flush();
    return false;
  }

  /** Writes the counts; returns whether they are small. */
  boolean write() throws IOException {
    boolean isSmall = whole.isSmall();
    out.writeByte(isSmall ? 'D' : 'E');
    whole.write(out);
    out.flush();
    return isSmall;
  }

  private Layout layout(String order) {
    String[] words = order.split(" ");
    offset = Long.parseLong(words[0]);
    lines = Long.parseLong(words[1]);
    int[] places = Arrays.stream(words, 6, words.length).mapToInt(Integer::parseInt).toArray();
    whole.follow(Long.parseLong(words[2]), Long.parseLong(words[3]), 0);
    Samples samples = new Samples(fromMs, toMs, batchCount, threadGroups);
    return new Layout((byte) Integer.parseInt(words[4]), Integer.parseInt(words[5]), places, samples);
  }

  private boolean count(Layout layout) throws IOException, InterruptedException, ExecutionException {
    Deque<Cut> waiting = new ArrayDeque<>();
    while (offset < size) {
      long start = waiting.isEmpty() ? offset : waiting.getLast().stop;
      while (waiting.size() <= threads && start < size) {
        long from = start;
        long stop = lineEnd(start + partBytes);
        int[] halvings = whole.halvings();
        waiting.add(new Cut(from, stop, executor.submit(() -> read(from, stop, layout, halvings))));
        start = stop;
      }
      Cut cut = waiting.removeFirst();
      Part part = cut.part.get();
      take(part);
      if (part.isFull()) {
        // What other threads have read of later parts is lost: shorter parts are not split again.
        partBytes = (int) Math.max(PART_BYTES_LEAST, Math.min(partBytes, part.end - cut.start));
      }
      if (part.isStuck || offset != cut.stop) {
        waiting.forEach(later -> later.part.cancel(false));
        waiting.clear();
      }
      if (part.isStuck) {
        return false;
      }
    }
    return true;
  }

  private Part read(long start, long stop, Layout layout, int[] halvings) throws IOException {
    Part part = new Part(file, size, start, layout, halvings);
    part.read(stop);
    return part;
  }

  private void take(Part part) throws IOException {
    for (Part.OddRow row : part.oddRows) {
      out.writeByte('O');
      out.writeLong(row.offset());
      out.writeLong(lines + row.line());
      out.writeInt(row.bytes().length);
      out.write(row.bytes());
    }
    for (Tally tally : part.tallies) {
      writeFailures(tally, part, -1);
      for (int group = 0; group < threadGroups.length; group++) {
        Tally own = tally.groupOrNull(group);
        if (own != null) {
          writeFailures(own, part, group);
        }
      }
    }
    whole.merge(part);
    offset = part.end;
    lines += part.lineCount;
    out.writeByte('P');
    out.writeLong(offset);
    out.writeLong(whole.rowCount);
    out.flush();
  }

  private void writeFailures(Tally tally, Part part, int group) throws IOException {
    out.writeByte('F');
    out.writeInt(group);
    tally.writeFailures(out, part);
  }

  /** Returns the end of the line that contains `place`. */
  private long lineEnd(long place) throws IOException {
    if (place >= size) {
      return size;
    }
    ByteBuffer found = ByteBuffer.allocate(1 << 16);
    long from = place;
    while (file.read(found.clear(), from) > 0) {
      for (int index = 0; index < found.position(); index++) {
        if (found.get(index) == '\n') {
          return Math.min(from + index + 1, size);
        }
      }
      from += found.position();
    }
    return size;
  }
}
