import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Counts the samples of large CSV JTLs on several cores, one file after the other. A file is cut at line ends; a cut that
 * turns out to be within a quoted field is repeated at the end of the part before it.
 *
 * <p>The argument is the number of threads. Standard input has a line per task: the file's name (its bytes in
 * hexadecimal), its size, the window from and to (ms since 1970), the size of a part in bytes, whether times are also
 * counted per interval (true or false), the number of batches of the window (1: no batches), the thread groups whose
 * samples are also counted apart (each an x and its UTF-8 bytes in hexadecimal, with commas between them; - for none), and
 * the bytes of a slice: of each slice the counts of its labels are stored, so that a later window of the same file reads only
 * rows where it or one of its batches begins or ends (0: a window will not follow), the labels of transactions of which
 * some are known to have been cut (as the thread groups), and the first and the last possible time stamp. Of a window only labels are counted,
 * and in its batches their response codes.
 * After a task, and after each stop, comes a line with the position where to resume (offset, lines before it), the least and
 * greatest end (ms) of the earlier rows that others have read, and the format there (delimiter, number of columns, the
 * index of each role or -1, as in Layout).
 *
 * <p>Standard output has frames that begin with a letter: P progress (offset, rows), O an odd row (offset, line, bytes), F
 * failures (the number of a thread group, -1 for all rows), S stuck (offset, lines), D done (the counts; the next task may
 * follow), E done with large counts (after them the program ends, so that its memory is free). Numbers are big-endian. An
 * end without D or E is a failure; its exit code is 3 for too little memory, 4 when the file could not be read to its size
 * or the reader of the output is gone.
 */
public final class CountJtl {
  private static final int OUT_OF_MEMORY = 3;
  private static final int NOT_READ = 4;

  private CountJtl() {}

  public static void main(String[] arguments) throws Exception {
    try {
      run(Integer.parseInt(arguments[0]));
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

  private static void run(int threads) throws IOException, InterruptedException, ExecutionException {
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    // Not System.out, which hides errors: when the caller is gone, this program ends.
    DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16));
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    Map<String, Slices> known = new LinkedHashMap<>();
    try {
      for (String task = orders.readLine(); task != null; task = orders.readLine()) {
        try (FileCount count = new FileCount(task, executor, threads, out, known)) {
          String order;
          do {
            order = orders.readLine();
            if (order == null) {
              return; // the caller is gone
            }
          } while (!count.count(order));
          if (!count.write()) {
            return;
          }
        }
      }
    } finally {
      executor.shutdownNow();
    }
  }
}
