package spec

import "testing"

// The fingerprint is SHA-256 over session id, one zero byte and last event id,
// so neither half can be moved into the other.
func TestTokenFingerprint(t *testing.T) {
	const want = "2a94e2da0cbb895ec3b0bc066fee297d597245cca275997411e6ff4740c42cf4" // printf 'S1\0e2' | sha256sum
	if got := (ResumeToken{"S1", "e2"}).Fingerprint(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, other := range []ResumeToken{{"S1e", "2"}, {"S", "1e2"}, {"S1e2", ""}, {"", "S1e2"}, {"e2", "S1"}} {
		if other.Fingerprint() == want {
			t.Errorf("%+v has the fingerprint of another token", other)
		}
	}
}
