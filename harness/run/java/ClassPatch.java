import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.security.ProtectionDomain;

/**
 * Changes the code of some methods of a class file, so that they call a static method of the agent.
 *
 * This class reads only the necessary parts of the class file format (JVMS 4), since no library reads the class files of
 * every Java version.
 */
abstract class ClassPatch {
    private static final int UTF8 = 1;
    private static final int CLASS = 7;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;

    private final String callee;
    private final String called;
    private final String descriptor;
    private int[][] entries;
    private int patchedCount;

    DataInputStream in;
    DataOutputStream out;
    /** The texts of the class file, by their index. */
    String[] texts;
    /** The index of the static method that is called. */
    int calleeIndex;

    /** Patches methods to call callee.called, which has this descriptor. */
    ClassPatch(String callee, String called, String descriptor) {
        this.callee = callee;
        this.called = called;
        this.descriptor = descriptor;
    }

    /** Returns the Code attribute of a method, changed; null to leave it as it is. */
    abstract byte[] code(String method, String methodDescriptor, boolean isStatic, byte[] attribute) throws IOException;

    /** Patches a class when it is loaded; where that is not possible, prints `consequence` and leaves it as it is. */
    void install(Instrumentation instrumentation, String className, String consequence) {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> seen, ProtectionDomain domain, byte[] classFile) {
                if (!className.equals(name)) {
                    return null;
                }
                try {
                    byte[] patched = patched(classFile);
                    if (patchedCount > 0) {
                        return patched;
                    }
                } catch (RuntimeException | Error error) {
                    System.err.println(error);
                }
                System.err.println(consequence);
                return null;
            }
        });
    }

    /** Patches a class that Java has loaded already, such as one of its own; IllegalStateException where it cannot. */
    void retransform(Instrumentation instrumentation, Class<?> target) throws UnmodifiableClassException {
        Throwable[] failure = new Throwable[1];
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> seen, ProtectionDomain domain, byte[] classFile) {
                if (seen != target) {
                    return null;
                }
                try {
                    return patched(classFile);
                } catch (RuntimeException | Error error) { // the JVM would ignore it
                    failure[0] = error;
                    return null;
                }
            }
        }, true);
        instrumentation.retransformClasses(target);
        // The transformer is not removed: otherwise a later retransformation would drop the patch.
        if (failure[0] != null || patchedCount == 0) {
            throw new IllegalStateException(target.getName() + " of this Java cannot be watched", failure[0]);
        }
    }

    byte[] patched(byte[] classFile) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(classFile.length + 256);
        in = new DataInputStream(new ByteArrayInputStream(classFile));
        out = new DataOutputStream(bytes);
        try {
            copy(8); // magic and version
            constants();
            copy(6); // access, this, super
            copy(2 * copyShort()); // interfaces
            members(false);
            members(true);
            copy(in.available());
        } catch (IOException error) {
            throw new IllegalStateException(error); // both ends are arrays
        } finally {
            in = null; // the transformer stays, and would keep them: 3 MB of all patches
            out = null;
            texts = null;
            entries = null;
        }
        return bytes.toByteArray();
    }

    private void constants() throws IOException {
        int count = in.readUnsignedShort();
        texts = new String[count];
        entries = new int[count][];
        out.writeShort(count + 6);
        for (int at = 1; at < count; at++) {
            int tag = copyByte();
            switch (tag) {
                case UTF8 -> out.writeUTF(texts[at] = in.readUTF());
                case CLASS, 8, 16, 19, 20 -> entries[at] = new int[] {copyShort()};
                case 15 -> copy(3);
                case 3, 4, 17, 18 -> copy(4);
                case 9, METHOD, 11, NAME_AND_TYPE -> entries[at] = new int[] {copyShort(), copyShort()};
                case 5, 6 -> {
                    copy(8);
                    at++; // a long takes two entries
                }
                default -> throw new IOException("constant of the unknown kind " + tag);
            }
        }
        text(callee);
        reference(CLASS, count);
        text(called);
        text(descriptor);
        reference(NAME_AND_TYPE, count + 2, count + 3);
        reference(METHOD, count + 1, count + 4);
        calleeIndex = count + 5;
    }

    /** Returns class, name and descriptor of the method or field that a constant refers to, separated by blanks. */
    String member(int index) {
        int[] named = entries[entries[index][1]];
        return texts[entries[entries[index][0]][0]] + " " + texts[named[0]] + " " + texts[named[1]];
    }

    private void text(String value) throws IOException {
        out.writeByte(UTF8);
        out.writeUTF(value);
    }

    private void reference(int tag, int... indices) throws IOException {
        out.writeByte(tag);
        for (int index : indices) {
            out.writeShort(index);
        }
    }

    private void members(boolean areMethods) throws IOException {
        for (int left = copyShort(); left > 0; left--) {
            boolean isStatic = (copyShort() & 0x0008) != 0;
            String name = texts[copyShort()];
            String type = texts[copyShort()];
            for (int attributes = copyShort(); attributes > 0; attributes--) {
                String attribute = texts[copyShort()];
                byte[] content = in.readNBytes(in.readInt());
                byte[] code = areMethods && attribute.equals("Code") ? code(name, type, isStatic, content) : null;
                if (code != null) {
                    patchedCount++;
                    content = code;
                }
                out.writeInt(content.length);
                out.write(content);
            }
        }
    }

    static int copyShort(DataInputStream from, DataOutputStream to) throws IOException {
        int value = from.readUnsignedShort();
        to.writeShort(value);
        return value;
    }

    private int copyShort() throws IOException {
        return copyShort(in, out);
    }

    private int copyByte() throws IOException {
        int value = in.readUnsignedByte();
        out.writeByte(value);
        return value;
    }

    private void copy(int length) throws IOException {
        out.write(in.readNBytes(length));
    }
}
