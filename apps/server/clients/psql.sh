#!/usr/bin/env bash
# psql: its own commands, variables, COPY, errors. Prints a line for each check: `ok NAME` or `no NAME: why`.
set -u
run() { psql -X -q -v ON_ERROR_STOP=1 -At "$@" 2>&1; }

check() { # name, what is expected, what was found
    if [[ "$2" == "$3" ]]; then echo "ok $1"; else echo "no $1: $(head -c 300 <<<"$3" | tr '\n' '|')"; fi
}

contains() {
    if [[ "$3" == *"$2"* ]]; then echo "ok $1"; else echo "no $1: $(head -c 300 <<<"$3" | tr '\n' '|')"; fi
}

run -c "DROP TABLE IF EXISTS psql_t" >/dev/null
check create "" "$(run -c "CREATE TABLE psql_t (a INT PRIMARY KEY, b TEXT, c NUMERIC(10,2))")"
check copy-in "" "$(printf '1\tone\t1.50\n2\t\\N\t2.25\n' | run -c "\\copy psql_t FROM STDIN")"
check copy-out $'1,one,1.50\n2,,2.25' "$(run -c "\\copy psql_t TO STDOUT CSV")"
check rows $'1|one|1.50\n2||2.25' "$(run -c "SELECT * FROM psql_t ORDER BY a")"
contains describe "Indexes:" "$(psql -X -c '\d psql_t' 2>&1)"
for command in '\dt' '\dt+' '\dv' '\di' '\ds' '\dn+' '\l' '\du' '\df' '\dT' '\dp' '\conninfo' '\encoding' '\dconfig' '\dd'; do
    output=$(psql -X -v ON_ERROR_STOP=1 -c "$command" 2>&1)
    if [[ $? == 0 && "$output" != *ERROR* ]]; then echo "ok $command"; else echo "no $command: $(head -c 300 <<<"$output" | tr '\n' '|')"; fi
done
contains error-place "^" "$(psql -X -c 'SELECT nosuch FROM psql_t' 2>&1)"
check transaction $'0' "$(run -c 'BEGIN' -c "INSERT INTO psql_t VALUES (3, 'x', 0)" -c 'ROLLBACK' -c 'SELECT count(*) FROM psql_t WHERE a = 3')"
check variables "2" "$(run -v n=2 -c "SELECT 1" >/dev/null; printf 'SELECT :n;' | run -v n=2)"
check fetch-count $'5000' "$(printf '\\set FETCH_COUNT 100\nSELECT n FROM generate_series(1, 5000) AS g(n);' | run | wc -l | tr -d ' ')"
check gset "7" "$(printf 'SELECT 7 AS n \\gset\nSELECT :n;' | run)"
check crosstab "|x|y" "$(printf "SELECT * FROM (VALUES ('a','x',1),('a','y',2)) AS v(r,c,n) \\\\crosstabview" | run | head -1 | sed 's/^r//')"
check bind "42" "$(printf 'SELECT $1::int + $2::int \\bind 40 2 \\g' | run 2>&1 | tail -1)"
check notice "NOTICE" "$(run -c 'DROP TABLE IF EXISTS psql_none' | grep -o '^NOTICE')"
run -c "DROP TABLE psql_t" >/dev/null
