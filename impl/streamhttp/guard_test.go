package streamhttp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuardKeepsForeignPagesOut(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	public := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	for _, c := range []struct {
		name         string
		guard        guard
		local        net.Addr
		host, origin string
		want         bool
	}{
		{"loopback by address", guard{}, loopback, "127.0.0.1:80", "", true},
		{"loopback by name", guard{}, loopback, "localhost:80", "http://localhost:80", true},
		{"loopback over IPv6", guard{}, loopback, "[::1]:80", "http://[::1]:80", true},
		{"a name bound anew", guard{}, loopback, "evil.example:80", "http://evil.example:80", false},
		{"a name bound anew, no origin", guard{}, loopback, "evil.example", "", false},
		{"behind a proxy on this machine", guard{hosts: []string{"mcp.example"}}, loopback, "mcp.example", "", true},
		{"not one of the hosts", guard{hosts: []string{"mcp.example"}}, public, "other.example", "", false},
		{"any host", guard{hosts: []string{"*"}}, loopback, "other.example", "", true},
		{"public", guard{}, public, "mcp.example", "", true},
		{"same origin", guard{}, public, "mcp.example", "https://mcp.example", true},
		{"another origin", guard{}, public, "mcp.example", "https://evil.example", false},
		{"an origin without a host", guard{}, public, "mcp.example", "null", false},
		{"a listed origin", guard{origins: []string{"https://app.example"}}, public, "mcp.example", "https://app.example", true},
		{"listed, but another scheme", guard{origins: []string{"https://app.example"}}, public, "mcp.example", "http://app.example", false},
		{"any origin", guard{origins: []string{"*"}}, public, "mcp.example", "https://evil.example", true},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/mcp", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if err := c.guard.check(r); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   bool
	}{
		{nil, true},
		{[]string{"application/json, text/event-stream"}, true},
		{[]string{"application/json", "TEXT/Event-Stream;q=0.5"}, true},
		{[]string{"*/*"}, true},
		{[]string{"text/*"}, true},
		{[]string{"application/json"}, false},
		{[]string{""}, false},
		{[]string{"text/event-stream;q=0"}, false},
		{[]string{"text/event-stream; charset=utf-8; q=0.0"}, false},
		{[]string{"text/event-stream-ish"}, false},
	} {
		if got := accepts(http.Header{"Accept": c.values}, mediaEventStream); got != c.want {
			t.Errorf("%q: got %v", c.values, got)
		}
	}
}

func TestVersionOfARequest(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   string
		ok     bool
	}{
		{nil, Version20250326, true},
		{[]string{"2025-11-25"}, Version20251125, true},
		{[]string{"2026-07-28"}, "", false},
		{[]string{"2024-11-05"}, "", false},
		{[]string{""}, "", false},
		{[]string{"2025-11-25", "2025-11-25"}, "", false},
	} {
		got, ok := version(http.Header{HeaderProtocolVersion: c.values})
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q: got %q, %v", c.values, got, ok)
		}
	}
}
