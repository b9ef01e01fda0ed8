package kvpg

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Result is the outcome of one op of [Apply]. One of its fields is filled, by the kind of op.
type Result struct {
	// Op is get, getMany, getPrefix, put, putIfAbsent, delete, incr or touch.
	Op string

	Lookup  Lookup  // get
	Many    Many    // getMany
	Page    Page    // getPrefix
	Verdict Verdict // put, putIfAbsent, delete, incr, touch
}

// Many is the answer to a getMany op. Each distinct key is in Entries, or in Missing, or, when Truncated, in neither: those
// were cut by the call's read budget, so ask for them again.
type Many struct {
	Entries   []Entry  // in ascending byte order of their keys
	Missing   []string // in input order
	Truncated bool
}

// Apply runs ops in one call and gives one result per op, in the same order. It is the way to touch several keys: within
// a call writes lock their rows in one order, so that two calls can't deadlock, which two single calls in a transaction
// can.
//
// At most 256 ops, 4,096 keys and about 4 MiB of values read; single gets always answer. Ops on one key run in input order
// and see each other. All ops must be of one tenant.
//
// Every op is checked before the first one writes. What the driver can see itself is refused before anything is sent;
// what only PostgreSQL sees aborts the transaction. Either way the *[Error] has the op's Index. A lost precondition is in
// the op's Verdict and undoes nothing, unless the op is Required: then it is a *[PreconditionError] and nothing of the
// call is kept.
//
// With no ops Apply gives nil without asking the database.
func Apply(ctx context.Context, db DB, ops ...Op) ([]Result, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	text, fault := encodeOps(ops)
	if fault != nil {
		return nil, fault
	}
	var answer string
	err := db.QueryRow(ctx, `select queen.kv_apply_v1($1::jsonb, $2::uuid)::text`, text, ops[0].ns.tenantText()).Scan(&answer)
	if err != nil {
		return nil, mapError(err)
	}
	return decodeResults(answer, ops)
}

// applyOne is Apply for a single op.
func applyOne(ctx context.Context, db DB, op Op) (Result, error) {
	results, err := Apply(ctx, db, op)
	if err != nil {
		return Result{}, err
	}
	return results[0], nil
}

func encodeOps(ops []Op) (string, *Error) {
	wire := make([]opWire, len(ops))
	for i, op := range ops {
		fault := op.fault
		if fault == nil && op.wire.Op == "" {
			fault = refuse(ErrBadRequest, "the zero Op: make one with a constructor such as PutOp")
		}
		if fault == nil && op.ns.tenant != ops[0].ns.tenant {
			fault = refuse(ErrBadRequest, "the op is of another tenant than op 0")
		}
		if fault != nil {
			at := *fault
			at.Index = i
			return "", &at
		}
		wire[i] = op.wire
	}
	var text strings.Builder
	err := encodeTo(&text, wire)
	if err != nil { // every part was encoded or checked before
		fault := refuse(ErrBadRequest, "the ops can't be encoded")
		fault.Index, fault.cause = -1, err
		return "", fault
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// marshal is json.Marshal without the escapes that are meant for HTML, which would only make the text longer.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := encodeTo(&b, v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// encodeTo writes what marshal gives, and a line's end.
func encodeTo(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// resultWire is the JSON of a result, rows included: the same names carry the same things.
type resultWire struct {
	Op        string          `json:"op"`
	Key       string          `json:"key"`
	Found     bool            `json:"found"`
	Applied   bool            `json:"applied"`
	Reason    Reason          `json:"reason"`
	Value     json.RawMessage `json:"value"`
	Version   int64           `json:"version"`
	ExpiresAt wireTime        `json:"expiresAt"` // null leaves the zero Time: forever
	UpdatedAt wireTime        `json:"updatedAt"`
	Rows      []resultWire    `json:"rows"`
	Missing   []string        `json:"missing"`
	Truncated bool            `json:"truncated"`
	NextAfter string          `json:"nextAfter"` // null leaves it empty
}

func decodeResults(answer string, ops []Op) ([]Result, error) {
	var wire []resultWire
	if err := json.Unmarshal([]byte(answer), &wire); err != nil {
		return nil, fmt.Errorf("kvpg: reading the answer of kv_apply_v1: %w", err)
	}
	if len(wire) != len(ops) {
		return nil, fmt.Errorf("kvpg: kv_apply_v1 gave %s results for %s ops", strconv.Itoa(len(wire)), strconv.Itoa(len(ops)))
	}
	results := make([]Result, len(wire))
	for i := range wire {
		results[i] = wire[i].result()
	}
	return results, nil
}

func (w *resultWire) result() Result {
	r := Result{Op: w.Op}
	switch w.Op {
	case "get":
		r.Lookup = Lookup{Entry: w.entry(), Found: w.Found}
	case "getMany":
		r.Many = Many{Entries: entries(w.Rows), Missing: w.Missing, Truncated: w.Truncated}
	case "getPrefix":
		r.Page = Page{Entries: entries(w.Rows), Truncated: w.Truncated, NextAfter: w.NextAfter}
	default:
		r.Verdict = Verdict{
			Applied: w.Applied, Reason: w.Reason, Key: w.Key,
			Value: w.Value, Version: Version{w.Version}, ExpiresAt: w.ExpiresAt.UTC(),
		}
		if w.Version == 0 { // no row: null is not a stored JSON null
			r.Verdict.Value = nil
		}
	}
	return r
}

func (w *resultWire) entry() Entry {
	return Entry{
		Key: w.Key, Value: w.Value, Version: Version{w.Version},
		ExpiresAt: w.ExpiresAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
	}
}

func entries(rows []resultWire) []Entry {
	out := make([]Entry, len(rows))
	for i := range rows {
		out[i] = rows[i].entry()
	}
	return out
}

// wireTime is a time as kv_time_v1 writes it. PostgreSQL has years beyond 9999, which encoding/json refuses to read: a row of another
// writer's may say the end of 9999 in New York, which is 10000 in UTC.
type wireTime struct{ time.Time }

// UnmarshalJSON reads such years by the calendar's repeating itself every 400.
func (w *wireTime) UnmarshalJSON(text []byte) error {
	year, rest, _ := strings.Cut(strings.Trim(string(text), `"`), "-")
	n, err := strconv.Atoi(year)
	if err != nil || n <= 9999 {
		return w.Time.UnmarshalJSON(text)
	}
	like := 2000 + n%400
	t, err := time.Parse(time.RFC3339Nano, strconv.Itoa(like)+"-"+rest)
	w.Time = t.AddDate(n-like, 0, 0)
	return err
}
