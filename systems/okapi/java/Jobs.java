import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder;
import com.github.tomakehurst.wiremock.extension.ResponseDefinitionTransformerV2;
import com.github.tomakehurst.wiremock.http.RequestMethod;
import com.github.tomakehurst.wiremock.http.ResponseDefinition;
import com.github.tomakehurst.wiremock.stubbing.ServeEvent;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A WireMock extension with the jobs of FOLIO: data imports (change-manager) and bulk edits (bulk-operations).
 *
 * A job has the number of records in {@code totalRecords} of its request, which is the stand-in's own; without it the job
 * fails. Its workers occupy a slot of ParallelRequests for each record, so that a job and the users of the load wait for
 * each other, as they do for FOLIO's modules and database.
 */
public final class Jobs implements ResponseDefinitionTransformerV2 {
    private static final Pattern RECORDS = Pattern.compile("\"totalRecords\"\\s*:\\s*([1-9][0-9]{0,6})\\b");
    private static final double RECORD_MS = Double.parseDouble(System.getProperty("job.record.ms"));
    private static final int WORKERS = Integer.getInteger("job.workers");
    private final Map<String, Job> jobs = new ConcurrentHashMap<>();

    @Override
    public String getName() {
        return "jobs";
    }

    @Override
    public boolean applyGlobally() {
        return false;
    }

    @Override
    public ResponseDefinition transform(ServeEvent event) {
        String path = event.getRequest().getUrl().replaceFirst("[?].*", "");
        boolean isImport = path.startsWith("/change-manager/");
        if (event.getRequest().getMethod().equals(RequestMethod.POST)) {
            Matcher found = RECORDS.matcher(event.getRequest().getBodyAsString());
            Job job = new Job(found.find() ? Integer.parseInt(found.group(1)) : 0);
            jobs.put(job.id, job);
            job.start();
            return answer(event, isImport ? 201 : 200, isImport ? "{\"parentJobExecutionId\": \"" + job.id + "\", \"jobExecutions\": [" + job.ofImport() + "]}" : job.ofBulkEdit());
        }
        Job job = jobs.get(path.substring(path.lastIndexOf('/') + 1));
        if (job == null) {
            return answer(event, 404, "{\"errors\": [{\"message\": \"no such job\"}]}");
        }
        return answer(event, 200, isImport ? job.ofImport() : job.ofBulkEdit());
    }

    /** Returns an answer after the delay of its stub. */
    private static ResponseDefinition answer(ServeEvent event, int status, String body) {
        return ResponseDefinitionBuilder.like(event.getResponseDefinition())
                .withStatus(status)
                .withHeader("Content-Type", "application/json")
                .withBody(body)
                .build();
    }

    /** The records of a job, of which each worker takes the next one. */
    private static final class Job {
        final String id = UUID.randomUUID().toString();
        private final int records;
        private final AtomicInteger next = new AtomicInteger();
        private final AtomicInteger done = new AtomicInteger();

        Job(int records) {
            this.records = records;
        }

        void start() {
            for (int worker = 0; worker < WORKERS; worker++) {
                Thread thread = new Thread(this::work, "job " + id);
                thread.setDaemon(true);
                thread.start();
            }
        }

        private void work() {
            while (next.getAndIncrement() < records) {
                ParallelRequests.SLOTS.acquireUninterruptibly();
                try {
                    Thread.sleep((long) RECORD_MS, (int) (RECORD_MS % 1 * 1_000_000));
                } catch (InterruptedException error) {
                    return;
                } finally {
                    ParallelRequests.SLOTS.release();
                }
                done.incrementAndGet();
            }
        }

        String ofImport() {
            boolean isDone = done.get() >= records;
            String status = records == 0 ? "ERROR" : isDone ? "COMMITTED" : "PARSING_IN_PROGRESS";
            return String.format(
                    "{\"id\": \"%s\", \"status\": \"%s\", \"uiStatus\": \"%s\", \"progress\": {\"current\": %d, \"total\": %d}}",
                    id, status, isDone ? "RUNNING_COMPLETE" : "RUNNING", done.get(), records);
        }

        String ofBulkEdit() {
            String status = records == 0 ? "FAILED" : done.get() >= records ? "COMPLETED" : "APPLY_CHANGES";
            return String.format(
                    "{\"id\": \"%s\", \"status\": \"%s\", \"totalNumOfRecords\": %d, \"processedNumOfRecords\": %d}",
                    id, status, records, done.get());
        }
    }
}
