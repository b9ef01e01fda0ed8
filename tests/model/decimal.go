package model

import (
	"math/big"
	"strconv"
	"strings"
)

// A decimal is n / 10^scale, exactly. Two of one value may differ in scale, as jsonb's numbers do:
// 1.50 is stored and shown as 1.50.
type decimal struct {
	n     *big.Int
	scale int
}

var ten = big.NewInt(10)

func pow10(n int) *big.Int { return new(big.Int).Exp(ten, big.NewInt(int64(n)), nil) }

// parseDecimal reads a JSON number. Digits after the point stay, an exponent is multiplied out:
// 1.50e1 is 15.0.
func parseDecimal(s string) decimal {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		var err error
		if exponent, err = strconv.Atoi(s[i+1:]); err != nil {
			panic("model: the number " + s + ": " + err.Error())
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		panic("model: not a number: " + s)
	}
	d := decimal{n, len(fraction) - exponent}
	if d.scale < 0 {
		d.n.Mul(d.n, pow10(-d.scale))
		d.scale = 0
	}
	return d
}

// String is how jsonb shows it.
func (d decimal) String() string {
	s := new(big.Int).Abs(d.n).String()
	if d.scale > 0 {
		if missing := d.scale + 1 - len(s); missing > 0 {
			s = strings.Repeat("0", missing) + s
		}
		s = s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
	}
	if d.n.Sign() < 0 {
		s = "-" + s
	}
	return s
}

// trim removes the zeros at the end of the fraction.
func (d decimal) trim() decimal {
	n := new(big.Int).Set(d.n)
	for scale := d.scale; ; scale-- {
		q, r := new(big.Int).QuoRem(n, ten, new(big.Int))
		if scale == 0 || r.Sign() != 0 {
			return decimal{n, scale}
		}
		n = q
	}
}

func (d decimal) add(e decimal) decimal {
	scale := max(d.scale, e.scale)
	return decimal{new(big.Int).Add(d.at(scale), e.at(scale)), scale}
}

func (d decimal) cmp(e decimal) int {
	scale := max(d.scale, e.scale)
	return d.at(scale).Cmp(e.at(scale))
}

// at is n for a larger scale.
func (d decimal) at(scale int) *big.Int { return new(big.Int).Mul(d.n, pow10(scale-d.scale)) }

// integer is the value of an integer; ok is false for a fraction. 60.0 is an integer.
func (d decimal) integer() (n *big.Int, ok bool) {
	d = d.trim()
	return d.n, d.scale == 0
}

// countable tells whether a counter may have the value, and delta, min and max be it: within
// ±10^36, with at most 18 decimals.
func (d decimal) countable() bool {
	d = d.trim()
	return d.scale <= 18 && new(big.Int).Abs(d.n).Cmp(pow10(36+d.scale)) <= 0
}
