package idempotency_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/idempotency"
)

var requests = kvpg.NewNamespace("requests")

// principal stands for authentication, which has happened around the middleware.
func principal(r *http.Request) (string, error) { return r.Header.Get("X-User"), nil }

// createPayment books a payment and answers with its number.
func createPayment(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	var order struct{ Cents int64 }
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil || order.Cents <= 0 {
		http.Error(w, "cents must be above zero", http.StatusBadRequest)
		return
	}
	var id int64
	tx := idempotency.Tx[pgx.Tx](ctx)
	err := tx.QueryRow(ctx, `insert into payment (cents) values ($1) returning id`, order.Cents).Scan(&id)
	if err != nil {
		idempotency.Fail(ctx, err)
		return
	}
	w.Header().Set("Location", fmt.Sprint("/payments/", id))
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "payment %d of %d cents", id, order.Cents)
}

// One payment, though its request comes twice; another user's with the same key is another one; and the key is not good for
// another amount.
func ExampleNew() {
	pool, drop, err := openDatabase(`create table payment (id bigint generated always as identity, cents bigint not null)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer drop()

	idempotent := idempotency.New(pool, requests, 24*time.Hour, principal, nil)
	mux := http.NewServeMux()
	mux.Handle("POST /payments", idempotent(http.HandlerFunc(createPayment)))
	server := httptest.NewServer(mux)
	defer server.Close()

	post := func(user, key, body string) {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL+"/payments", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Header.Set("X-User", user)
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		fmt.Println(response.StatusCode, response.Header.Get("Location"), response.Header.Get("Idempotent-Replayed"), err)
		fmt.Println("   ", strings.TrimSpace(string(text)))
	}
	post("alice", `"8e03978e"`, `{"cents": 500}`)
	post("alice", `"8e03978e"`, `{"cents": 500}`)
	post("bob", `"8e03978e"`, `{"cents": 500}`)
	post("alice", `"8e03978e"`, `{"cents": 900}`)
	post("alice", ``, `{"cents": 500}`)
	// Output:
	// 201 /payments/1  <nil>
	//     payment 1 of 500 cents
	// 201 /payments/1 true <nil>
	//     payment 1 of 500 cents
	// 201 /payments/2  <nil>
	//     payment 2 of 500 cents
	// 422   <nil>
	//     {"title":"Unprocessable Entity","status":422,"detail":"This Idempotency-Key came before, with another method, path, query or body.","code":"idempotency-key-reused"}
	// 400   <nil>
	//     {"title":"Bad Request","status":400,"detail":"This operation needs an Idempotency-Key header.","code":"idempotency-key-missing"}
}
