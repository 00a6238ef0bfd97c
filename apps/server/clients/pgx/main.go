// pgx: types, prepared statements, batches, COPY, transactions, errors, cancelling.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func same(found, wanted any) error {
	if !reflect.DeepEqual(found, wanted) {
		return fmt.Errorf("%v and not %v", found, wanted)
	}
	return nil
}

func check(name string, work func(context.Context, *pgx.Conn) error) {
	background := context.Background()
	connection, err := pgx.Connect(background, os.Getenv("GINGHAM_DSN"))
	if err == nil {
		err = work(background, connection)
		connection.Close(background)
	}
	if err != nil {
		fmt.Printf("no %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "|"))
	} else {
		fmt.Println("ok", name)
	}
}

func code(err error) string {
	var own *pgconn.PgError
	if errors.As(err, &own) {
		return own.Code
	}
	return fmt.Sprint(err)
}

func main() {
	check("types", func(background context.Context, connection *pgx.Conn) error {
		var number int64
		var text string
		var float float64
		var truth bool
		var list []int32
		var moment time.Time
		when := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC)
		err := connection.QueryRow(background,
			"SELECT $1::bigint, $2::text, $3::double precision, $4::bool, $5::int[], $6::timestamptz",
			int64(-7), "häuser", 1.5, true, []int32{1, 2, 3}, when,
		).Scan(&number, &text, &float, &truth, &list, &moment)
		if err != nil {
			return err
		}
		return same([]any{number, text, float, truth, list, moment.UTC()}, []any{int64(-7), "häuser", 1.5, true, []int32{1, 2, 3}, when})
	})
	check("batches", func(background context.Context, connection *pgx.Conn) error {
		if _, err := connection.Exec(background, "DROP TABLE IF EXISTS pgx_t; CREATE TABLE pgx_t (a INT PRIMARY KEY, b TEXT)"); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		for n := 0; n < 200; n++ {
			batch.Queue("INSERT INTO pgx_t VALUES ($1, $2)", n, fmt.Sprint("row ", n))
		}
		if err := connection.SendBatch(background, batch).Close(); err != nil {
			return err
		}
		failing := &pgx.Batch{}
		failing.Queue("INSERT INTO pgx_t VALUES (1000, 'x')")
		failing.Queue("INSERT INTO pgx_t VALUES (1, 'x')")
		if err := same(code(connection.SendBatch(background, failing).Close()), "23505"); err != nil {
			return err
		}
		var count int64
		if err := connection.QueryRow(background, "SELECT count(*) FROM pgx_t").Scan(&count); err != nil {
			return err
		}
		return same(count, int64(200))
	})
	check("prepared statements", func(background context.Context, connection *pgx.Conn) error {
		for n := 0; n < 100; n++ {
			var text string
			if err := connection.QueryRow(background, "SELECT b FROM pgx_t WHERE a = $1", n).Scan(&text); err != nil {
				return err
			}
			if err := same(text, fmt.Sprint("row ", n)); err != nil {
				return err
			}
		}
		return nil
	})
	check("COPY", func(background context.Context, connection *pgx.Conn) error {
		rows := [][]any{{int32(2000), "a"}, {int32(2001), nil}}
		count, err := connection.CopyFrom(background, pgx.Identifier{"pgx_t"}, []string{"a", "b"}, pgx.CopyFromRows(rows))
		if err != nil {
			return err
		}
		return same(count, int64(2))
	})
	check("transactions", func(background context.Context, connection *pgx.Conn) error {
		err := pgx.BeginFunc(background, connection, func(transaction pgx.Tx) error {
			if _, err := transaction.Exec(background, "INSERT INTO pgx_t VALUES (3000, 'x')"); err != nil {
				return err
			}
			inner := pgx.BeginFunc(background, transaction, func(savepoint pgx.Tx) error {
				_, err := savepoint.Exec(background, "INSERT INTO pgx_t VALUES (3000, 'x')")
				return err
			})
			return same(code(inner), "23505")
		})
		if err != nil {
			return err
		}
		var count int64
		if err := connection.QueryRow(background, "SELECT count(*) FROM pgx_t WHERE a = 3000").Scan(&count); err != nil {
			return err
		}
		return same(count, int64(1))
	})
	check("errors", func(background context.Context, connection *pgx.Conn) error {
		_, err := connection.Exec(background, "SELECT nosuch")
		return same(code(err), "42703")
	})
	check("cancelling", func(background context.Context, connection *pgx.Conn) error {
		short, cancel := context.WithTimeout(background, 500*time.Millisecond)
		defer cancel()
		_, err := connection.Exec(short, "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 100000) b")
		if err == nil {
			return errors.New("it ended")
		}
		return nil
	})
}
