package observe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/fault"
	"example.com/reattach/impl/observe"
	"example.com/reattach/impl/observe/otel"
	"example.com/reattach/impl/observe/prom"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Both backends at once: what is told to one is told to the other.
type both struct{ a, b observe.Backend }

func (t both) Add(metric int, value float64, labels ...string) {
	t.a.Add(metric, value, labels...)
	t.b.Add(metric, value, labels...)
}

// app: "work" emits three events and answers.
func app(_ context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
	case "work":
		for i := range 3 {
			m.Stream.Emit("notifications/said", map[string]int{"i": i})
		}
		m.Stream.Answer("done")
	}
}

// Given a server and a client that are observed, when a call is cut and
// resumed, a cursor refused and the session ended, then the metrics say so, in
// Prometheus and in OpenTelemetry alike.
func TestWhatIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	p, err := prom.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	reader := sdk.NewManualReader()
	o, err := otel.New(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("reattach"))
	if err != nil {
		t.Fatal(err)
	}
	r := observe.NewRecorder(both{p, o})
	handler, err := streamhttp.NewHandler(app, streamhttp.Options{Session: session.Options{Observe: r.Session}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	options := streamhttp.DialOptions{}
	options.Driver.NoStandalone = true
	cut := false
	options.Transport.HTTP = &fault.Transport{Plan: func(_ int, r *http.Request) fault.Exchange {
		if r.Method != http.MethodPost || cut || r.Header.Get("Mcp-Session-Id") == "" || r.ContentLength < 60 {
			return fault.Exchange{}
		}
		cut = true
		return fault.Exchange{Body: fault.Direction{What: fault.Reset, After: 300}}
	}}
	r.Client(&options.Driver)
	ctx := t.Context()
	c, err := streamhttp.Dial(ctx, server.URL, options)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Call(ctx, "work", map[string]string{"padding": strings.Repeat("x", 60)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	stray, _ := http.NewRequest("GET", server.URL, nil)
	stray.Header.Set("Accept", "text/event-stream")
	stray.Header.Set("Mcp-Session-Id", c.Driver().Session().ID)
	stray.Header.Set("Last-Event-ID", "nonsense")
	res, err := http.DefaultClient.Do(stray)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if err := c.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	c.Close()
	handler.Close()
	server.Close()

	got := fromPrometheus(t, registry)
	want := map[string]float64{
		`reattach_events_total`:                                          8,
		`reattach_resumes_total{reason=,verdict=reattach}`:               1,
		`reattach_resumes_total{reason=cursor_malformed,verdict=refuse}`: 1,
		`reattach_client_outcomes_total{outcome=answered,reason=}`:       2,
		`reattach_client_resumed_total`:                                  1,
		`reattach_sessions{state=Live}`:                                  0,
		`reattach_streams{state=Attached}`:                               0,
		`reattach_streams{state=Detached}`:                               0,
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if got["reattach_event_bytes_total"] < 200 || got["reattach_view_lag_events"] < 8 {
		t.Errorf("%v bytes, %v samples of lag", got["reattach_event_bytes_total"], got["reattach_view_lag_events"])
	}
	other := fromOpenTelemetry(t, reader)
	for name, value := range got {
		if other[name] != value {
			t.Errorf("%s is %v in Prometheus and %v in OpenTelemetry", name, value, other[name])
		}
	}
	if len(got) != len(other) || len(got) < 20 {
		t.Errorf("%d series in Prometheus, %d in OpenTelemetry", len(got), len(other))
	}
	if t.Failed() {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			t.Log(name, got[name], other[name])
		}
	}
}

func fromPrometheus(t *testing.T, r *prometheus.Registry) map[string]float64 {
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			got[series(f.GetName(), labels)] = value
		}
	}
	return got
}

func fromOpenTelemetry(t *testing.T, r *sdk.ManualReader) map[string]float64 {
	var all metricdata.ResourceMetrics
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	total := map[string]string{}
	for _, m := range observe.Metrics() {
		total[strings.TrimSuffix(m.Name, "_total")] = m.Name
	}
	got := map[string]float64{}
	labels := func(s attribute.Set) (l []string) {
		for _, kv := range s.ToSlice() {
			l = append(l, string(kv.Key)+"="+kv.Value.AsString())
		}
		return l
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					got[series(total[m.Name], labels(p.Attributes))] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					got[series(total[m.Name], labels(p.Attributes))] = float64(p.Count)
				}
			default:
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return got
}

func series(name string, labels []string) string {
	if len(labels) == 0 {
		return name
	}
	slices.Sort(labels)
	return fmt.Sprintf("%s{%s}", name, strings.Join(labels, ","))
}

// Every query of the dashboard is about metrics that exist, by labels that they
// have, and every metric is on it.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	known, shown := map[string]observe.Metric{}, map[string]bool{}
	for _, m := range observe.Metrics() {
		known[m.Name] = m
		if m.Kind == observe.Histogram {
			known[m.Name+"_bucket"] = m
		}
	}
	name := regexp.MustCompile(`\breattach_\w+`)
	grouped := regexp.MustCompile(`by \(([^)]*)\)`)
	matched := regexp.MustCompile(`(\w+)="`)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			names := name.FindAllString(target.Expr, -1)
			if len(names) != 1 {
				t.Errorf("%s: %q is about %v", p.Title, target.Expr, names)
				continue
			}
			m, ok := known[names[0]]
			if !ok {
				t.Errorf("%s: there is no %s", p.Title, names[0])
				continue
			}
			shown[m.Name] = true
			var labels []string
			for _, g := range grouped.FindAllStringSubmatch(target.Expr, -1) {
				labels = append(labels, strings.Split(strings.ReplaceAll(g[1], " ", ""), ",")...)
			}
			for _, l := range matched.FindAllStringSubmatch(target.Expr, -1) {
				labels = append(labels, l[1])
			}
			for _, l := range labels {
				if l != "le" && !slices.Contains(m.Labels, l) {
					t.Errorf("%s: %s has no label %q", p.Title, m.Name, l)
				}
			}
		}
	}
	for _, m := range observe.Metrics() {
		if !shown[m.Name] {
			t.Errorf("%s is on no panel", m.Name)
		}
	}
}

// Names are as Prometheus wants them, and no label can hold a secret or grow
// without bound.
func TestMetricsAreNamedWell(t *testing.T) {
	bounded := []string{"machine", "row", "reason", "verdict", "state", "cause", "outcome", "decision"}
	seen := map[string]bool{}
	for _, m := range observe.Metrics() {
		if seen[m.Name] || !strings.HasPrefix(m.Name, "reattach_") || m.Help == "" {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
		if (m.Kind == observe.Counter) != strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%s is of kind %d", m.Name, m.Kind)
		}
		for _, l := range m.Labels {
			if !slices.Contains(bounded, l) {
				t.Errorf("%s has the label %q", m.Name, l)
			}
		}
	}
}

// However many reasons a server makes up, there are not as many series.
func TestReasonsAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	p, err := prom.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	var o client.Options
	observe.NewRecorder(p).Client(&o)
	for i := range 1000 {
		o.OnOutcome(client.Outcome{Kind: client.OutcomeUnknown, Reason: spec.Reason(fmt.Sprint("made up ", i))})
	}
	got := fromPrometheus(t, registry)
	if n := len(got); n > 130 || got[`reattach_client_outcomes_total{outcome=unknown,reason=other}`] != 1000-float64(n-1) {
		t.Errorf("%d series", n)
	}
}
