package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/queenkv/queenkv/bench/internal/effect"
	"github.com/queenkv/queenkv/kvpg"
)

const retention = time.Hour

var messages = kvpg.NewNamespace("messages")

// stores are the connections of a process.
type stores struct {
	pool  *pgxpool.Pool
	redis *redis.Client
}

// An order is a way to handle a message so that a second delivery finds that it was handled.
type order struct {
	name  string
	title string
	// handle returns nil when the message was handled, now or before. It calls between when one of the two writes was made and
	// the other was not.
	handle func(ctx context.Context, s stores, key string, between func()) error
}

var orders = []order{
	{"marker-first", "marker in Redis, then the effect", markerFirst},
	{"effect-first", "the effect, then the marker in Redis", effectFirst},
	{"once", "`kvpg.OnceTx`: one transaction", together},
}

// markerFirst claims the message, so that no other delivery runs beside it, and then does the work.
func markerFirst(ctx context.Context, s stores, key string, between func()) error {
	claimed, err := s.redis.SetNX(ctx, "message:"+key, "done", retention).Result()
	if err != nil || !claimed {
		return err
	}
	between()
	return alone(ctx, s, key, nil)
}

// effectFirst looks whether the message was handled, does the work, and marks it.
func effectFirst(ctx context.Context, s stores, key string, between func()) error {
	err := s.redis.Get(ctx, "message:"+key).Err()
	if !errors.Is(err, redis.Nil) {
		return err // nil where there is a marker
	}
	if err := alone(ctx, s, key, nil); err != nil {
		return err
	}
	between()
	return s.redis.Set(ctx, "message:"+key, "done", retention).Err()
}

// together writes the marker, then the effect, then the result into the marker, and commits them at once.
func together(ctx context.Context, s stores, key string, between func()) error {
	_, err := kvpg.OnceTx(ctx, s.pool, messages, key, retention, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		if err := effect.Insert(ctx, tx, key); err != nil {
			return nil, err
		}
		between()
		return nil, nil
	}, nil)
	return err
}

// alone is the effect without any marker.
func alone(ctx context.Context, s stores, key string, _ func()) error {
	_, err := effect.Alone(ctx, s.pool, key)
	return err
}
