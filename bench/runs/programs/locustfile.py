"""The load of `scripts/bench tools` by Locust, with its faster client: requests without pause to --host."""

from locust import FastHttpUser, task  # type: ignore[import-not-found]


class Reader(FastHttpUser):  # type: ignore[misc]
    """A user who reads one address."""

    @task  # type: ignore[untyped-decorator]
    def read(self) -> None:
        """Send one request."""
        self.client.get("/", name="requests")
