package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A delivery is one webhook delivery, a line such as
//
//	{"id": "evt_000017", "event": "payment.succeeded", "body": {"customer": "cus_09", "amount_cents": 1250}}
//
// The sender repeats the id, the event and the body when it is not sure that a delivery came through.
type delivery struct {
	id       string
	event    string
	body     []byte // byte for byte as it came
	customer string
	cents    int64 // what it adds to the customer's balance: below zero for a refund
}

const (
	maxNameBytes   = 200
	maxAmountCents = 100_000_000_000 // a thousand million in a currency of hundredths
)

// signOf knows the events. Money is counted in whole cents, so that sums are exact.
var signOf = map[string]int64{"payment.succeeded": +1, "payment.refunded": -1}

// parseDelivery reads a line and says what is wrong with one that can't be booked.
func parseDelivery(line []byte) (delivery, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return delivery{}, errors.New("empty line")
	}
	if !utf8.Valid(line) { // encoding/json would change the bytes: two ids could become one
		return delivery{}, errors.New("not valid UTF-8")
	}
	var envelope struct {
		ID    string          `json:"id"`
		Event string          `json:"event"`
		Body  json.RawMessage `json:"body"`
	}
	if err := unmarshal(line, &envelope); err != nil {
		return delivery{}, err
	}
	if err := checkName("id", envelope.ID); err != nil {
		return delivery{}, err
	}
	sign, known := signOf[envelope.Event]
	if !known {
		return delivery{}, fmt.Errorf("event %.40q is none of payment.succeeded and payment.refunded", envelope.Event)
	}
	if envelope.Body == nil {
		return delivery{}, errors.New("body is missing")
	}
	var body struct {
		Customer string `json:"customer"`
		Cents    int64  `json:"amount_cents"`
	}
	if err := unmarshal(envelope.Body, &body); err != nil {
		return delivery{}, fmt.Errorf("body: %w", err)
	}
	if err := checkName("customer", body.Customer); err != nil {
		return delivery{}, err
	}
	if body.Cents < 1 || body.Cents > maxAmountCents {
		return delivery{}, fmt.Errorf("amount_cents must be from 1 to %d", int64(maxAmountCents))
	}
	return delivery{envelope.ID, envelope.Event, envelope.Body, body.Customer, sign * body.Cents}, nil
}

// unmarshal tells a wrong type in the words of the file instead of Go's.
func unmarshal(data []byte, to any) error {
	err := json.Unmarshal(data, to)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return fmt.Errorf("JSON %s where an object must be", wrong.Value)
		}
		return fmt.Errorf("%s has the wrong type: JSON %s", wrong.Field, wrong.Value)
	}
	return err
}

// checkName admits what a text column and a key can hold.
func checkName(field, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is missing", field)
	case len(name) > maxNameBytes:
		return fmt.Errorf("%s is longer than %d bytes", field, maxNameBytes)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("%s holds U+0000", field)
	}
	return nil
}

// fingerprint tells this delivery from another one that came with the same id. No event name holds a line break, so the two
// parts can't be mixed up.
func (d *delivery) fingerprint() []byte {
	return append([]byte(d.event+"\n"), d.body...)
}
