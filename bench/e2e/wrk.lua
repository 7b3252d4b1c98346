-- SPDX-License-Identifier: BSD-2-Clause
-- What wrk tells in the end, for bench/e2e_bench.sh: requests, microseconds, the 99th percentile of
-- latency in microseconds, errors.
function done(summary, latency)
	local e = summary.errors
	print(string.format("wrk %d %d %d %d", summary.requests, summary.duration,
		latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
