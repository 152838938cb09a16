package model

// A ViewOf says which stream of which session a view is attached to.
type ViewOf struct{ Session, Stream uint64 }

// Survives reports whether an older view goes on when a newer one attaches
// (R10): only if it is a view of another stream.
func Survives(older, newer ViewOf) bool { return older != newer }
