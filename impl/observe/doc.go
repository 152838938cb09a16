// Package observe makes metrics of what servers and clients do: one list of
// instruments, [Metrics], and two adapters for it, observe/prom for Prometheus
// and observe/otel for OpenTelemetry.
//
//	r := observe.NewRecorder(prom.New(registerer))
//	streamhttp.Options{Session: session.Options{Observe: r.Session}} // a server
//	r.Client(&client.Options{…})                                     // a client
//
// Everything is counted from the rows that fire, so that a metric means what
// its row means: docs/transitions.md says it. No label holds a session, a
// subject, a stream or an event id; their values come from the tables, so that
// there are never more series than rows.
//
// It is a module of its own, so that neither library reaches those who do not
// want it. It imports spec, fsm, impl/session and impl/client. Read Metrics
// first, then Recorder.
package observe
