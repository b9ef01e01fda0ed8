package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/queenkv/queenkv/kvpg"
	"github.com/queenkv/queenkv/kvpg/idempotency"
)

// requests holds the idempotency keys, and what was answered.
var requests = kvpg.NewNamespace("httpapi.requests")

// retention is how long a client may go on retrying. It belongs into the API's documentation.
const retention = 24 * time.Hour

func newServer(pool *pgxpool.Pool) http.Handler {
	idempotent := idempotency.New(pool, requests, retention, principal, &idempotency.Options{
		MaxBody:  4096,
		BareKeys: true, // most clients of such APIs send a UUID without quotes
	})
	mux := http.NewServeMux()
	mux.Handle("POST /payments", idempotent(http.HandlerFunc(createPayment)))
	mux.HandleFunc("GET /account", func(w http.ResponseWriter, r *http.Request) { showAccount(pool, w, r) })
	return authenticate(pool, mux)
}

type order struct {
	To    string `json:"to"`
	Cents int64  `json:"cents"`
}

type receipt struct {
	ID      int64  `json:"id"`
	From    string `json:"from"`
	To      string `json:"to"`
	Cents   int64  `json:"cents"`
	Balance int64  `json:"balance"`
}

var (
	errNoFunds   = errors.New("the balance is too low")
	errNoAccount = errors.New("there is no such account to pay to")
)

// createPayment answers 201 with a receipt. Whatever it answers below 500 is remembered under the request's key.
func createPayment(w http.ResponseWriter, r *http.Request) {
	from, err := principal(r)
	if err != nil {
		idempotency.Fail(r.Context(), err)
		return
	}
	var o order
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil || o.Cents <= 0 || o.To == from {
		http.Error(w, `{"to": another account, "cents": a number above zero} is needed`, http.StatusBadRequest)
		return
	}
	paid, err := pay(r.Context(), idempotency.Tx[pgx.Tx](r.Context()), from, o)
	switch {
	case errors.Is(err, errNoFunds):
		http.Error(w, err.Error(), http.StatusPaymentRequired)
	case errors.Is(err, errNoAccount):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case err != nil: // rolls back; after a conflict with another transaction it runs again
		idempotency.Fail(r.Context(), err)
	default:
		writeJSON(w, http.StatusCreated, paid)
	}
}

// pay moves the money, in the transaction that the idempotency key is committed with. It asks before it writes: what it refuses
// is committed too, as an answer without a payment. Both accounts are locked in one order, or payments that cross each other
// would deadlock; they would be run again, but only after PostgreSQL's deadlock_timeout.
func pay(ctx context.Context, tx pgx.Tx, from string, o order) (receipt, error) {
	paid := receipt{From: from, To: o.To, Cents: o.Cents}
	rows, err := tx.Query(ctx, `select id, cents from account where id in ($1, $2) order by id for no key update`, from, o.To)
	if err != nil {
		return paid, err
	}
	balances := map[string]int64{}
	var id string
	var cents int64
	_, err = pgx.ForEachRow(rows, []any{&id, &cents}, func() error {
		balances[id] = cents
		return nil
	})
	if err != nil {
		return paid, err
	}
	if _, known := balances[o.To]; !known {
		return paid, errNoAccount
	}
	if balances[from] < o.Cents {
		return paid, errNoFunds
	}
	paid.Balance = balances[from] - o.Cents
	_, err = tx.Exec(ctx, `update account set cents = cents + case when id = $1 then -$3::bigint else $3::bigint end where id in ($1, $2)`,
		from, o.To, o.Cents)
	if err != nil {
		return paid, err
	}
	err = tx.QueryRow(ctx, `insert into payment (payer, payee, cents) values ($1, $2, $3) returning id`,
		from, o.To, o.Cents).Scan(&paid.ID)
	return paid, err
}

// showAccount is a GET: it needs no key, and gets no transaction.
func showAccount(pool *pgxpool.Pool, w http.ResponseWriter, r *http.Request) {
	account, err := principal(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var state struct {
		Account  string `json:"account"`
		Cents    int64  `json:"cents"`
		Payments int64  `json:"payments"`
	}
	err = pool.QueryRow(r.Context(), `select id, cents, (select count(*) from payment where payer = account.id) from account where id = $1`,
		account).Scan(&state.Account, &state.Cents, &state.Payments)
	if err != nil {
		log.Printf("httpapi: showing an account: %v", err)
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, http.StatusOK, state)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Printf("httpapi: writing a response: %v", err)
	}
}
