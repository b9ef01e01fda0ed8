// Package idempotency is net/http middleware for the Idempotency-Key header: a client that doesn't know whether its POST was
// done sends it again with the same key, and it is done once.
//
// The handler gets a transaction. What it does there, the key, and the response that it wrote are committed together, by
// [kvpg.OnceTx], and only then is the response sent. A crash at any moment leaves all of it or nothing:
//
//	var requests = kvpg.NewNamespace("requests")
//
//	idempotent := idempotency.New(pool, requests, 24*time.Hour, func(r *http.Request) (string, error) {
//		return auth.Account(r.Context()) // who asks: part of the key
//	}, nil)
//	mux.Handle("POST /payments", idempotent(http.HandlerFunc(createPayment)))
//
//	func createPayment(w http.ResponseWriter, r *http.Request) {
//		tx := idempotency.Tx[pgx.Tx](r.Context())
//		...
//		if _, err := tx.Exec(r.Context(), `insert into payment ...`); err != nil {
//			idempotency.Fail(r.Context(), err) // rolls back; a conflict (40001, 40P01) runs the handler again
//			return
//		}
//		w.WriteHeader(http.StatusCreated)
//		...
//	}
//
// The header is the one of draft-ietf-httpapi-idempotency-key-header-07 (2025), "The Idempotency-Key HTTP Header Field".
//
// # What a client sees
//
//	the first time                          the handler's response
//	again, the same request                 the same status, body and stored headers, and Idempotent-Replayed: true
//	again, while the first one runs         409 with Retry-After, or with Options.Wait the replay once it is done
//	another method, path, query or body     422
//	no key, a key that is no string         400
//	a body above Options.MaxBody            413
//	the outcome of COMMIT is not known      503 with Retry-After: the same request with the same key finds out
//
// These answers are problems of RFC 9457, each with a code ([Problem]); Options.Respond can give them another form.
//
// The header's value is a string of structured fields (RFC 9651), in double quotes: Idempotency-Key: "8e03978e-40d5". Parameters
// behind it, two header lines and an empty string are malformed; Options.BareKeys lets values without quotes in. Keys are told
// apart by their principal (the scope that [New] takes), so that two principals with one key are two requests.
//
// # What is kept
//
// The handler's status decides. 200 to 499 commits, a 4xx too: the answer "insufficient funds" is an outcome, to be told
// again, and what the handler wrote in the transaction is committed with it. (A handler that wants the answer and not its
// writes undoes these in a savepoint.) 5xx and a panic roll everything back, and the next request with the key runs anew; the
// 5xx still reaches the client, and the panic net/http, http.ErrAbortHandler included. Options.Store draws the line elsewhere.
//
// Stored are the status, the body, and the headers that describe the outcome (Options.Headers); a replay has those, byte for
// byte, and nothing else of the first response. Set-Cookie is never stored. Status, headers and body may take 48,000 bytes
// together; Options.DropLargeBody says what else can happen.
//
// # What a handler must know
//
// It must do its work in the transaction: what it does elsewhere, calls to other services too, happens again with every run, and
// stays after a rollback. It runs again when PostgreSQL reports a conflict, with the whole body from its start and an empty
// response. It must neither commit nor roll back, nor use the transaction after it has returned. (When one commits, nobody can
// tell any more what belongs to the key: it is refused with 500, and never run again, until its row is deleted.)
//
// An error of a statement has aborted the transaction, as always in PostgreSQL: give it to [Fail], or have run the statement in a
// savepoint. A handler that answers below 500 all the same gets the client a 500, and OnError the reason.
//
// The response is written to memory until COMMIT. So there is no http.Flusher, http.Hijacker or io.ReaderFrom, and
// http.ResponseController's Flush, Hijack and EnableFullDuplex give http.ErrNotSupported, while its deadlines work.
// Informational responses (1xx) and trailers are dropped. The rest is as in net/http: the first WriteHeader counts (another one
// is reported to OnError), headers set later are not sent, the Content-Type is sniffed when none is set, 204 and 304 refuse a body,
// and so does a Content-Length what is beyond it. A handler that writes less than its Content-Length fails with 500.
//
// When the client goes away, the request's context ends. The statements of the handler then fail, what it did is rolled back, and
// the client's retry runs. (Nothing is finished behind the client's back; a COMMIT that was sent is waited for, though.)
// http.TimeoutHandler belongs around this middleware, and not inside it, where it would answer while the handler still uses the
// transaction.
//
// Each request holds one connection of the database from its start to COMMIT. What needs none, authentication and rate limits
// above all, belongs around the middleware. So does what compresses responses. What reads the body there (ParseForm does) must put
// it back, whole, since the body is part of what a request is: where less is left than Content-Length a request is refused with 500, and
// OnError told. (A body that came without a length and was read in part can't be recognised.) The handler itself may read as much of the
// body as it likes, or nothing: the middleware has read all of it, for the fingerprint, before.
package idempotency
