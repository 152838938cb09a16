package streamhttp

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A guard keeps out pages of a browser that reach a server which is not meant
// for them: by their Origin, and by the name under which they ask, because a
// page whose name was bound anew to 127.0.0.1 has the same origin as what it
// asks for. An empty guard protects a server on a loopback address fully, and
// any other one against foreign origins.
type guard struct {
	hosts   []string // Options.Hosts
	origins []string // Options.Origins
}

// check returns why a request is to be refused with 403, or nil.
func (g guard) check(r *http.Request) error {
	if err := g.checkHost(r); err != nil {
		return err
	}
	return g.checkOrigin(r)
}

func (g guard) checkHost(r *http.Request) error {
	name := hostname(r.Host)
	if len(g.hosts) > 0 {
		if slices.Contains(g.hosts, "*") || slices.Contains(g.hosts, r.Host) || slices.Contains(g.hosts, name) {
			return nil
		}
		return fmt.Errorf("not a host that this server answers for")
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := local.(*net.TCPAddr); ok && tcp.IP.IsLoopback() && !isLoopbackName(name) {
		return fmt.Errorf("a loopback address asked under another name: list it in Options.Hosts if it is yours")
	}
	return nil
}

func (g guard) checkOrigin(r *http.Request) error {
	values := r.Header.Values("Origin")
	if len(values) == 0 || slices.Contains(g.origins, "*") {
		return nil
	}
	if len(values) == 1 {
		if slices.Contains(g.origins, values[0]) {
			return nil
		}
		if u, err := url.Parse(values[0]); err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
			return nil
		}
	}
	return fmt.Errorf("an origin that is not this server's: list it in Options.Origins if it is yours")
}

// hostname is a Host without its port and without the brackets of IPv6.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func isLoopbackName(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
