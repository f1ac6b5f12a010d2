import java.lang.instrument.Instrumentation;

/**
 * Keeps few buffers outside the heap for each thread: Java has room for 1,024 of them in an array of 4 KB, and a user's thread
 * needs one or two.
 */
final class ReadBuffers extends InstructionPatch {
    private static final String CACHE = "sun/nio/ch/Util$BufferCache";
    private static final String MOST = "sun/nio/ch/Util TEMP_BUF_POOL_SIZE I";
    private static final int KEPT = 16;
    private static final int GET_STATIC = 0xb2;
    private static final byte SHORT = 0x11;

    private ReadBuffers() {
        super("ReadBuffers", "install", "()V"); // nothing is called
    }

    /** Patches the class when it is loaded; where Java has loaded it, or has another one, it stays as it is. */
    static void install(Instrumentation instrumentation) {
        new ReadBuffers().install(instrumentation, CACHE, "each thread keeps 4 KB more: its buffers cannot be patched");
    }

    @Override
    boolean isIn(String method) {
        return true;
    }

    @Override
    void replace(byte[] code, int at) {
        if ((code[at] & 0xff) == GET_STATIC && member(shortAt(code, at + 1)).equals(MOST)) {
            code[at] = SHORT;
            code[at + 1] = 0;
            code[at + 2] = KEPT;
        }
    }
}
