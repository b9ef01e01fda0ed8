package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const good = `{"id":"evt_1","event":"payment.succeeded","body":{"customer":"cus_1","amount_cents":1250}}`

// A malformed line is reported with its number, and what follows is read all the same.
func TestMalformedLines(t *testing.T) {
	with := func(part, instead string) string { return strings.Replace(good, part, instead, 1) }
	cases := []struct{ line, want string }{
		{``, "empty line"},
		{`   `, "empty line"},
		{`{`, "unexpected end of JSON input"},
		{good + ` {}`, "after top-level value"},
		{`[]`, "JSON array where an object must be"},
		{`null`, "id is missing"},
		{with(`"evt_1"`, `""`), "id is missing"},
		{with(`"evt_1"`, `17`), "id has the wrong type: JSON number"},
		{with(`evt_1`, `evt\u0000`), "id holds U+0000"},
		{with(`evt_1`, "evt_\xff"), "not valid UTF-8"},
		{with(`evt_1`, strings.Repeat("e", 201)), "id is longer than 200 bytes"},
		{with(`succeeded`, `exploded`), `event "payment.exploded" is none of`},
		{`{"id":"evt_1","event":"payment.succeeded"}`, "body is missing"},
		{`{"id":"evt_1","event":"payment.succeeded","body":null}`, "customer is missing"},
		{with(`"cus_1"`, `7`), "body: customer has the wrong type: JSON number"},
		{with(`1250`, `12.50`), "body: amount_cents has the wrong type: JSON number 12.50"},
		{with(`1250`, `"1250"`), "body: amount_cents has the wrong type: JSON string"},
		{with(`1250`, `0`), "amount_cents must be from 1 to 100000000000"},
		{with(`1250`, `-1`), "amount_cents must be from 1 to 100000000000"},
		{with(`1250`, `100000000001`), "amount_cents must be from 1 to 100000000000"},
		{with(`evt_1`, strings.Repeat("e", maxLineBytes)), "longer than 1048576 bytes"},
	}
	var file strings.Builder
	for _, c := range cases {
		file.WriteString(c.line + "\n" + good + "\n")
	}
	src := newLineReader(strings.NewReader(file.String()))
	for i, c := range cases {
		bad, err := src.next()
		if err != nil {
			t.Fatal(err)
		}
		if bad.line != 2*i+1 || bad.malformed == nil || !strings.Contains(bad.malformed.Error(), c.want) {
			t.Errorf("line %d of %.100q: %v, want line %d and %q", bad.line, c.line, bad.malformed, 2*i+1, c.want)
		}
		after, err := src.next()
		if err != nil {
			t.Fatal(err)
		}
		if after.line != 2*i+2 || after.malformed != nil || after.delivery.id != "evt_1" {
			t.Errorf("after %.100q: line %d: %v %v", c.line, after.line, after.delivery, after.malformed)
		}
	}
	if _, err := src.next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

func TestDelivery(t *testing.T) {
	refund := `{"id":"evt_2","event":"payment.refunded","body":{"amount_cents":7,"customer":"cus_2","more":[1]}}`
	src := newLineReader(strings.NewReader(good + "\r\n" + refund)) // the last line needs no line break
	for i, want := range []string{
		`evt_1 payment.succeeded cus_1 1250 {"customer":"cus_1","amount_cents":1250}`,
		`evt_2 payment.refunded cus_2 -7 {"amount_cents":7,"customer":"cus_2","more":[1]}`,
	} {
		rec, err := src.next()
		if err != nil {
			t.Fatal(err)
		}
		d := rec.delivery
		if have := fmt.Sprintf("%s %s %s %d %s", d.id, d.event, d.customer, d.cents, d.body); have != want || rec.line != i+1 {
			t.Errorf("line %d: %s\nwant %s", rec.line, have, want)
		}
	}
}

func TestFingerprintTellsEventAndBody(t *testing.T) {
	one, err := parseDelivery([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for line, same := range map[string]bool{
		good: true,
		strings.Replace(good, "evt_1", "evt_2", 1):        true, // the id is the key and not in it
		strings.Replace(good, "succeeded", "refunded", 1): false,
		strings.Replace(good, "1250", "1251", 1):          false,
		strings.Replace(good, ":1250", ": 1250", 1):       false, // byte for byte
	} {
		other, err := parseDelivery([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if (string(one.fingerprint()) == string(other.fingerprint())) != same {
			t.Errorf("%s: the same fingerprint: %v, want %v", line, !same, same)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken")

// A failure to read is no malformed line.
func TestReadFailure(t *testing.T) {
	src := newLineReader(io.MultiReader(strings.NewReader(good+"\n"), brokenReader{}))
	if _, err := src.next(); err != nil {
		t.Fatal(err)
	}
	if _, err := src.next(); !errors.Is(err, errBroken) {
		t.Errorf("%v, want %v", err, errBroken)
	}
}
