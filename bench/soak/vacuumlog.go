package main

import (
	"regexp"
	"strconv"
)

// vacuumed is how log_autovacuum_min_duration reports a vacuum of the table: "removed" are the pages that it cut off the end of the file.
var vacuumed = regexp.MustCompile(`automatic (?:aggressive )?vacuum (?:to prevent wraparound )?of table "postgres\.queen\.kv": [^\n]*\n\tpages: (\d+) removed`)

func truncatedPages(log string) (pages int64) {
	for _, m := range vacuumed.FindAllStringSubmatch(log, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err == nil { // a number of a server's page count always fits
			pages += n
		}
	}
	return pages
}
