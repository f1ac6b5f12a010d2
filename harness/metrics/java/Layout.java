/** The current columns: the role of each field of a record; and which samples count, by their end. */
final class Layout {
  // In the order in which CountJtl receives their indexes.
  static final int START = 0;
  static final int ELAPSED = 1;
  static final int LABEL = 2;
  static final int SUCCESS = 3;
  static final int CODE = 4;
  static final int MESSAGE = 5;
  static final int THREAD = 6;
  static final int FAILURE = 7;
  static final int RECEIVED = 8;
  static final int SENT = 9;
  static final int USERS = 10;
  static final int LATENCY = 11;
  static final int CONNECT = 12;
  static final int SAMPLES = 13;
  static final int ERRORS = 14;
  static final int GROUP_USERS = 15;
  static final int ROLES = 16;

  final byte delimiter;
  final long delimiters;
  final int width;
  // The index of each role, -1 without such a column.
  final int start;
  final int elapsed;
  final int label;
  final int success;
  final int code;
  final int message;
  final int thread;
  final int failure;
  final int received;
  final int sent;
  final int users;
  final int groupUsers;
  final int latency;
  final int connect;
  final int samples;
  final int errors;
  final int missing;
  final long fromMs;
  final long toMs;
  /** The first and the last possible time stamp. */
  final long firstMs;
  final long lastMs;
  final int batchCount;
  /** The thread groups whose samples are also counted apart. */
  final byte[][] threadGroups;
  /** The labels of transactions of which some are known to have been cut. */
  final byte[][] cutLabels;
  /** The length of a slice; 0 without slices. */
  final int sliceBytes;
  /** The columns as steps of the quick reader; null when it cannot read them, or when thread groups are counted apart. */
  final Steps steps;

  /** `indexes` has the index of each role, -1 without such a column. */
  Layout(byte delimiter, int width, int[] indexes, Samples counted) {
    this.delimiter = delimiter;
    delimiters = delimiter * 0x0101010101010101L;
    this.width = width;
    fromMs = counted.fromMs();
    toMs = counted.toMs();
    firstMs = counted.firstMs();
    lastMs = counted.lastMs();
    batchCount = counted.batchCount();
    threadGroups = counted.threadGroups();
    cutLabels = counted.cutLabels();
    sliceBytes = counted.sliceBytes();
    steps = threadGroups.length > 0 ? null : Steps.orNull(width, indexes);
    start = indexes[START];
    elapsed = indexes[ELAPSED];
    label = indexes[LABEL];
    success = indexes[SUCCESS];
    code = indexes[CODE];
    message = indexes[MESSAGE];
    thread = indexes[THREAD];
    failure = indexes[FAILURE];
    received = indexes[RECEIVED];
    sent = indexes[SENT];
    users = indexes[USERS];
    groupUsers = indexes[GROUP_USERS];
    latency = indexes[LATENCY];
    connect = indexes[CONNECT];
    samples = indexes[SAMPLES];
    errors = indexes[ERRORS];
    missing =
        (indexes[RECEIVED] < 0 ? Tally.RECEIVED : 0)
            | (indexes[SENT] < 0 ? Tally.SENT : 0)
            | (indexes[LATENCY] < 0 ? Tally.LATENCY : 0)
            | (indexes[CONNECT] < 0 ? Tally.CONNECT : 0);
  }

  /** Returns the batch of a sample that ends within the window: 0 to batchCount - 1. */
  int batch(long endMs) {
    return batchCount == 1 ? 0 : (int) ((endMs - fromMs) * batchCount / (toMs - fromMs));
  }
}
