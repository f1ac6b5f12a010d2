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
 * Inserts a call of a static method at the start of some methods of a class file.
 *
 * The called method takes one parameter of the patched method, and optionally the int after it, or the object whose method
 * it is. This class reads only the necessary parts of the class file format (JVMS 4), since no library reads the class
 * files of every Java version.
 */
final class MethodPatch {
    /** As `parameter`: the object whose method it is. */
    static final String THIS = "this";

    /** The length of the call in bytes: a multiple of four, so that the padding of switch tables stays valid. */
    private final int length;

    private final String method;
    private final String parameter;
    private final boolean withInt;
    private final String callee;
    private final String called;
    private final String passedAs;
    private final boolean isInstead;

    private DataInputStream in;
    private DataOutputStream out;
    private String[] texts;
    private int calleeIndex;
    private int patchedCount;

    /** Patches each `method` that has code and a parameter with the descriptor `parameter`: it calls callee.called. */
    MethodPatch(String method, String parameter, boolean withInt, String callee, String called) {
        this(method, parameter, withInt, callee, called, parameter, false);
    }

    /** The same for a called method whose parameter has the descriptor `passedAs`, a supertype. */
    MethodPatch(String method, String parameter, boolean withInt, String callee, String called, String passedAs) {
        this(method, parameter, withInt, callee, called, passedAs, false);
    }

    /** Patches a void method: it calls callee.called with its object, and returns at once when that returns true. */
    static MethodPatch instead(String method, String callee, String called) {
        return new MethodPatch(method, THIS, false, callee, called, "Ljava/lang/Object;", true);
    }

    private MethodPatch(
            String method, String parameter, boolean withInt, String callee, String called, String passedAs, boolean isInstead) {
        this.isInstead = isInstead;
        this.length = isInstead ? 12 : 8;
        this.passedAs = passedAs;
        this.method = method;
        this.parameter = parameter;
        this.withInt = withInt;
        this.callee = callee;
        this.called = called;
    }

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
        }
        return bytes.toByteArray();
    }

    private void constants() throws IOException {
        int count = in.readUnsignedShort();
        texts = new String[count];
        out.writeShort(count + 6);
        for (int at = 1; at < count; at++) {
            int tag = copyByte();
            switch (tag) {
                case 1 -> out.writeUTF(texts[at] = in.readUTF());
                case 7, 8, 16, 19, 20 -> copy(2);
                case 15 -> copy(3);
                case 3, 4, 9, 10, 11, 12, 17, 18 -> copy(4);
                case 5, 6 -> {
                    copy(8);
                    at++; // a long takes two entries
                }
                default -> throw new IOException("constant of the unknown kind " + tag);
            }
        }
        text(callee);
        reference(7, count);
        text(called);
        text("(" + passedAs + (withInt ? "I" : "") + (isInstead ? ")Z" : ")V"));
        reference(12, count + 2, count + 3);
        reference(10, count + 1, count + 4);
        calleeIndex = count + 5;
    }

    private void text(String value) throws IOException {
        out.writeByte(1);
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
            String descriptor = texts[copyShort()];
            int slot = areMethods && name.equals(method) ? slot(descriptor, isStatic) : -1;
            for (int attributes = copyShort(); attributes > 0; attributes--) {
                String attribute = texts[copyShort()];
                int length = in.readInt();
                if (slot >= 0 && attribute.equals("Code")) {
                    byte[] code = code(in.readNBytes(length), slot);
                    out.writeInt(code.length);
                    out.write(code);
                    patchedCount++;
                } else {
                    out.writeInt(length);
                    copy(length);
                }
            }
        }
    }

    /** Returns the local variable of the parameter; -1 when the method has no such parameter. */
    private int slot(String descriptor, boolean isStatic) {
        if (parameter.equals(THIS)) {
            return isStatic ? -1 : 0;
        }
        int slot = isStatic ? 0 : 1;
        int at = 1;
        while (descriptor.charAt(at) != ')') {
            if (descriptor.startsWith(parameter, at)) {
                return withInt && descriptor.charAt(at + parameter.length()) != 'I' ? -1 : slot;
            }
            char kind = descriptor.charAt(at);
            while (descriptor.charAt(at) == '[') {
                at++;
            }
            at = descriptor.charAt(at) == 'L' ? descriptor.indexOf(';', at) + 1 : at + 1;
            slot += kind == 'J' || kind == 'D' ? 2 : 1;
        }
        return -1;
    }

    /** Returns a Code attribute that starts with the call; tables for debuggers are dropped. */
    private byte[] code(byte[] attribute, int slot) throws IOException {
        DataInputStream from = new DataInputStream(new ByteArrayInputStream(attribute));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(attribute.length + length);
        DataOutputStream to = new DataOutputStream(bytes);
        to.writeShort(Math.max(from.readUnsignedShort(), 2)); // the stack
        to.writeShort(from.readUnsignedShort()); // the local variables
        int size = from.readInt();
        to.writeInt(size + length);
        to.writeByte(0x19); // aload
        to.writeByte(slot);
        if (withInt) {
            to.writeByte(0x15); // iload
            to.writeByte(slot + 1);
        }
        for (int left = length - (withInt ? 7 : 5) - (isInstead ? 4 : 0); left > 0; left--) {
            to.writeByte(0); // nop
        }
        to.writeByte(0xb8); // invokestatic
        to.writeShort(calleeIndex);
        if (isInstead) {
            to.writeByte(0x99); // ifeq: to the method's own code
            to.writeShort(4);
            to.writeByte(0xb1); // return
        }
        to.write(from.readNBytes(size));
        int handlers = from.readUnsignedShort();
        to.writeShort(handlers);
        for (int left = handlers; left > 0; left--) {
            for (int position = 0; position < 3; position++) {
                to.writeShort(from.readUnsignedShort() + length);
            }
            to.writeShort(from.readUnsignedShort());
        }
        byte[] frames = null;
        int framesName = 0;
        for (int left = from.readUnsignedShort(); left > 0; left--) {
            int name = from.readUnsignedShort();
            byte[] content = from.readNBytes(from.readInt());
            if (texts[name].equals("StackMapTable")) {
                framesName = name;
                frames = frames(content);
            }
        }
        if (isInstead && frames == null) {
            throw new IOException(method + " has no branches: the table of a new one is not written");
        }
        to.writeShort(frames == null ? 0 : 1);
        if (frames != null) {
            to.writeShort(framesName);
            to.writeInt(frames.length);
            to.write(frames);
        }
        return bytes.toByteArray();
    }

    /**
     * Returns a StackMapTable whose first frame moves by the length of the call; the others are relative to the previous
     * frame. A call with a branch adds a frame at its end, with the variables at the start of the method.
     */
    private byte[] frames(byte[] table) throws IOException {
        DataInputStream from = new DataInputStream(new ByteArrayInputStream(table));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(table.length + 3);
        DataOutputStream to = new DataOutputStream(bytes);
        int count = from.readUnsignedShort();
        to.writeShort(count + (isInstead ? 1 : 0));
        if (isInstead) {
            to.writeByte(length); // same_frame
        }
        for (int frame = 0; frame < count; frame++) {
            int shift = frame > 0 ? 0 : isInstead ? -1 : length;
            int kind = from.readUnsignedByte();
            boolean isShort = kind < 128;
            int delta = shift + (isShort ? kind & 63 : from.readUnsignedShort());
            if (delta < 0) {
                throw new IOException(method + " begins with the target of a branch");
            }
            boolean hasItem = kind >= 64 && kind < 128 || kind == 247;
            if (isShort && delta < 64) {
                to.writeByte(hasItem ? 64 + delta : delta);
            } else {
                to.writeByte(!isShort ? kind : hasItem ? 247 : 251);
                to.writeShort(delta);
            }
            if (hasItem) {
                types(from, to, 1);
            } else if (kind == 255) {
                types(from, to, copyShort(from, to));
                types(from, to, copyShort(from, to));
            } else if (kind > 251) {
                types(from, to, kind - 251);
            }
        }
        return bytes.toByteArray();
    }

    private void types(DataInputStream from, DataOutputStream to, int count) throws IOException {
        for (int left = count; left > 0; left--) {
            int tag = from.readUnsignedByte();
            to.writeByte(tag);
            if (tag == 7) { // an object, by its class
                to.writeShort(from.readUnsignedShort());
            } else if (tag == 8) { // an object that is not initialised yet, by the offset of its `new`
                to.writeShort(from.readUnsignedShort() + length);
            }
        }
    }

    private static int copyShort(DataInputStream from, DataOutputStream to) throws IOException {
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
