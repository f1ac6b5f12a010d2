import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * One part of a file: counts the records that begin from `start` to before `stop`. It ends earlier at a record whose
 * bounds only the plain reader can find (see csv.py): a quote that does not close properly, NUL bytes, a byte order mark,
 * a header line.
 */
final class Part {
  /** A row with unexpected fields: the plain reader decides what to do with it. */
  record OddRow(long offset, long line, byte[] bytes) {}

  /** Where a slice ends: the position in the file, with the lines and odd rows of the part before it. */
  record Mark(long offset, long lines, int oddCount) {}

  /** The amount that is processed at once: it stays in the processor's cache between reading and counting. */
  private static final int WINDOW_BYTES = 256 * 1024;
  /** Rows are seldom longer: so they are seldom read twice, before and after more of the file is read. */
  private static final int USUAL_BYTES = 1024;

  private static final int RECORD_MAX_BYTES = 4 * 1024 * 1024;
  /** The plain reader treats a quote that spans more lines as torn. */
  private static final int RECORD_MAX_LINES = 10_001;
  private static final int ODD_ROWS_MAX = 20_000;
  /** A part with more cells is not divided into more slices, to bound memory. */
  private static final int SLICED_CELLS_MAX = 4096;
  /** A part with more error causes, labels or codes ends early, to bound memory. */
  private static final int NAMES_MAX = 20_000;
  private static final long ELAPSED_MAX_MS = 7L * 24 * 3600 * 1000;
  private static final byte[] HEADER = "timeStamp".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] TRANSACTION =
      "Number of samples in transaction :".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] NO_ANSWER = "Non HTTP response message:".getBytes(StandardCharsets.US_ASCII);
  private static final long LOW_BITS = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;
  /** Bytes up to a newline, including NUL: a search for newlines finds NUL, too. */
  private static final long ABOVE_NEWLINES = ('\n' + 1) * LOW_BITS;
  private static final long SET_UP_CAPITALS = 'U' * LOW_BITS;
  private static final long TEAR_DOWN_CAPITALS = 'D' * LOW_BITS;
  private static final long OPEN_BRACKETS = '[' * LOW_BITS;
  /** JOB_MARK in sample.py. */
  private static final String JOB_MARK = "[[job]]";
  /** Each has a tally in each part: this bounds memory. */
  private static final int GENERATORS_MAX = 100;
  private static final int PORT_MAX = 65_535;
  static final long EIGHT_DIGITS = 100_000_000;
  static final long ZEROS = '0' * LOW_BITS;
  private static final long NINES = (0x7F - 9) * LOW_BITS;
  private static final long TRUE = 0x65757274L;
  private static final long FALSE = 0x65736C6166L;
  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  /** A reader thread reuses its buffer from one part to the next. */
  private static final ThreadLocal<byte[]> BUFFER = ThreadLocal.withInitial(() -> new byte[0]);

  /** The names of load generators, "" for rows without one, and the tally of each. */
  final Names generators = new Names();

  final Names labels = new Names();
  /** The labels of transactions, by their numbers. */
  private final BitSet transactions = new BitSet();
  final Names codes = new Names();
  final Names causes = new Names();
  final List<Tally> tallies = new ArrayList<>();
  final List<OddRow> oddRows = new ArrayList<>();
  /** The ends of the slices so far; none without slices. */
  final List<Mark> marks = new ArrayList<>();

  private long nextMark;
  final long start;

  /** Where the next record begins, and the number of lines before it in the part. */
  long end;

  long lineCount;

  /** Whether the plain reader must continue from `end`. */
  boolean isStuck;

  private final FileChannel file;
  private final long size;
  final Layout layout;
  // The bytes of the file from `base` on; all indexes refer to them.
  byte[] data = BUFFER.get();
  private long base;
  private int filled;

  // The bounds of a record's fields without their quotes; one extra for fields beyond the last column.
  private final int[] starts;
  private final int[] ends;
  // The fields of a record with doubled quotes.
  private final int[] escaped;
  private int escapedCount;
  private int recordLines;
  private boolean isBad;
  private final int[] halvings;
  /** Counts rows like earlier ones; null when the order of the columns is unusual. */
  private final Quick quick;
  // Where the current record begins.
  private int recordStart;
  /** The rows whose thread name contains no load generator. */
  final Tally unnamed;
  // The tally of the last row.
  private Tally tally;
  // How a thread's name began, up to where it was clear whether it names a generator, and the tally of that one; the
  // next name often begins alike.
  private byte[] head = new byte[Long.BYTES];
  private int headLength = Integer.MAX_VALUE;
  private Tally headTally;
  // The bytes and a mask of a short head without a load generator: the common case, decided in one step.
  private long unnamedHead;
  private long unnamedMask;
  private int lastGroup;
  // The furthest index that was examined for this decision.
  private int looked;
  // The numbers of a record by role.
  private final long[] row = new long[Layout.ROLES];

  /** `halvings` is the width of buckets, as in Tally. */
  Part(FileChannel file, long size, long start, Layout layout, int[] halvings) {
    this.halvings = halvings;
    this.file = file;
    this.size = size;
    this.start = start;
    this.layout = layout;
    unnamed = tally = headTally = tallyOf(new byte[0]);
    base = start;
    starts = new int[layout.width + 1];
    ends = new int[layout.width + 1];
    escaped = new int[layout.width + 1];
    quick = layout.steps == null ? null : new Quick(layout, unnamed);
    for (byte[] label : layout.cutLabels) {
      transactions.set(labels.number(label));
    }
  }

  /** Reads the part. */
  void read(long stop) throws IOException {
    fill(0);
    int position = 0;
    nextMark = layout.sliceBytes > 0 ? start + layout.sliceBytes : Long.MAX_VALUE;
    while (base + position < stop && !isStuck) {
      if (base + position >= nextMark) {
        beginSlice(base + position);
      }
      if (filled - position < USUAL_BYTES && base + filled < size) {
        fill(position);
        position = 0;
      }
      int next = quick == null ? -1 : quick.row(data, position, filled, base + position);
      if (next >= 0) {
        position = next;
        lineCount += quick.lines;
        continue;
      }
      next = record(position);
      if (next >= 0) {
        position = next;
        lineCount += recordLines;
        if (isFull()) {
          break;
        }
      } else if (!isStuck) {
        if (base + filled < size && filled - position < RECORD_MAX_BYTES) {
          fill(position);
          position = 0;
        } else {
          isStuck = true;
        }
      }
    }
    end = base + position;
    if (layout.sliceBytes > 0) {
      marks.add(new Mark(end, lineCount, oddRows.size()));
    }
    data = null;
    for (Tally one : tallies) {
      one.end();
    }
  }

  /** Counts the rows from here on in cells of the next slice: its number is their batch. */
  private void beginSlice(long position) {
    marks.add(new Mark(position, lineCount, oddRows.size()));
    int cellCount = 0;
    for (Tally one : tallies) {
      cellCount += one.cellCount;
    }
    boolean isLast = marks.size() == Tally.BATCHES_MAX - 1 || cellCount > SLICED_CELLS_MAX;
    nextMark = isLast ? Long.MAX_VALUE : position + layout.sliceBytes;
    if (quick != null) {
      quick.begin(marks.size());
    }
  }

  /** Whether it had to end early to bound memory. */
  boolean isFull() {
    int most = Math.max(causes.size(), Math.max(labels.size(), codes.size()));
    return most > NAMES_MAX || oddRows.size() >= ODD_ROWS_MAX;
  }

  /** Reads on, and retains the bytes from `position` on. */
  private void fill(int position) throws IOException {
    int rest = filled - position;
    int wanted = (int) Math.min(Math.max(WINDOW_BYTES, 2 * rest), size - base - position);
    byte[] from = data;
    if (data.length < wanted + Quick.READABLE_BYTES) {
      data = new byte[wanted + Quick.READABLE_BYTES];
      BUFFER.set(data);
    }
    System.arraycopy(from, position, data, 0, rest);
    base += position;
    filled = rest;
    ByteBuffer target = ByteBuffer.wrap(data, filled, wanted - filled);
    while (target.hasRemaining()) {
      if (file.read(target, base + target.position()) < 0) {
        throw new EOFException(); // the file has been truncated
      }
    }
    filled = wanted;
    Arrays.fill(data, filled, filled + Quick.READABLE_BYTES, (byte) '\n'); // so that every search ends
  }

  private long word(int position) {
    return (long) WORDS.get(data, position);
  }

  /** Returns the high bits of the zero bytes; bits above the first of them are unreliable. */
  private static long zeroBytes(long word) {
    return word - LOW_BITS & ~word & HIGH_BITS; // H. S. Warren, "Hacker's Delight", 6-1
  }

  /**
   * Counts the record that begins at `position`; returns where the next one begins. -1 when its end is not in the data, or when
   * only the plain reader can read it: then `isStuck` is set.
   */
  private int record(int position) {
    recordStart = position;
    recordLines = 0;
    escapedCount = 0;
    if (isMark(position)) {
      isStuck = true;
      return -1;
    }
    int next = blankLine(position);
    if (next >= 0) {
      return next;
    }
    final byte[] bytes = data;
    final int width = layout.width;
    final byte delimiter = layout.delimiter;
    final long delimiters = layout.delimiters;
    next = position;
    for (int field = 0; ; field++) {
      int slot = Math.min(field, width);
      if (bytes[next] == '"') {
        next = quoted(next + 1, slot);
        if (next < 0) {
          return -1;
        }
      } else {
        starts[slot] = next;
        next = end(bytes, next, delimiters);
        while (bytes[next] < '\n' && bytes[next] != delimiter && bytes[next] != 0) {
          next = end(bytes, next + 1, delimiters);
        }
        ends[slot] = next;
      }
      if (bytes[next] != delimiter) {
        if (bytes[next] == '\n') {
          return line(position, next, field + 1);
        }
        isStuck = true; // NUL
        return -1;
      }
      next++;
    }
  }

  /** Returns the index of the next delimiter, newline or other control character up to it. */
  static int end(byte[] bytes, int position, long delimiters) {
    int next = position;
    while (true) {
      long word = (long) WORDS.get(bytes, next);
      long ends = zeroBytes(word ^ delimiters) | word - ABOVE_NEWLINES & ~word & HIGH_BITS;
      if (ends != 0) {
        return next + firstByte(ends);
      }
      next += Long.BYTES;
    }
  }

  /** Processes the line that ends a record with this many fields; returns the result of `record`. */
  private int line(int position, int newline, int fieldCount) {
    if (newline >= filled && base + filled < size) {
      return -1;
    }
    int width = layout.width;
    if (fieldCount != width && recordLines > 0) {
      isStuck = true; // a torn quote that was closed by chance: the lines in it may be good rows
      return -1;
    }
    recordLines++;
    int next = Math.min(newline + 1, filled);
    if (fieldCount != width) {
      return odd(position, next);
    }
    int last = width - 1;
    if (ends[last] == newline && newline > starts[last] && data[newline - 1] == '\r') {
      ends[last]--;
    }
    return finish(position, next);
  }

  /** Returns the index of the first byte whose high bit is set; there must be one. Compiled code has no jump for it. */
  static int firstByte(long highBits) {
    return (int) (((highBits & -highBits) >>> 7) * 0x0001020304050607L >>> 56);
  }

  /** Returns the number of digits before the first other byte, given its high bits; 0 also without one. */
  static int digits(long others) {
    return firstByte(others);
  }

  /** Returns the high bits of the bytes above 9; bits above the first of them are unreliable. */
  static long otherThanDigits(long word) {
    return (word + NINES | word) & HIGH_BITS;
  }

  /** Returns the number of eight digits, the first one in the lowest byte. */
  static long value(long digits) {
    long pairs = digits * 10 + (digits >>> 8); // D. Lemire, "Quickly parsing eight digits", 2018
    return ((pairs & 0x000000FF000000FFL) * 0x000F424000000064L
            + (pairs >>> 16 & 0x000000FF000000FFL) * 0x0000271000000001L)
        >>> 32;
  }

  private boolean isMark(int position) {
    return (word(position) & 0xFFFFFFL) == 0xBFBBEFL;
  }

  private int blankLine(int position) {
    int next = data[position] == '\r' ? position + 1 : position;
    if (data[next] != '\n') {
      return -1;
    }
    if (next < filled) {
      recordLines = 1;
      return next + 1;
    }
    return base + filled == size ? filled : -1;
  }

  /** Reads a quoted field after its opening quote; returns the index after the field. */
  private int quoted(int position, int slot) {
    byte[] bytes = data;
    int next = position;
    boolean isEscaped = false;
    while (next < filled) {
      byte found = bytes[next++];
      if (found == '\n') {
        recordLines++;
        if (recordLines > RECORD_MAX_LINES || isMark(next)) {
          break;
        }
      } else if (found == 0) {
        isStuck = true;
        return -1;
      } else if (found == '"') {
        if (next < filled && bytes[next] == '"') {
          isEscaped = true;
          next++;
          continue;
        }
        starts[slot] = position;
        ends[slot] = next - 1;
        if (isEscaped && slot < layout.width) {
          escaped[escapedCount++] = slot;
        }
        int behind = next;
        if (behind < filled && bytes[behind] == '\r' && (behind + 1 == filled || bytes[behind + 1] == '\n')) {
          behind++;
        }
        if (behind == filled || bytes[behind] == '\n' || behind == next && bytes[behind] == layout.delimiter) {
          return behind;
        }
        break;
      }
    }
    if (next < filled || base + filled == size) {
      isStuck = true;
    }
    return -1;
  }

  /** Counts the record from `position` to before `next` whose fields are found, or stores it as odd; -1 when stuck. */
  private int finish(int position, int next) {
    final Layout layout = this.layout;
    final long[] row = this.row;
    isBad = false;
    int successLength = ends[layout.success] - starts[layout.success];
    long success = word(starts[layout.success]);
    boolean isFailed = successLength != 4 || (success & 0xFFFFFFFFL) != TRUE;
    if (isFailed && (successLength != 5 || (success & 0xFFFFFFFFFFL) != FALSE)) {
      return odd(position, next);
    }
    long startMs = instant(layout.start);
    long elapsedMs = number(layout.elapsed, 0);
    row[Layout.START] = startMs;
    row[Layout.ELAPSED] = elapsedMs;
    row[Layout.RECEIVED] = number(layout.received, 0);
    row[Layout.SENT] = number(layout.sent, 0);
    row[Layout.USERS] = number(layout.users, -1);
    boolean hasGroups = layout.threadGroups.length > 0;
    if (hasGroups) {
      row[Layout.GROUP_USERS] = number(layout.groupUsers, -1);
    }
    row[Layout.LATENCY] = number(layout.latency, 0);
    row[Layout.CONNECT] = number(layout.connect, 0);
    long sampleCount = number(layout.samples, 1);
    long errorCount = number(layout.errors, -1);
    boolean isImpossible = elapsedMs > ELAPSED_MAX_MS || startMs < layout.firstMs || startMs > layout.lastMs;
    if (isBad || isImpossible || sampleCount == 0 || sampleCount > 1 && errorCount > sampleCount) {
      return odd(position, next);
    }
    if (sampleCount == 1 || errorCount < 0) {
      errorCount = isFailed ? sampleCount : 0;
    }
    row[Layout.SAMPLES] = sampleCount;
    row[Layout.ERRORS] = errorCount;
    long endMs = startMs + elapsedMs;
    if (endMs < layout.fromMs || endMs >= layout.toMs) {
      return next;
    }
    if (beginsUnnamed()) {
      tally = unnamed;
    } else if (!findTally()) {
      return odd(position, next);
    }
    if (hasGroups && layout.thread >= 0 && isEscaped(layout.thread)) {
      return odd(position, next);
    }
    int label = name(labels, layout.label);
    boolean isTransaction = isTransaction();
    boolean isUntimed = isTransaction && elapsedMs == 0 && (errorCount > 0 || isEmpty(layout.thread));
    if (isUntimed || !isTransaction && isEmpty(layout.message) && transactions.get(label)) {
      return odd(position, next); // a transaction without a time, or one that the end of its user cut
    }
    int code = name(codes, layout.code);
    int cause = errorCount > 0 ? name(causes, hasFailure() && !isOwnFailure() ? layout.failure : layout.message) : Cell.NO_CAUSE;
    int group = threadGroup();
    int transaction = isTransaction ? 1 : 0;
    if (isTransaction) {
      transactions.set(label);
    }
    int kind = group << 1 | transaction;
    int batch = layout.sliceBytes > 0 ? marks.size() : layout.batch(endMs);
    count(tally, tally.cell(label, code, kind, batch, cause, base + position), row[Layout.USERS]);
    int own = hasGroups ? ownThreadGroup() : -1;
    if (own >= 0) {
      Tally apart = tally.ofGroup(own);
      count(apart, apart.cell(label, code, kind, 0, cause, base + position), row[Layout.GROUP_USERS]);
    }
    if (quick != null && sampleCount == 1) {
      quick.learn(this, tally, group, label, code, transaction, cause);
    }
    return next;
  }

  /** Counts the current row. */
  private void count(Tally tally, Cell cell, long users) {
    long startMs = row[Layout.START];
    long elapsedMs = row[Layout.ELAPSED];
    long sampleCount = row[Layout.SAMPLES];
    long eachMs = sampleCount == 1 ? elapsedMs : elapsedMs / sampleCount;
    cell.receivedBytes += row[Layout.RECEIVED];
    cell.sentBytes += row[Layout.SENT];
    tally.count(cell, startMs, startMs + elapsedMs, eachMs, users);
    long firstMs = sampleCount == 1 ? row[Layout.LATENCY] : row[Layout.LATENCY] / sampleCount;
    long connectMs = sampleCount == 1 ? row[Layout.CONNECT] : row[Layout.CONNECT] / sampleCount;
    tally.countParts(cell, firstMs, connectMs, sampleCount);
    if (sampleCount > 1) {
      tally.countMore(cell, startMs + elapsedMs, elapsedMs, eachMs, sampleCount, row[Layout.ERRORS]);
      cell.moreFirstMs += row[Layout.LATENCY] - firstMs * sampleCount;
      cell.moreConnectMs += row[Layout.CONNECT] - connectMs * sampleCount;
    }
  }

  /** Returns where a field of the current record begins, including its quotes. */
  int rawStart(int field) {
    return starts[field] - (isQuoted(field) ? 1 : 0);
  }

  /** Returns the index after a field of the current record and its quotes. */
  int rawEnd(int field) {
    return ends[field] + (isQuoted(field) ? 1 : 0);
  }

  private boolean isQuoted(int field) {
    return starts[field] > recordStart && data[starts[field] - 1] == '"';
  }

  private int odd(int position, int next) {
    for (int at = position; at + HEADER.length <= next; at++) {
      if (Arrays.equals(data, at, at + HEADER.length, HEADER, 0, HEADER.length)) {
        isStuck = true;
        return -1;
      }
    }
    oddRows.add(new OddRow(base + position, lineCount, Arrays.copyOfRange(data, position, next)));
    return next;
  }

  /** Returns the number of 1 to 8 digits in a field, `missing` without such a column; marks a bad record. */
  private long number(int field, long missing) {
    if (field < 0) {
      return missing;
    }
    // Longer numbers could overflow a sum; the plain reader has no limit.
    int length = ends[field] - starts[field];
    isBad |= length < 1 || length > Long.BYTES || length > 1 && data[starts[field]] == '0';
    return digits(starts[field], length);
  }

  /** Returns the number of 1 to 13 digits in a field; marks the record as bad without one. */
  private long instant(int field) {
    int length = ends[field] - starts[field];
    if (length <= Long.BYTES || length > 13) {
      isBad |= length > 13;
      return number(field, 0);
    }
    isBad |= data[starts[field]] == '0';
    return digits(starts[field], length - 8) * EIGHT_DIGITS + digits(ends[field] - 8, 8);
  }

  /** Returns the number of 1 to 8 digits that begins at `position`; marks the record as bad without one. */
  private long digits(int position, int length) {
    long word = (word(position) ^ ZEROS) << -8 * length;
    isBad |= otherThanDigits(word) != 0;
    return value(word);
  }

  /** Returns the number in `names` of a field's text, or that of the empty text without such a column. */
  private int name(Names names, int field) {
    if (field < 0) {
      return names.number(data, 0, 0);
    }
    return isEscaped(field) ? names.number(unescaped(field)) : names.number(data, starts[field], ends[field]);
  }

  private boolean isEscaped(int field) {
    for (int index = 0; index < escapedCount; index++) {
      if (escaped[index] == field) {
        return true;
      }
    }
    return false;
  }

  private byte[] unescaped(int field) {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    for (int position = starts[field]; position < ends[field]; position++) {
      text.write(data[position]);
      if (data[position] == '"') {
        position++;
      }
    }
    return text.toByteArray();
  }

  /** Returns whether the current row has a column, and nothing in it. */
  private boolean isEmpty(int field) {
    return field >= 0 && ends[field] == starts[field];
  }

  private boolean isTransaction() {
    return messageBeginsWith(TRANSACTION);
  }

  /**
   * Returns whether the sampler of the current row failed itself, without an answer or with a code that is none of HTTP: then its
   * message is the cause, not an assertion's.
   */
  boolean isOwnFailure() {
    return messageBeginsWith(NO_ANSWER) || (hasText(layout.message) && hasText(layout.code) && !isHttpStatus() && !isTransaction());
  }

  private boolean hasText(int field) {
    return field >= 0 && ends[field] > starts[field];
  }

  /** Returns whether the code of the current row has three digits, as those of HTTP. */
  private boolean isHttpStatus() {
    int start = starts[layout.code];
    return ends[layout.code] - start == 3 && isDigit(data[start]) && isDigit(data[start + 1]) && isDigit(data[start + 2]);
  }

  /** Returns whether the current row has an assertion's message. */
  boolean hasFailure() {
    return hasText(layout.failure);
  }

  private boolean messageBeginsWith(byte[] text) {
    int field = layout.message;
    if (field < 0 || data[starts[field]] != text[0]) {
      return false;
    }
    int start = starts[field];
    return ends[field] - start >= text.length && Arrays.equals(data, start, start + text.length, text, 0, text.length);
  }

  /**
   * Returns 0 for the load, 1 for setUp, 2 for tearDown, 3 for jobs. JMeter names a thread after its group; in a distributed
   * run the load generator's name comes first.
   */
  private int threadGroup() {
    if (layout.thread < 0) {
      return 0;
    }
    int start = starts[layout.thread];
    int end = ends[layout.thread];
    boolean isTearDown = false;
    boolean isJob = false;
    for (int position = start; position < end; position += Long.BYTES) {
      long word = word(position);
      long found = zeroBytes(word ^ SET_UP_CAPITALS) | zeroBytes(word ^ TEAR_DOWN_CAPITALS) | zeroBytes(word ^ OPEN_BRACKETS);
      for (; found != 0; found &= found - 1) {
        int at = position + (Long.numberOfTrailingZeros(found) >>> 3);
        if (contains("setUp", at - 3, start, end)) {
          return 1;
        }
        isTearDown |= contains("tearDown", at - 4, start, end);
        isJob |= contains(JOB_MARK, at, start, end);
      }
    }
    return isTearDown ? 2 : isJob ? 3 : 0;
  }

  /** Returns the number of the thread group that is counted apart and has this thread, -1 without one. */
  private int ownThreadGroup() {
    int count = layout.thread < 0 ? 0 : layout.threadGroups.length;
    for (int tried = 0; tried < count; tried++) {
      int number = (lastGroup + tried) % count; // the next row often has the same one
      if (isOfThreadGroup(layout.threadGroups[number])) {
        lastGroup = number;
        return number;
      }
    }
    return -1;
  }

  /** Returns whether the thread's name is that of a group: <generator>-<group> 1-12, or <group> 1-12. */
  private boolean isOfThreadGroup(byte[] group) {
    int end = ends[layout.thread];
    int start = starts[layout.thread] + (tally == unnamed ? 0 : tally.nameLength + 1);
    int behind = start + group.length;
    return behind < end
        && data[behind] == ' '
        && Arrays.equals(data, start, behind, group, 0, group.length)
        && endsAsThread(behind, end)
        && beforeDigits(behind, beforeDigits(behind, end)) == behind;
  }

  /** Returns whether a thread's name begins like the last one without a load generator. */
  private boolean beginsUnnamed() {
    return unnamedMask != 0 && ((word(starts[layout.thread]) ^ unnamedHead) & unnamedMask) == 0;
  }

  /**
   * Finds the tally of the load generator at the start of the thread's name (generator_of in sample.py); returns whether there is
   * one: with too many load generators, rows are left to the plain reader.
   */
  private boolean findTally() {
    int field = layout.thread;
    if (field < 0) {
      return true;
    }
    int start = starts[field];
    int end = ends[field];
    if (end - start < headLength || !beginsAsBefore(start)) {
      findHead(start, end);
    }
    if (headTally == unnamed || !endsAsThread(start + headLength, end)) {
      tally = unnamed;
      return true;
    }
    if (headTally != null) {
      tally = headTally;
    }
    return headTally != null;
  }

  /** Returns the tally of a load generator, created if necessary; null when that would be too many. */
  private Tally tallyOf(byte[] name) {
    int number = generators.number(name);
    if (number == tallies.size() && number < GENERATORS_MAX) {
      tallies.add(new Tally(halvings, name.length, layout.threadGroups.length));
    }
    return number < tallies.size() ? tallies.get(number) : null;
  }

  private boolean beginsAsBefore(int start) {
    int next = 0;
    for (; next + Long.BYTES <= headLength; next += Long.BYTES) {
      if ((long) WORDS.get(head, next) != word(start + next)) {
        return false;
      }
    }
    return next == headLength
        || ((long) WORDS.get(head, next) ^ word(start + next)) << 8 * (Long.BYTES - (headLength - next)) == 0;
  }

  /** Takes a thread's name apart: `head` is then how it begins, and `headTally` that of its generator. */
  private void findHead(int start, int end) {
    looked = start;
    int dash = dashBehindAddress(start, end);
    if (dash < 0) {
      dash = dashBehindPort(start, end);
    }
    headTally = dash < 0 ? unnamed : tallyOf(Arrays.copyOfRange(data, start, dash));
    if (looked == end) {
      headLength = Integer.MAX_VALUE; // its end says that it names none: a longer one may
      return;
    }
    headLength = looked + 1 - start;
    if (head.length < headLength + Long.BYTES) {
      head = new byte[2 * headLength + Long.BYTES];
    }
    System.arraycopy(data, start, head, 0, headLength);
    if (headTally == unnamed && headLength <= Long.BYTES) {
      unnamedHead = word(start);
      unnamedMask = -1L >>> 8 * (Long.BYTES - headLength);
    }
  }

  /** Returns the index of the dash after an IPv4 address, -1 without one. */
  private int dashBehindAddress(int start, int end) {
    int position = start;
    for (int number = 1; number <= 4; number++) {
      int behind = behindDigits(position, Math.min(end, position + 3));
      looked = behind;
      if (behind == position || behind == end || data[behind] != (number < 4 ? '.' : '-')) {
        return -1;
      }
      position = behind + 1;
    }
    return looked;
  }

  /** Returns the index of the dash after host and port, -1 without one. */
  private int dashBehindPort(int start, int end) {
    int colon = behindHost(start, end);
    looked = Math.max(looked, colon);
    if (colon == start || colon == end || data[colon] != ':') {
      return -1;
    }
    int port = colon + 1;
    int behind = behindDigits(port, Math.min(end, port + 5));
    looked = Math.max(looked, behind);
    if (behind == port || behind == end || data[behind] != '-' || data[port] == '0') {
      return -1;
    }
    return digits(port, behind - port) <= PORT_MAX ? behind : -1;
  }

  /** Returns the index after a host name or address, IPv6 in brackets; `start` without one. */
  private int behindHost(int start, int end) {
    int position = start;
    if (position < end && data[position] == '[') {
      do {
        position++;
      } while (position < end && isOfAddress(data[position]));
      looked = Math.max(looked, position);
      return position < end && data[position] == ']' && position > start + 1 ? position + 1 : start;
    }
    while (position < end && isOfHost(data[position])) {
      position++;
    }
    return position;
  }

  private int behindDigits(int position, int end) {
    int behind = position;
    while (behind < end && isDigit(data[behind])) {
      behind++;
    }
    return behind;
  }

  static boolean isDigit(byte found) {
    return found >= '0' && found <= '9';
  }

  private static boolean isOfHost(byte found) {
    return isDigit(found)
        || found >= 'a' && found <= 'z'
        || found >= 'A' && found <= 'Z'
        || found == '.'
        || found == '-'
        || found == '_';
  }

  private static boolean isOfAddress(byte found) {
    return isDigit(found) || found >= 'a' && found <= 'f' || found >= 'A' && found <= 'F' || found == ':' || found == '.';
  }

  /** Returns whether a name ends like JMeter's threads, with the numbers of the group and the thread: " 1-12". */
  private boolean endsAsThread(int start, int end) {
    int dash = beforeDigits(start, end);
    if (dash == end - 1 || dash < start || data[dash] != '-') {
      return false;
    }
    int blank = beforeDigits(start, dash);
    return blank < dash - 1 && blank >= start && data[blank] == ' ';
  }

  /** Returns the index before the digits that end before `end`; it may be before `start`. */
  private int beforeDigits(int start, int end) {
    int position = end - 1;
    while (position >= start && isDigit(data[position])) {
      position--;
    }
    return position;
  }

  private boolean contains(String word, int position, int start, int end) {
    if (position < start || position + word.length() > end) {
      return false;
    }
    for (int index = 0; index < word.length(); index++) {
      if (data[position + index] != word.charAt(index)) {
        return false;
      }
    }
    return true;
  }
}
