// Sample writes the shipped deliveries: the same bytes at every run.
//
//	go generate ./payments        (in examples/)
//
// It writes deliveries.jsonl and expected.json; the latter says what must come out, known from how the lines were made and
// not from reading them.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"log"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", "testdata", "the `folder` to write to")
	flag.Parse()
	log.SetFlags(0)
	s := generate()
	for name, content := range map[string][]byte{"deliveries.jsonl": s.file(), "expected.json": s.truth()} {
		if err := os.WriteFile(filepath.Join(*out, name), content, 0o644); err != nil {
			log.Fatalf("sample: %v", err)
		}
	}
}

func (s *sample) file() []byte {
	var b bytes.Buffer
	for _, l := range s.lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (s *sample) truth() []byte {
	b, err := json.MarshalIndent(s.expected, "", "  ")
	if err != nil {
		log.Fatalf("sample: %v", err) // it is a struct of numbers
	}
	return append(b, '\n')
}
