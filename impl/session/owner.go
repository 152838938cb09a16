package session

// owner is the subject of sessions, with how many it has. It exists while it
// has one; its count is guarded by the registry's lock.
type owner struct {
	registry *Registry
	subject  string
	sessions int
}

// own counts a session of the subject. The registry is locked.
func (r *Registry) own(subject string) *owner {
	o := r.owners[subject]
	if o == nil {
		o = &owner{registry: r, subject: subject}
		r.owners[subject] = o
	}
	o.sessions++
	r.sessions++
	return o
}

// disown counts one session less. The registry is locked.
func (r *Registry) disown(o *owner) {
	r.sessions--
	o.sessions--
	if o.sessions == 0 {
		delete(r.owners, o.subject)
	}
}

// full reports whether the server, or the subject, has all the sessions that it
// may have (R3). The registry is locked.
func (r *Registry) full(subject string) bool {
	o := r.owners[subject]
	return r.sessions >= r.options.Sessions || o != nil && o.sessions >= r.options.SubjectSessions
}
