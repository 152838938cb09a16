package streamhttp

// Intercept has see look at the answer to this call before it is recorded and
// sent: what see returns, one JSON-RPC response on one line with the same id,
// is sent in its place. It is for applications in front of applications, and
// called before the one behind is. An answer that turns out too large to be
// sent may be followed by another, which see is shown too. Of several, the one
// that came last looks first.
//
// The answer is shown also when nobody will read it because the stream or its
// session is over: that is how the work of a call can be remembered that
// outlived them (R28).
func (s *Stream) Intercept(see func(answer []byte) []byte) {
	behind := s.intercept
	if behind == nil {
		s.intercept = see
		return
	}
	s.intercept = func(answer []byte) []byte { return behind(see(answer)) }
}
