package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/examples/internal/scratchtest"
	"github.com/queenkv/queenkv/kvpg"
)

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), scratchtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// start serves hello behind a limiter of 5 an hour for each X-User.
func start(t *testing.T, db kvpg.DB, failOpen bool) (url string) {
	t.Helper()
	l := &limiter{
		db: db, ns: rates, limit: 5, window: time.Hour, failOpen: failOpen,
		client: func(r *http.Request) string { return r.Header.Get("X-User") },
	}
	server := httptest.NewServer(l.wrap(http.HandlerFunc(hello)))
	t.Cleanup(server.Close)
	return server.URL
}

type reply struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, url, user string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-User", user)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(body)}
}

// Twenty requests at once over two replicas: five are served, and each of them is told another remainder; the others are told when to
// come back. Another client is served.
func TestLimiter(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	replicas := []string{start(t, pool, false), start(t, pool, false)}
	var mu sync.Mutex
	var all sync.WaitGroup
	served, refused, remaining := 0, 0, map[string]bool{}
	for i := range 20 {
		all.Go(func() {
			response := get(t, replicas[i%2], "ada")
			left, reset, _ := strings.Cut(strings.TrimPrefix(response.header.Get("RateLimit"), `"client";r=`), ";t=")
			seconds, err := strconv.Atoi(reset)
			mu.Lock()
			defer mu.Unlock()
			if policy := response.header.Get("RateLimit-Policy"); policy != `"client";q=5;w=3600` || err != nil || seconds < 3000 || seconds > 3600 {
				t.Errorf("RateLimit-Policy: %s, RateLimit: %s", policy, response.header.Get("RateLimit"))
			}
			switch response.status {
			case http.StatusOK:
				served++
				remaining[left] = true
				if response.body != "hello\n" || response.header.Get("Retry-After") != "" {
					t.Errorf("served: %q, %v", response.body, response.header)
				}
			case http.StatusTooManyRequests:
				refused++
				if after := response.header.Get("Retry-After"); after != reset || left != "0" {
					t.Errorf("refused: Retry-After %s, %s left for %s seconds", after, left, reset)
				}
			default:
				t.Errorf("status %d: %s", response.status, response.body)
			}
		})
	}
	all.Wait()
	if served != 5 || refused != 15 || len(remaining) != 5 {
		t.Errorf("%d served with the remainders %v, %d refused, want 5 of 0 to 4, and 15", served, remaining, refused)
	}
	if response := get(t, replicas[0], "bob"); response.status != http.StatusOK {
		t.Errorf("another client: %d", response.status)
	}

	// The counter is a key like any other: without it a new window opens.
	if v, err := kvpg.Delete(t.Context(), pool, rates, "ada", nil); err != nil || !v.Applied || string(v.Value) != "5" {
		t.Errorf("the counter: %+v, %v", v, err)
	}
	if response := get(t, replicas[1], "ada"); response.status != http.StatusOK {
		t.Errorf("in a new window: %d", response.status)
	}
}

// Without a database a limiter refuses, or lets through, as it was told; a key that is no counter counts as such a failure.
func TestLimiterThatCannotCount(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	if _, err := kvpg.Put(t.Context(), pool, rates, "odd", "no counter", kvpg.Forever(), nil); err != nil {
		t.Fatal(err)
	}
	closed, open := start(t, pool, false), start(t, pool, true)
	check := func(user string) {
		t.Helper()
		if response := get(t, closed, user); response.status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d, want 503", user, response.status)
		}
		if response := get(t, open, user); response.status != http.StatusOK || response.body != "hello\n" || response.header.Get("RateLimit") != "" {
			t.Errorf("%s, fail-open: %d, %v", user, response.status, response.header)
		}
	}
	check("odd")
	pool.Close()
	check("ada")
}

func TestRemoteIP(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.7:5000":                   "192.0.2.7",
		"[2001:db8:1:2:3:4:5:6]:5000":      "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff:ffff:0:1]:443": "2001:db8:1:2::/64",
		"@":                                "@",
	} {
		if got := remoteIP(&http.Request{RemoteAddr: addr}); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// The program itself: it serves, and winds up when it is told to.
func TestServe(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serve(ctx, "127.0.0.1:0", http.HandlerFunc(hello)); err != nil {
		t.Error(err)
	}
}
