package main

import (
	"fmt"
	"math/rand/v2"
)

// letters make texts that PostgreSQL's compression finds nothing in: 64 of them, each as likely.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

const textCount, textSize = 499, 32 << 10

// texts are what values are cut from, so that making one costs a copy.
var texts = func() []string {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]string, textCount)
	for i := range all {
		b := make([]byte, textSize)
		for j := range b {
			b[j] = letters[random.IntN(len(letters))]
		}
		all[i] = string(b)
	}
	return all
}()

// valueOf is value number n as a JSON text of so many bytes, at least 16. load makes the same ones in SQL.
func valueOf(n, size int) string {
	return `"` + fmt.Sprintf("%012d", n) + texts[n%textCount][:size-14] + `"`
}
