import java.rmi.Remote;
import java.rmi.RemoteException;
import java.util.List;
import java.util.Map;

/**
 * The interface of a generator in addition to JMeter's own engine, in the same registry and with the same keys.
 *
 * <p>A harness claims a generator before anything starts, and renews the claim every second. A claim that is not renewed
 * lapses after {@link #LAPSE_MS}, and its load is stopped. So no generator produces load for a harness that was killed,
 * and two harnesses never use the same generator.
 */
public interface Generator extends Remote {
    /** The name in the registry. */
    String NAME = "HarnessGenerator";

    /** Changes with every change of this interface: checkouts with different versions must not work together. */
    String PROTOCOL = "1";

    long LAPSE_MS = 15_000;

    /** Returns the facts that must be the same on all machines, and the process id; see {@link Facts}. */
    Map<String, String> facts() throws RemoteException;

    /** Claims the generator for {@code who}; IllegalStateException when it is claimed already. */
    void claim(String claim, String who) throws RemoteException;

    /** Renews the claim; returns the generator's clock in ms since 1970. */
    long renew(String claim) throws RemoteException;

    /**
     * Empties the plan's folder, writes the files into it and sets JMeter's properties; an empty value removes a
     * property. IllegalStateException when the process lacks one of the environment variables.
     */
    void begin(String claim, Map<String, String> properties, List<String> variables, Map<String, byte[]> files)
            throws RemoteException;

    /** Stops a load that still runs; returns whether there was one. */
    boolean stop(String claim) throws RemoteException;

    /** Returns JMeter's log since {@link #begin} and the files that the plan saved, by name. */
    Map<String, byte[]> left(String claim) throws RemoteException;

    /** Stops a load that still runs, and releases the generator. */
    void release(String claim) throws RemoteException;
}
