#!/usr/bin/env bash
# Question: a program has 100 observations in a native histogram, as the OpenTelemetry Collector's prometheus exporter makes
# of an exponential one. A Prometheus that is not told to scrape native histograms reads it. What are its buckets?
# Guess: classic buckets at the borders of the native ones, or none and an error.
# Seen: one, +Inf, and no message: a native histogram exists in the protobuf format only, which Prometheus requests with
# scrape_native_histograms: true. As text its percentiles are no number; count, sum and average are right.
# Since: seen with client_golang 1.23.2; the Collector's exporter 0.165.0 read by Prometheus 3 does the same.
# A user notices: a dashboard with throughput and averages, whose p95 is empty.
set -euo pipefail
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// get returns what a scraper with this Accept header gets.
func get(handler http.Handler, accept string) string {
	request := httptest.NewRequest("GET", "/metrics", nil)
	request.Header.Set("Accept", accept)
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	body, _ := io.ReadAll(response.Result().Body)
	return string(body)
}

func main() {
	registry := prometheus.NewRegistry()
	native := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "seconds", NativeHistogramBucketFactor: 1.1})
	registry.MustRegister(native)
	for i := range 100 {
		native.Observe(0.01 * float64(i+1))
	}
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	text := get(handler, "text/plain;version=0.0.4")
	proto := get(handler, "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "seconds_bucket") {
			fmt.Println(line)
		}
	}
	fmt.Println("longer as protobuf:", len(proto) > 100)
}
GO
cat >go.mod <<'GO'
module local

go 1.23

require github.com/prometheus/client_golang v1.23.2
GO
GOFLAGS="-modcacherw -mod=mod" go run . >result.txt
cat result.txt
printf '%s\n' 'seconds_bucket{le="+Inf"} 100' 'longer as protobuf: true' | cmp -s - result.txt || { echo "CHANGED: not one bucket as text"; exit 1; }
