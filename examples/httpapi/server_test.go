package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/examples/internal/scratchtest"
)

// serve starts the service over a database of the test's own.
func serve(t *testing.T) (*httptest.Server, *pgxpool.Pool) {
	t.Helper()
	pool, err := open(t.Context(), scratchtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	server := httptest.NewUnstartedServer(newServer(pool))
	server.Config.ErrorLog = log.New(t.Output(), "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return server, pool
}

// send gives status and body.
func send(ctx context.Context, url, method, user, key, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if user != "" {
		r.Header.Set("Authorization", "Bearer token-of-"+user)
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

var payLine = regexp.MustCompile(`^    \$ pay (\S+) (\S+) '([^']*)'$`)

// What the README shows is what the service answers.
func TestREADME(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, tried := strings.Split(string(text), "\n"), 0
	for i, line := range lines {
		said := payLine.FindStringSubmatch(line)
		if said == nil {
			continue
		}
		tried++
		status, body, err := send(t.Context(), server.URL+"/payments", http.MethodPost, said[1], said[2], said[3])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(body, "\n") {
			body += "\n"
		}
		have := body + fmt.Sprint(status)
		want := strings.TrimSpace(lines[i+1]) + "\n" + strings.TrimSpace(lines[i+2])
		if have != want {
			t.Errorf("README.md:%d: got\n%s\nwant\n%s", i+1, have, want)
		}
	}
	if tried == 0 {
		t.Fatal("the README shows no payment")
	}
}

// Clients that pay each other at once, lose patience, and send everything twice: every order is paid once.
func TestImpatientClients(t *testing.T) {
	t.Parallel()
	const orders = 20
	server, pool := serve(t)
	var all sync.WaitGroup
	for n := range orders {
		payer, payee := "alice", "bob"
		if n%2 == 1 { // the other way: their locks cross
			payer, payee = payee, payer
		}
		key, body := fmt.Sprintf("order-%d", n/2), fmt.Sprintf(`{"to": %q, "cents": %d}`, payee, n+1) // a key for two principals
		for range 2 {
			all.Go(func() { insist(t, server.URL, payer, key, body) })
		}
	}
	all.Wait()
	var payments, distinct, alice, bob int
	err := pool.QueryRow(t.Context(), `select count(*), count(distinct cents),
		(select cents from account where id = 'alice'), (select cents from account where id = 'bob') from payment`).
		Scan(&payments, &distinct, &alice, &bob)
	if err != nil || payments != orders || distinct != orders {
		t.Errorf("%d payments of %d orders, want %d, %v", payments, distinct, orders, err)
	}
	// Alice pays 1, 3, 5 ... and bob 2, 4, 6 ...: each of his is one cent more.
	if alice != 10000+orders/2 || bob != 10000-orders/2 {
		t.Errorf("alice has %d cents and bob %d", alice, bob)
	}
}

// insist sends a payment until it is told that it was done. The first tries are given up early, wherever that meets the service.
func insist(t *testing.T, url, user, key, body string) {
	deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	patience := 4 * time.Millisecond
	for deadline.Err() == nil {
		ctx, cancel := context.WithTimeout(deadline, patience)
		status, answer, err := send(ctx, url+"/payments", http.MethodPost, user, key, body)
		cancel()
		patience *= 2
		switch {
		case err != nil: // it may have been done or not
		case status == http.StatusCreated:
			var r receipt
			if err := json.Unmarshal([]byte(answer), &r); err != nil || r.From != user {
				t.Errorf("%s, %s: got %s, %v", user, key, answer, err)
			}
			return
		case status == http.StatusConflict, status == http.StatusServiceUnavailable: // after a while again
			select {
			case <-time.After(patience):
			case <-deadline.Done():
			}
		default:
			t.Errorf("%s, %s: got %d %s", user, key, status, answer)
			return
		}
	}
	t.Errorf("%s, %s: not done in a minute", user, key)
}

func TestWhoAsks(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	for user, want := range map[string]int{"": 401, "mallory": 401, "carol": 200} {
		status, body, err := send(t.Context(), server.URL+"/account", http.MethodGet, user, "", "")
		if status != want || err != nil {
			t.Errorf("%q: got %d %s, %v", user, status, body, err)
		}
	}
}
