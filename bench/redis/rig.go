package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/queenkv/queenkv/bench/internal/effect"
	"github.com/queenkv/queenkv/bench/internal/server"
)

// A rig is both servers, and connections to them.
type rig struct {
	postgres *server.Server
	url      string // of PostgreSQL
	redis    *redisServer
	stores   stores
}

func newRig(ctx context.Context, redisPath string, clients int) (r *rig, err error) {
	r = &rig{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	bin, err := server.Binaries()
	if err != nil {
		return r, err
	}
	if r.postgres, err = server.Start(ctx, bin, true); err != nil {
		return r, err
	}
	if r.url, err = r.postgres.SocketURL(); err != nil {
		return r, err
	}
	if r.redis, err = startRedis(ctx, redisPath, clients); err != nil {
		return r, err
	}
	r.stores.redis = r.redis.client
	if r.stores.pool, err = server.Pool(ctx, r.url, clients); err != nil {
		return r, err
	}
	return r, r.postgres.Exec(ctx, effect.Tables...)
}

func (r *rig) stop() (err error) {
	if r.stores.pool != nil {
		r.stores.pool.Close()
	}
	if r.redis != nil {
		err = r.redis.stop()
	}
	if r.postgres != nil {
		err = errors.Join(err, r.postgres.Stop())
	}
	return err
}

// clear empties both stores.
func (r *rig) clear(ctx context.Context) error {
	return errors.Join(r.stores.redis.FlushAll(ctx).Err(), r.postgres.Exec(ctx, `truncate queen.kv, bench.effect`, `checkpoint`))
}

// about tells the servers' settings.
func (r *rig) about(ctx context.Context) (string, error) {
	settings, err := r.postgres.Settings(ctx)
	if err != nil {
		return "", err
	}
	info, err := r.stores.redis.InfoMap(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	list := []string{"redis_version = " + info["Server"]["redis_version"]}
	for _, name := range []string{"appendonly", "save", "auto-aof-rewrite-percentage", "no-appendfsync-on-rewrite"} {
		value, err := r.stores.redis.ConfigGet(ctx, name).Result()
		if err != nil {
			return "", err
		}
		list = append(list, fmt.Sprintf("%s = %q", name, value[name]))
	}
	return "- PostgreSQL: " + settings + "\n- Redis: " + strings.Join(list, ", ") +
		", appendfsync as the lines say\n- both by Unix sockets, clients and servers on this machine\n", nil
}
