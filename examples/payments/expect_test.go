package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
)

func line(id, event, customer string, cents int) string {
	return fmt.Sprintf(`{"id":%q,"event":%q,"body":{"customer":%q,"amount_cents":%d}}`+"\n", id, event, customer, cents)
}

func TestExpect(t *testing.T) {
	const paid, refunded = "payment.succeeded", "payment.refunded"
	e, err := expect(newLineReader(strings.NewReader(
		line("a", paid, "x", 500) +
			line("b", refunded, "x", 120) +
			line("a", paid, "x", 500) + // a duplicate
			"oops\n" +
			line("c", paid, "y", 1) +
			strings.Repeat(line("c", paid, "y", 1), 70) + // duplicates
			line("a", paid, "x", 501) + // rivals: another amount,
			line("b", paid, "x", 120) + // event,
			line("b", refunded, "y", 120) + // customer
			line("a", paid, "x", 501)))) // a rival repeated is a rival
	if err != nil {
		t.Fatal(err)
	}
	have := fmt.Sprint(e.Lines, e.Malformed, e.Distinct, e.Duplicates, e.Rivals, e.Cents, e.undecided)
	if want := fmt.Sprint(79, 1, 3, 71, 4, 500-120+1, 0); have != want {
		t.Errorf("%s, want %s", have, want)
	}
	if want := map[string]account{"x": {2, 380}, "y": {1, 1}}; !maps.Equal(e.accounts, want) {
		t.Errorf("accounts %v, want %v", e.accounts, want)
	}
}

// Two bodies under one id decide nothing when both may be in flight at once: less than 64 lines apart.
func TestUndecided(t *testing.T) {
	for apart, want := range map[int]int{63: 64, 64: 0} {
		between := strings.Repeat(line("b", "payment.succeeded", "x", 1), apart-1)
		e, err := expect(newLineReader(strings.NewReader(
			line("a", "payment.succeeded", "x", 1) + between + line("a", "payment.succeeded", "x", 2))))
		if err != nil {
			t.Fatal(err)
		}
		if e.undecided != want {
			t.Errorf("%d lines apart: line %d is undecided, want %d", apart, e.undecided, want)
		}
	}
}

// The generator knows what it put into the sample; the pass over the file must find the same.
func TestExpectTheSample(t *testing.T) {
	truth := readTruth(t)
	f, err := os.Open(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := expect(newLineReader(f))
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(e.accounts, truth.Accounts) {
		t.Errorf("accounts %v, want %v", e.accounts, truth.Accounts)
	}
	e.accounts = nil
	if want := truth.expectation; fmt.Sprint(*e) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", *e, want)
	}
}

const sampleFile = "testdata/deliveries.jsonl"

type truth struct {
	expectation
	Accounts map[string]account `json:"accounts"`
}

func readTruth(t *testing.T) (tr truth) {
	t.Helper()
	text, err := os.ReadFile("testdata/expected.json")
	if err == nil {
		err = json.Unmarshal(text, &tr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
