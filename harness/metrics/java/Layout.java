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
  final int batchCount;
  /** The thread groups whose samples are also counted apart. */
  final byte[][] threadGroups;
  /** The length of a slice; 0 without slices. */
  final int sliceBytes;
  /** The columns as steps of the quick reader; null when it cannot read them, or when thread groups are counted apart. */
  final Steps steps;

  /** `places` has the index of each role, -1 without such a column. */
  Layout(byte delimiter, int width, int[] places, Samples counted) {
    this.delimiter = delimiter;
    delimiters = delimiter * 0x0101010101010101L;
    this.width = width;
    fromMs = counted.fromMs();
    toMs = counted.toMs();
    batchCount = counted.batchCount();
    threadGroups = counted.threadGroups();
    sliceBytes = counted.sliceBytes();
    steps = threadGroups.length > 0 ? null : Steps.orNull(width, places);
    start = places[START];
    elapsed = places[ELAPSED];
    label = places[LABEL];
    success = places[SUCCESS];
    code = places[CODE];
    message = places[MESSAGE];
    thread = places[THREAD];
    failure = places[FAILURE];
    received = places[RECEIVED];
    sent = places[SENT];
    users = places[USERS];
    groupUsers = places[GROUP_USERS];
    latency = places[LATENCY];
    connect = places[CONNECT];
    samples = places[SAMPLES];
    errors = places[ERRORS];
    missing =
        (places[RECEIVED] < 0 ? Tally.RECEIVED : 0)
            | (places[SENT] < 0 ? Tally.SENT : 0)
            | (places[LATENCY] < 0 ? Tally.LATENCY : 0)
            | (places[CONNECT] < 0 ? Tally.CONNECT : 0);
  }

  /** Returns the batch of a sample that ends within the window: 0 to batchCount - 1. */
  int batch(long endMs) {
    return batchCount == 1 ? 0 : (int) ((endMs - fromMs) * batchCount / (toMs - fromMs));
  }
}
