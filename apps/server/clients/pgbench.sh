#!/usr/bin/env bash
# pgbench: its tables made and filled, and its transactions in each of its modes.
set -u
check() {
    local name=$1
    shift
    local output
    if output=$("$@" 2>&1); then echo "ok $name"; else echo "no $name: $(tail -c 300 <<<"$output" | tr '\n' '|')"; fi
}

check init pgbench -i -q -s 1
for mode in simple extended prepared; do
    check "$mode" pgbench -n -M "$mode" -c 4 -j 2 -t 20
    check "$mode-select" pgbench -n -S -M "$mode" -c 4 -j 2 -t 50
done
balance=$(psql -X -Atc "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history)")
if [[ "$balance" == t ]]; then echo "ok sums"; else echo "no sums: $balance"; fi
