package main

import (
	"bytes"
	"errors"
	"io"
)

// An account is what one customer has: effects in the ledger or counted, and a balance.
type account struct {
	Effects int64 `json:"effects"`
	Cents   int64 `json:"cents"`
}

// An expectation is what a file says must come out. It is computed by a pass over the file alone, and here a map of ids does
// the work that Once does for the program.
type expectation struct {
	Lines      int   `json:"lines"`
	Malformed  int   `json:"malformed"`
	Distinct   int   `json:"distinct"`   // ids: each must have exactly one effect, that of its first delivery
	Duplicates int   `json:"duplicates"` // deliveries that repeat the first one of their id
	Rivals     int   `json:"rivals"`     // deliveries that have the id of an earlier one, and another event or body
	Cents      int64 `json:"cents"`      // the sum of all balances

	accounts map[string]account // by customer

	// undecided is the line of a rival that comes within the window of its first delivery, 0 when there is none: which of
	// the two wins is then a matter of timing, and the balances don't follow from the file.
	undecided int
}

func expect(src *lineReader) (*expectation, error) {
	type original struct {
		line        int
		fingerprint []byte
	}
	e := &expectation{accounts: map[string]account{}}
	originals := map[string]original{}
	for {
		rec, err := src.next()
		if errors.Is(err, io.EOF) {
			return e, nil
		}
		if err != nil {
			return nil, err
		}
		e.Lines++
		d := rec.delivery
		first, seen := originals[d.id]
		switch {
		case rec.malformed != nil:
			e.Malformed++
		case !seen:
			originals[d.id] = original{rec.line, d.fingerprint()}
			e.Distinct++
			e.Cents += d.cents
			a := e.accounts[d.customer]
			e.accounts[d.customer] = account{a.Effects + 1, a.Cents + d.cents}
		case bytes.Equal(first.fingerprint, d.fingerprint()):
			e.Duplicates++
		default:
			e.Rivals++
			if rec.line < first.line+window && e.undecided == 0 {
				e.undecided = rec.line
			}
		}
	}
}
