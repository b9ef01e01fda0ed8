package main

// The middleware.
var middleware = []mutant{
	{
		name: "the principal left out of the key", file: "kvpg/idempotency/identity.go",
		old: `plain := "p:" + strconv.Itoa(len(scope)) + ":" + scope + ":" + key`, new: `plain := "p:" + strconv.Itoa(0) + ":" + key`,
		why:    "two principals with one key and one body are two effects, and neither sees the other's answer",
		killer: killer{"tests/idempotency", "TestTwoPrincipals"},
	},
	{
		name: "the principal's length left out of the key", file: "kvpg/idempotency/identity.go",
		old: `strconv.Itoa(len(scope))`, new: `strconv.Itoa(0)`,
		why:    "no two pairs of principal and key read the same",
		killer: killer{"kvpg/idempotency", "TestStoredKeyTellsPairsApart"},
	},
	{
		name: "a fingerprint without the method", file: "kvpg/idempotency/identity.go",
		old: `hashOf([]byte(r.Method), []byte(target), body)`, new: `hashOf([]byte(target), body)`,
		why:    "another method under the key is a mismatch",
		killer: killer{"tests/idempotency", "TestAnotherRequestUnderTheKey/.*/method"},
	},
	{
		name: "a fingerprint without the query", file: "kvpg/idempotency/identity.go",
		old: `target := r.RequestURI`, new: `target := r.URL.Path`,
		why:    "another query under the key is a mismatch",
		killer: killer{"tests/idempotency", "TestAnotherRequestUnderTheKey/.*/query"},
	},
	{
		name: "parts of a hash without their lengths", file: "kvpg/idempotency/identity.go",
		old: `		h.Write(length[:])
`, new: ``,
		why:    "no two requests read alike",
		killer: killer{"tests/idempotency", "TestAnotherRequestUnderTheKey/.*/shift"},
	},
	{
		name: "the response is sent before COMMIT", file: "kvpg/idempotency/middleware.go",
		old: `stored, err := h.encode(p)
`, new: `stored, err := h.encode(p)
	_ = p.send(w)
`,
		why:    "a client never sees success for what was rolled back",
		killer: killer{"tests/idempotency", "TestResponseAfterCommit"},
	},
	{
		name: "5xx is stored", file: "kvpg/idempotency/options.go",
		old: `status >= 200 && status <= 499`, new: `status >= 200 && status <= 599`,
		why:    "a 5xx rolls back, and its retry runs",
		killer: killer{"tests/idempotency", "TestServerErrorsRollBack"},
	},
	{
		name: "4xx is not stored", file: "kvpg/idempotency/options.go",
		old: `status >= 200 && status <= 499`, new: `status >= 200 && status <= 399`,
		why:    "a 4xx is an outcome, and replayed",
		killer: killer{"tests/idempotency", "TestClientErrorsAreStored"},
	},
	{
		name: "every header is stored", file: "kvpg/idempotency/response.go",
		old: `if names[name] && len(values) > 0 {`, new: `if len(values) > 0 {`,
		why:    "Set-Cookie is never stored, nor what tells of the moment",
		killer: killer{"tests/idempotency", "TestReplayIsByteForByte"},
	},
	{
		name: "a rerun reads on in the body", file: "kvpg/idempotency/middleware.go",
		old: `again.Body = io.NopCloser(bytes.NewReader(body))`, new: `again.Body = r.Body
	r.Body = io.NopCloser(bytes.NewReader(nil))`,
		why:    "each run of the handler has the whole body",
		killer: killer{"tests/idempotency", "TestConflictRunsTheHandlerAgain"},
	},
	{
		name: "Fail does not count once a status is written", file: "kvpg/idempotency/middleware.go",
		old: `case c.failed != nil:`, new: `case c.failed != nil && p.status >= 500:`,
		why:    "after Fail nothing is committed, whatever the handler wrote",
		killer: killer{"tests/idempotency", "TestFail/a_201_written"},
	},
	{
		name: "an unknown COMMIT is a plain failure", file: "kvpg/idempotency/answer.go",
		old: `case errors.Is(err, kvpg.ErrCommitUnknown):`, new: `case err == nil:`,
		why:    "the client is told that the same request with the same key finds out",
		killer: killer{"tests/idempotency", "TestConnectionLostDuringCommit"},
	},
	{
		name: "a handler's Once speaks for the request's key", file: "kvpg/idempotency/middleware.go",
		old: `handlerFailure{c.failed}`, new: `c.failed`,
		why:    "409 and 422 are about the key that the client sent",
		killer: killer{"tests/idempotency", "TestFailWithTheVerdictOfAnotherKey"},
	},
	{
		name: "a body that was read before is an empty one", file: "kvpg/idempotency/middleware.go",
		old: `case wasReadBefore(r, body):`, new: `case len(body) < 0:`,
		why:    "another body under a used key never gets the first one's answer",
		killer: killer{"tests/idempotency", "TestBodyReadBeforeTheMiddleware"},
	},
}
