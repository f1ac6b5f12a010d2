import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;

/** The counts of one file, from a task and the orders where to resume: see {@link CountJtl}. */
final class FileCount implements Closeable {
  private static final int PART_BYTES_LEAST = 256 * 1024;
  private static final String NO_GROUPS = "-";

  /** A chunk of the file that a thread reads, or that is a slice of the first reading. */
  private record Cut(long start, long stop, Future<Part> part, Slice slice) {}

  private final ExecutorService executor;
  private final int threads;
  private final DataOutputStream out;
  private final FileChannel file;
  private final long size;
  private final Samples counted;
  private int partBytes;
  private final Whole whole;
  /** Those of the file in earlier readings, by its name, size and time. */
  private final Map<String, Slices> known;

  private final String version;
  /** Those that are made now, or in a window those of the first reading. */
  private final Slices slices;

  /** The columns as the last order gave them. */
  private String columns;

  private long offset;
  private long lines;

  FileCount(String task, ExecutorService executor, int threads, DataOutputStream out, Map<String, Slices> known)
      throws IOException {
    this.executor = executor;
    this.threads = threads;
    this.out = out;
    this.known = known;
    String[] parts = task.split(" ");
    // As Java decodes arguments.
    Charset ofNames = Charset.forName(System.getProperty("sun.jnu.encoding"));
    Path path = Path.of(new String(HexFormat.of().parseHex(parts[0]), ofNames));
    file = FileChannel.open(path, StandardOpenOption.READ);
    size = Long.parseLong(parts[1]);
    version = String.join(" ", parts[0], parts[1], Files.getLastModifiedTime(path).toString());
    partBytes = Integer.parseInt(parts[4]);
    counted =
        new Samples(
            Long.parseLong(parts[2]), Long.parseLong(parts[3]), Integer.parseInt(parts[6]), names(parts[7]),
            Integer.parseInt(parts[8]), names(parts[9]), Long.parseLong(parts[10]), Long.parseLong(parts[11]));
    slices = counted.isWindow() ? known.getOrDefault(version, new Slices()) : new Slices();
    whole = new Whole(counted, Boolean.parseBoolean(parts[5]), slices);
  }

  private static byte[][] names(String word) {
    String[] groups = word.equals(NO_GROUPS) ? new String[0] : word.split(",");
    byte[][] names = new byte[groups.length][];
    for (int number = 0; number < groups.length; number++) {
      names[number] = HexFormat.of().parseHex(groups[number].substring(1));
    }
    return names;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }

  /** Counts from the offset in the command; returns whether the end was reached, false when the plain reader must continue. */
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

  /** Writes the counts, and stores the slices; returns whether the counts are small. */
  boolean write() throws IOException {
    boolean isSmall = whole.isSmall();
    out.writeByte(isSmall ? 'D' : 'E');
    whole.write(out);
    out.flush();
    if (counted.sliceBytes() > 0) {
      slices.store(known, version);
    }
    return isSmall;
  }

  private Layout layout(String order) {
    String[] parts = order.split(" ");
    offset = Long.parseLong(parts[0]);
    lines = Long.parseLong(parts[1]);
    columns = String.join(" ", Arrays.asList(parts).subList(4, parts.length));
    int[] indexes = new int[parts.length - 6]; // without a stream or a lambda, which the program would have to load
    for (int role = 0; role < indexes.length; role++) {
      indexes[role] = Integer.parseInt(parts[6 + role]);
    }
    whole.follow(Long.parseLong(parts[2]), Long.parseLong(parts[3]), 0);
    return new Layout((byte) Integer.parseInt(parts[4]), Integer.parseInt(parts[5]), indexes, counted);
  }

  private boolean count(Layout layout) throws IOException, InterruptedException, ExecutionException {
    Deque<Cut> waiting = new ArrayDeque<>();
    int reading = 0;
    while (offset < size) {
      long start = waiting.isEmpty() ? offset : waiting.getLast().stop;
      while (reading <= threads && start < size) {
        waiting.add(cut(start, layout));
        reading += waiting.getLast().slice == null ? 1 : 0;
        start = waiting.getLast().stop;
      }
      Cut cut = waiting.removeFirst();
      if (cut.slice != null) {
        cut.slice.addTo(whole, layout);
        progress(cut.stop, cut.slice.lineCount);
        continue;
      }
      reading--;
      Part part = cut.part.get();
      take(part);
      if (part.isFull()) {
        // What other threads have read of later parts is lost: shorter parts are not split again.
        partBytes = (int) Math.max(PART_BYTES_LEAST, Math.min(partBytes, part.end - cut.start));
      }
      if (part.isStuck || offset != cut.stop) {
        for (Cut later : waiting) {
          if (later.part != null) {
            later.part.cancel(false);
          }
        }
        waiting.clear();
        reading = 0;
      }
      if (part.isStuck) {
        return false;
      }
    }
    return true;
  }

  /** Returns the next chunk: a slice whose rows need not be read again, else one that a thread begins to read. */
  private Cut cut(long start, Layout layout) throws IOException {
    Slice slice = counted.isWindow() ? slices.at(start, columns) : null;
    if (slice != null && !slice.mustBeRead(layout)) {
      return new Cut(start, slice.stop, null, slice);
    }
    long stop = lineEnd(start + partBytes);
    if (counted.isWindow()) {
      stop = Math.min(stop, slices.next(start, size));
    }
    long end = stop;
    int[] halvings = whole.halvings();
    return new Cut(start, end, executor.submit(() -> read(start, end, layout, halvings)), null);
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
      for (int group = 0; group < counted.threadGroups().length; group++) {
        Tally own = tally.groupOrNull(group);
        if (own != null) {
          writeFailures(own, part, group);
        }
      }
    }
    whole.merge(part, columns);
    progress(part.end, part.lineCount);
  }

  private void progress(long end, long lineCount) throws IOException {
    offset = end;
    lines += lineCount;
    out.writeByte('P');
    out.writeLong(offset);
    out.writeLong(whole.rowCount);
    out.flush();
  }

  private void writeFailures(Tally tally, Part part, int group) throws IOException {
    if (counted.isWindow()) {
      return;
    }
    out.writeByte('F');
    out.writeInt(group);
    tally.writeFailures(out, part);
  }

  /** Returns the end of the line that contains `position`. */
  private long lineEnd(long position) throws IOException {
    if (position >= size) {
      return size;
    }
    ByteBuffer found = ByteBuffer.allocate(1 << 16);
    long from = position;
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
