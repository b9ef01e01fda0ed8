package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// order is when rows expire, by the order in which they were inserted.
type order struct{ name, expiresAt string }

// Each expired row has an instant of its own, a second to some days ago. The shuffled order spreads neighbours in the table over all of
// them.
var (
	inOrder  = order{"as inserted", `i`}
	shuffled = order{"shuffled", `(i * 7919::bigint) % n`}
)

// fill is the SELECT of rows number first to last of a kind; values are of about 120 bytes.
const fill = `insert into queen.kv (namespace, key, value, expires_at)
	select 'bench', '%s-' || lpad(i::text, 12, '0'),
		jsonb_build_object('state', 'paid', 'amount', 100 + i, 'currency', 'EUR', 'customer', 'customer-' || i %% 500, 'note', md5(i::text)), %s
	from (select i, %d::bigint as n from generate_series(%d, %d) as i) as r`

// fillLive brings the live rows to a number.
func (b *bench) fillLive(ctx context.Context, rows int) error {
	err := b.server.Exec(ctx,
		`create table if not exists bench.answer (deleted int, next text, done bool)`,
		fmt.Sprintf(fill, "live", `clock_timestamp() + interval '1 day' + i * interval '1 millisecond'`, rows, b.live+1, rows),
		`vacuum (analyze) queen.kv`)
	b.live = rows
	return err
}

// fillExpired puts the expired rows where none are.
func (b *bench) fillExpired(ctx context.Context, o order) error {
	expiresAt := `clock_timestamp() - interval '1 second' - (n - ` + o.expiresAt + `) * interval '100 milliseconds'`
	return b.server.Exec(ctx,
		`delete from queen.kv where expires_at <= clock_timestamp()`, // the rest of a step that was looked at
		`vacuum queen.kv`,
		fmt.Sprintf(fill, "expired", expiresAt, b.sizes.expired, 1, b.sizes.expired),
		`vacuum (analyze) queen.kv`,
		`checkpoint`)
}

func putKey(i int) string { return "put-" + strconv.Itoa(i) }

// fillPuts stores the keys that are put to.
func (b *bench) fillPuts(ctx context.Context) error {
	b.puts = putKeys
	return b.server.Exec(ctx, fmt.Sprintf(`insert into queen.kv (namespace, key, value, expires_at)
		select 'bench', 'put-' || i, '{}', clock_timestamp() + interval '1 day' from generate_series(0, %d) as i`, putKeys-1))
}

// clients are connections over the Unix socket.
func (b *bench) clients(ctx context.Context) (all []*pgx.Conn, err error) {
	url, err := b.server.SocketURL()
	if err != nil {
		return nil, err
	}
	for range putClients {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return all, err
		}
		all = append(all, conn)
	}
	return all, nil
}
