"""Readers of what other load test tools write: k6, Gatling, Vegeta, Locust, oha, hey, wrk, wrk2 and ab."""
