package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/queenkv/queenkv/kvpg"
)

// A limiter is middleware that lets each client make so many requests a window, counted in the database: every replica of the server
// counts in the same place, and a restart forgets nothing.
type limiter struct {
	db     kvpg.DB
	ns     kvpg.Namespace
	limit  int64
	window time.Duration

	// client names who is counted. See remoteIP for what to think of.
	client func(*http.Request) string

	// failOpen lets requests through while the database can't be asked; else they get 503.
	failOpen bool
}

// wrap counts a request before it comes to next.
func (l *limiter) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := kvpg.Limit(r.Context(), l.db, l.ns, l.client(r), 1, l.limit, l.window)
		if err == nil && v.Reason == kvpg.ReasonType {
			err = fmt.Errorf("the key of client %q holds something that is no counter", l.client(r))
		}
		switch {
		case err != nil && l.failOpen:
			slog.WarnContext(r.Context(), "not limited", "error", err)
		case err != nil:
			slog.ErrorContext(r.Context(), "refused, since it can't be counted", "error", err)
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		default:
			l.tell(w.Header(), v)
			if !v.Allowed {
				w.Header().Set("Retry-After", strconv.FormatInt(max(seconds(v.ResetIn), 1), 10))
				http.Error(w, "too many requests", http.StatusTooManyRequests)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// tell sets the fields of draft-ietf-httpapi-ratelimit-headers, in the form that they have since its version 08: the policy with its
// quota q and window w, and what is left of it, r, for t seconds.
func (l *limiter) tell(h http.Header, v kvpg.LimitVerdict) {
	h.Set("RateLimit-Policy", fmt.Sprintf(`"client";q=%d;w=%d`, l.limit, seconds(l.window)))
	h.Set("RateLimit", fmt.Sprintf(`"client";r=%d;t=%d`, v.Remaining, seconds(v.ResetIn)))
}

// seconds rounds up: who comes back then must not be early.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// remoteIP is the address that the connection comes from, a /64 of IPv6, which is what one subscriber gets. Behind a proxy that is the
// proxy's: take the address from a header there, but only from a proxy that sets it, or clients choose their own. An
// authenticated user's id is better than any address.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip == nil || ip.To4() != nil {
		return host
	}
	return ip.Mask(net.CIDRMask(64, 128)).String() + "/64"
}
