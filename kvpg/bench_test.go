package kvpg

import (
	"context"
	"testing"
	"time"
)

// BenchmarkPut is what the driver does in the client around one Put: the database answers at once.
func BenchmarkPut(b *testing.B) {
	db := answering(`[{"op": "put", "key": "order-000000000001", "index": 0, "value": {"note": "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
		"state": "sent", "amount": 201, "currency": "EUR", "customer": "customer-1"}, "applied": true, "version": 9007199254740993,
		"expiresAt": "2026-11-30T20:46:27.433131Z"}]`)
	value := struct {
		State    string `json:"state"`
		Amount   int    `json:"amount"`
		Currency string `json:"currency"`
		Customer string `json:"customer"`
	}{"sent", 201, "EUR", "customer-1"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Put(context.Background(), db, ns, "order-000000000001", value, TTL(time.Hour), nil); err != nil {
			b.Fatal(err)
		}
	}
}
