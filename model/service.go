package model

import "example.com/reattach/spec"

// A Service is the sessions of one server: who may open how many, who sees
// which, and what is remembered of those that ended (R3, R6, R13).
type Service struct {
	caps     ServiceLimits
	limits   Limits
	rules    Rules
	draining bool
	sessions map[string]*owned
	ended    []string // ids of ended sessions that are remembered, oldest first
}

// ServiceLimits bounds a server. Zero means unbounded, but RememberedEnds 0
// remembers nothing.
type ServiceLimits struct {
	Sessions        int // that serve
	SubjectSessions int // that serve, of one subject
	RememberedEnds  int // ended ones whose end is still known
}

// An owned session is one with the subject that opened it.
type owned struct {
	*Session
	subject string
}

// NewService returns a server without a session.
func NewService(caps ServiceLimits, limits Limits, rules Rules) *Service {
	return &Service{caps: caps, limits: limits, rules: rules, sessions: map[string]*owned{}}
}

// Open opens a session for a subject under an id that was never used (R3,
// R12).
func (s *Service) Open(subject, id string) spec.Reason {
	s.settle()
	if _, used := s.sessions[id]; used {
		panic("reattach: BUG: the suite opens two sessions under one id")
	}
	serving, own := 0, 0
	for _, o := range s.sessions {
		if o.serves() {
			serving++
			if o.subject == subject {
				own++
			}
		}
	}
	full := s.caps.Sessions > 0 && serving >= s.caps.Sessions || s.caps.SubjectSessions > 0 && own >= s.caps.SubjectSessions
	session := NewSession(spec.TagOf(id, ""), s.limits, s.rules)
	r := session.Initialize(full, s.draining)
	if r == "" {
		s.sessions[id] = &owned{session, subject}
	}
	return r
}

// Lookup returns the session of an id if it serves this subject. Another
// subject's session is exactly as unknown as one that never was (R13); an
// ended one says so as long as it is remembered (R6).
func (s *Service) Lookup(subject, id string) (*Session, spec.Reason) {
	s.settle()
	o, ok := s.sessions[id]
	if !ok || o.subject != subject {
		return nil, spec.ReasonSessionUnknown
	}
	if !o.serves() {
		return nil, absence(o.state)
	}
	return o.Session, ""
}

// Drain begins the shutdown of every session (R12).
func (s *Service) Drain(now int64) {
	s.draining = true
	for _, o := range s.sessions {
		o.Drain(now)
	}
}

// settle notes the sessions that have ended, and forgets the oldest ends
// beyond the bound. Ends that came between two calls are noted in no order:
// a suite that compares them ends one session at a time.
func (s *Service) settle() {
	known := map[string]bool{}
	for _, id := range s.ended {
		known[id] = true
	}
	for id, o := range s.sessions {
		if !o.serves() && !known[id] {
			s.ended = append(s.ended, id)
		}
	}
	for len(s.ended) > s.caps.RememberedEnds {
		delete(s.sessions, s.ended[0])
		s.ended = s.ended[1:]
	}
}
