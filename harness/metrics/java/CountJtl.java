import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HexFormat;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Counts the samples of a large CSV JTL on several cores. The file is cut at line ends; a cut that turns out to be
 * within a quoted field is repeated at the end of the part before it.
 *
 * <p>Arguments: the file, its size, the number of threads, the window from and to (ms since 1970), the size of a part in
 * bytes, whether times are also counted per interval (true or false), the number of batches of the window (1: no
 * batches), and the thread groups whose samples are also counted apart (each an x and its UTF-8 bytes in hexadecimal,
 * with commas between them). Standard input has one line at the start and one after each stop: where to resume (offset,
 * lines before it), the least and greatest end (ms) of the earlier rows that others have read, and the format there
 * (delimiter, number of columns, the index of each role or -1, as in Layout). Standard output has frames that begin with
 * a letter: P progress (offset, rows), O an odd row (offset, line, bytes), F failures (the number of a thread group, -1
 * for all rows), S stuck (offset, lines), D done (the counts). Numbers are big-endian. An end without D is a failure; its
 * exit code is 3 for too little memory, 4 when the file could not be read to its size or the reader of the output is
 * gone.
 */
public final class CountJtl {
  private static final int OUT_OF_MEMORY = 3;
  private static final int NOT_READ = 4;
  private static final int PART_BYTES_LEAST = 256 * 1024;

  private record Cut(long start, long stop, Future<Part> part) {}

  private final FileChannel file;
  private final long size;
  private final int threads;
  private final long fromMs;
  private final long toMs;
  private int partBytes;
  private final int batchCount;
  private final byte[][] threadGroups;
  private final Whole whole;
  // Not System.out, which hides errors: when the caller is gone, this program ends.
  private final DataOutputStream out =
      new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16));
  private long offset;
  private long lines;

  private CountJtl(String[] arguments) throws IOException {
    file = FileChannel.open(Path.of(arguments[0]), StandardOpenOption.READ);
    size = Long.parseLong(arguments[1]);
    threads = Integer.parseInt(arguments[2]);
    fromMs = Long.parseLong(arguments[3]);
    toMs = Long.parseLong(arguments[4]);
    partBytes = Integer.parseInt(arguments[5]);
    batchCount = Integer.parseInt(arguments[7]);
    String[] groups = arguments[8].isEmpty() ? new String[0] : arguments[8].split(",");
    threadGroups = new byte[groups.length][];
    Arrays.setAll(threadGroups, number -> HexFormat.of().parseHex(groups[number].substring(1)));
    whole = new Whole(Boolean.parseBoolean(arguments[6]), batchCount, groups.length);
  }

  public static void main(String[] arguments) throws Exception {
    try {
      new CountJtl(arguments).run();
    } catch (OutOfMemoryError error) {
      Runtime.getRuntime().halt(OUT_OF_MEMORY);
    } catch (IOException error) {
      Runtime.getRuntime().halt(NOT_READ);
    } catch (ExecutionException error) {
      if (error.getCause() instanceof OutOfMemoryError) {
        Runtime.getRuntime().halt(OUT_OF_MEMORY);
      }
      if (error.getCause() instanceof IOException) {
        Runtime.getRuntime().halt(NOT_READ);
      }
      throw error;
    }
  }

  private void run() throws IOException, InterruptedException, ExecutionException {
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      while (true) {
        String order = orders.readLine();
        if (order == null) {
          return; // the caller is gone
        }
        if (!count(executor, layout(order))) {
          out.writeByte('S');
          out.writeLong(offset);
          out.writeLong(lines);
          out.flush();
          continue;
        }
        out.writeByte('D');
        whole.write(out);
        out.flush();
        return;
      }
    } finally {
      executor.shutdownNow();
    }
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

  /** Counts from `offset` on; returns whether the end was reached, false when the plain reader must continue. */
  private boolean count(ExecutorService executor, Layout layout)
      throws IOException, InterruptedException, ExecutionException {
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
