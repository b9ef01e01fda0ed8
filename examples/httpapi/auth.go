package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type accountKey struct{}

// authenticate finds the account that a bearer token belongs to, and turns away everybody else. It stands around the idempotency
// middleware: a 401 must not be stored under a key.
func authenticate(pool *pgxpool.Pool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		var account string
		err := pgx.ErrNoRows
		if ok {
			err = pool.QueryRow(r.Context(), `select id from account where token = $1`, token).Scan(&account)
		}
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
		case err != nil:
			log.Printf("httpapi: authenticating: %v", err)
			http.Error(w, "try again", http.StatusServiceUnavailable)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), accountKey{}, account)))
		}
	})
}

// principal is the account that authenticate found: the scope of its idempotency keys.
func principal(r *http.Request) (string, error) {
	account, ok := r.Context().Value(accountKey{}).(string)
	if !ok {
		return "", errors.New("the request was not authenticated")
	}
	return account, nil
}
