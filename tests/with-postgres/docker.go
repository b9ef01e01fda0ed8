package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tclog "github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

const (
	// answerLimit is how long a Docker daemon may take to say that it is there.
	answerLimit = 5 * time.Second
	// imageLimit bounds pulling the image and starting the container.
	imageLimit = 5 * time.Minute
)

// fromDocker starts a container. Every error means: take another way.
func (r request) fromDocker(ctx context.Context) (*database, error) {
	tclog.SetDefault(tclog.NewNoopLogger()) // we say ourselves what was taken
	host, err := daemonHost(ctx)
	if err != nil {
		return nil, fmt.Errorf("no daemon answers: %w", err)
	}
	say("a Docker daemon answers; starting %s", r.image)
	ctx, cancel := context.WithTimeout(ctx, imageLimit)
	defer cancel()
	settings := map[string]string{"max_connections": "300"}
	if !r.durable {
		settings["fsync"], settings["full_page_writes"] = "off", "off"
	}
	maps.Copy(settings, r.settings)
	cmd := []string{"postgres"}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		cmd = append(cmd, "-c", name+"="+settings[name])
	}
	pg, err := postgres.Run(ctx, r.image,
		postgres.WithDatabase("postgres"), postgres.WithUsername("postgres"), postgres.WithPassword(rand.Text()),
		testcontainers.WithEnv(map[string]string{"POSTGRES_INITDB_ARGS": "--encoding=UTF8 --locale=C"}),
		testcontainers.WithCmd(cmd...), testcontainers.WithHostConfigModifier(loopback(host)),
		postgres.BasicWaitStrategies())
	stop := func() error {
		if pg == nil {
			return nil
		}
		return testcontainers.TerminateContainer(pg)
	}
	if err != nil {
		_ = stop() // what there is of it
		return nil, fmt.Errorf("the container doesn't start (the image can't be had, or ryuk's, which "+
			"TESTCONTAINERS_RYUK_DISABLED=true does without): %w", err)
	}
	url, err := pg.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		_ = stop()
		return nil, err
	}
	say("using a container of %s", r.image)
	return &database{url: url, close: stop}, nil
}

// daemonHost asks the daemon whether it is there, and under what name its ports are reached.
func daemonHost(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	provider, err := testcontainers.NewDockerProvider()
	if err != nil {
		return "", err
	}
	defer func() { _ = provider.Close() }()
	if err := provider.Health(ctx); err != nil {
		return "", err
	}
	return provider.DaemonHost(ctx)
}

// loopback publishes the port on 127.0.0.1 alone where that is where we reach the daemon's
// ports; a remote daemon, or one outside our own container, keeps Docker's default.
func loopback(host string) func(*container.HostConfig) {
	return func(c *container.HostConfig) {
		if host == "localhost" || host == "127.0.0.1" {
			c.PortBindings = network.PortMap{
				network.MustParsePort("5432/tcp"): {{HostIP: netip.MustParseAddr("127.0.0.1")}},
			}
		}
	}
}
