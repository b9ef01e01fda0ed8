package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const maxLineBytes = 1 << 20

// A record is one line of the input: a delivery, or what is wrong with the line.
type record struct {
	line      int // from 1
	delivery  delivery
	malformed error
}

// A lineReader reads records.
type lineReader struct {
	buf  *bufio.Reader
	line int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{buf: bufio.NewReaderSize(r, maxLineBytes)}
}

// next gives the next line's record, io.EOF after the last. A malformed line is a record; an error is a failure to read.
func (r *lineReader) next() (record, error) {
	raw, err := r.buf.ReadSlice('\n')
	tooLong := false
	for errors.Is(err, bufio.ErrBufferFull) { // skip the rest of it
		tooLong = true
		_, err = r.buf.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) && len(raw) > 0 {
		err = nil // the last line needs no line break
	}
	if err != nil {
		return record{}, err
	}
	r.line++
	rec := record{line: r.line}
	if tooLong {
		rec.malformed = fmt.Errorf("longer than %d bytes", maxLineBytes)
		return rec, nil
	}
	rec.delivery, rec.malformed = parseDelivery(bytes.TrimSuffix(raw, []byte("\n")))
	return rec, nil
}

// An input is read twice: once to book what is in it, and once to compute what must have come out. What can't be read
// twice, as standard input, is copied to a temporary file on the way.
type input struct {
	source *os.File
	spool  *os.File // nil when source can be read again
}

// openInput opens a file; "-" is standard input.
func openInput(name string) (*input, error) {
	in := &input{source: os.Stdin}
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		in.source = f
	}
	info, err := in.source.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", name)
	}
	if err == nil && (name == "-" || !info.Mode().IsRegular()) {
		in.spool, err = spoolFile()
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// spoolFile makes a file that has no name any more, so that a killed process leaves nothing behind.
func spoolFile() (*os.File, error) {
	f, err := os.CreateTemp("", "payments-*.jsonl")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

func (in *input) first() *lineReader {
	if in.spool == nil {
		return newLineReader(in.source)
	}
	return newLineReader(io.TeeReader(in.source, in.spool))
}

// again starts over; the first pass must have come to the end.
func (in *input) again() (*lineReader, error) {
	f := in.source
	if in.spool != nil {
		f = in.spool
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return newLineReader(f), nil
}

func (in *input) close() {
	in.source.Close()
	if in.spool != nil {
		in.spool.Close()
	}
}
