package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// What is in the sample. Of 3,600 deliveries a third are duplicates; rivals and malformed lines come on top.
const (
	originals     = 2400
	nearDuplicate = 900 // right after the original or a line or two later, so that eight workers have both in flight
	farDuplicate  = 300 // long after it
	rivals        = 36  // the id of an earlier delivery with another event or amount
	customers     = 40
)

// Places are in thousandths of an original, so that there is room between two of them. A rival stays further behind its
// original than the program has lines in flight (64): the file's order then says which of the two counts.
const (
	step        = 1000
	nearAtLeast = 1
	nearWidth   = step
	farAtLeast  = 100 * step
	farWidth    = 1500 * step
)

type line struct {
	place int
	text  string
}

type account struct {
	Effects int   `json:"effects"`
	Cents   int64 `json:"cents"`
}

type expected struct {
	Lines      int                `json:"lines"`
	Malformed  int                `json:"malformed"`
	Distinct   int                `json:"distinct"`
	Duplicates int                `json:"duplicates"`
	Rivals     int                `json:"rivals"`
	Cents      int64              `json:"cents"`
	Accounts   map[string]account `json:"accounts"`
}

type sample struct {
	lines    []line
	expected expected
}

type delivery struct {
	id, event, customer string
	cents               int
}

func (d delivery) text() string {
	return fmt.Sprintf(`{"id":"%s","event":"%s","body":{"customer":"%s","amount_cents":%d,"currency":"EUR"}}`,
		d.id, d.event, d.customer, d.cents)
}

func generate() *sample {
	s := &sample{expected: expected{Accounts: map[string]account{}}}
	random := rand.New(rand.NewPCG(2026, 1))

	sent := make([]delivery, originals)
	for i := range sent {
		d := delivery{
			id:       fmt.Sprintf("evt_%06d", i+1),
			event:    "payment.succeeded",
			customer: fmt.Sprintf("cus_%02d", 1+random.IntN(customers)),
			cents:    100 + random.IntN(25000),
		}
		sign := int64(+1)
		if random.IntN(7) == 0 {
			d.event, sign = "payment.refunded", -1
		}
		sent[i] = d
		s.add(i*step, d.text())
		a := s.expected.Accounts[d.customer]
		a.Effects++
		a.Cents += sign * int64(d.cents)
		s.expected.Accounts[d.customer] = a
		s.expected.Cents += sign * int64(d.cents)
		s.expected.Distinct++
	}
	for range nearDuplicate {
		i := random.IntN(originals)
		s.add(i*step+nearAtLeast+random.IntN(nearWidth), sent[i].text())
		s.expected.Duplicates++
	}
	for range farDuplicate {
		i := random.IntN(originals)
		s.add(i*step+farAtLeast+random.IntN(farWidth), sent[i].text())
		s.expected.Duplicates++
	}
	for n := range rivals {
		i := random.IntN(originals)
		d := sent[i]
		if n%3 == 0 {
			d.event = map[string]string{"payment.succeeded": "payment.refunded", "payment.refunded": "payment.succeeded"}[d.event]
		} else {
			d.cents++
		}
		s.add(i*step+farAtLeast+random.IntN(farWidth), d.text())
		s.expected.Rivals++
	}
	for _, text := range malformed {
		s.add(random.IntN(originals*step), text)
		s.expected.Malformed++
	}
	slices.SortStableFunc(s.lines, func(a, b line) int { return cmp.Compare(a.place, b.place) })
	s.expected.Lines = len(s.lines)
	return s
}

func (s *sample) add(place int, text string) { s.lines = append(s.lines, line{place, text}) }

// malformed are lines that no program may book, one of them with the id of a good delivery.
var malformed = []string{
	``,
	`-- log rotated --`,
	`["evt_900001", "payment.succeeded"]`,
	`{"id":"evt_900002","event":"payment.succeeded","body":{"customer":"cus_01","amou`,
	`{"id":"evt_900003","event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":1250}} {}`,
	`{"event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":1250}}`,
	`{"id":900004,"event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":1250}}`,
	`{"id":"evt_900005\u0000","event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":1250}}`,
	"{\"id\":\"evt_900006\xff\",\"event\":\"payment.succeeded\",\"body\":{\"customer\":\"cus_01\",\"amount_cents\":1250}}",
	`{"id":"evt_900007","event":"payment.exploded","body":{"customer":"cus_01","amount_cents":1250}}`,
	`{"id":"evt_900008","event":"payment.succeeded"}`,
	`{"id":"evt_900009","event":"payment.succeeded","body":"cus_01 paid 12.50"}`,
	`{"id":"evt_900010","event":"payment.succeeded","body":{"amount_cents":1250}}`,
	`{"id":"evt_900011","event":"payment.succeeded","body":{"customer":"cus_01"}}`,
	`{"id":"evt_900012","event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":12.50}}`,
	`{"id":"evt_900013","event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":"1250"}}`,
	`{"id":"evt_900014","event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":-1250}}`,
	`{"id":"evt_900015","event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":9223372036854775808}}`,
	`{"id":"evt_000001","event":"payment.succeeded","body":{"customer":"cus_01","amount_cents":null}}`,
}
