package model

// Scopes lists the scopes that have a name. Those named small, stream, calls
// and main are shared with TLC (tla/manifest.json), where the same constants
// give the same states and edges.
func Scopes() []Config {
	return []Config{
		// One epoch, two calls: a stream may be complete while a call is unanswered.
		{Name: "calls", Sessions: 1, Streams: 1, Events: 2, Window: 2, Wire: 2, Calls: 2, Strangers: Newcomer},
		// One epoch: eviction, superseding, every cursor of every stranger.
		{Name: "stream", Sessions: 1, Streams: 1, Events: 2, Window: 1, Wire: 1, Calls: 1, Strangers: Anybody},
		// Two epochs: abandonment, quarantine, late commits.
		{Name: "small", Sessions: 2, Streams: 1, Events: 1, Window: 1, Wire: 1, Calls: 1},
		// Two epochs, two calls, no event: more than one unknown outcome.
		{Name: "pair", Sessions: 2, Streams: 1, Events: 1, Window: 1, Wire: 1, Calls: 2},
		// A server that answers whatever the incidents show, against the client alone.
		{Name: "hostile", Sessions: 2, Streams: 1, Events: 2, Window: 2, Wire: 1, Calls: 0, Hostile: true},
		// The server alone against every id that can be written, on two streams.
		{Name: "server", Sessions: 1, Streams: 2, Events: 3, Window: 2, Wire: 1, Calls: 1, Strangers: Anybody, Alone: true},
		// Two streams share a window; each is continued, refused or doubted beside the other.
		{Name: "streams", Sessions: 1, Streams: 2, Events: 2, Window: 1, Wire: 1, Calls: 0},
		// Two epochs with two events.
		{Name: "main", Sessions: 2, Streams: 1, Events: 2, Window: 1, Wire: 1, Calls: 1},
	}
}

// ScopeNamed returns the scope of that name.
func ScopeNamed(name string) (Config, bool) {
	for _, c := range Scopes() {
		if c.Name == name {
			return c, true
		}
	}
	return Config{}, false
}
