// Package otel is the OpenTelemetry adapter of package observe. The names are
// those of Prometheus without _total: exporters add it.
package otel

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"example.com/reattach/impl/observe"
)

// A Backend counts into the instruments of a meter.
type Backend struct{ instrument []instrument }

type instrument struct {
	labels    []string
	counter   metric.Float64Counter
	gauge     metric.Float64UpDownCounter
	histogram metric.Float64Histogram
}

// New makes every instrument. The error is the meter's.
func New(meter metric.Meter) (*Backend, error) {
	b := &Backend{}
	for _, m := range observe.Metrics() {
		i := instrument{labels: m.Labels}
		name, about, err := strings.TrimSuffix(m.Name, "_total"), metric.WithDescription(m.Help), error(nil)
		switch m.Kind {
		case observe.Counter:
			i.counter, err = meter.Float64Counter(name, about)
		case observe.Gauge:
			i.gauge, err = meter.Float64UpDownCounter(name, about)
		case observe.Histogram:
			i.histogram, err = meter.Float64Histogram(name, about, metric.WithExplicitBucketBoundaries(m.Bounds...))
		}
		if err != nil {
			return nil, err
		}
		b.instrument = append(b.instrument, i)
	}
	return b, nil
}

// Add moves an instrument.
func (b *Backend) Add(which int, value float64, labels ...string) {
	i, ctx := b.instrument[which], context.Background()
	attributes := make([]attribute.KeyValue, len(labels))
	for n, label := range labels {
		attributes[n] = attribute.String(i.labels[n], label)
	}
	with := metric.WithAttributes(attributes...)
	switch {
	case i.counter != nil:
		i.counter.Add(ctx, value, with)
	case i.gauge != nil:
		i.gauge.Add(ctx, value, with)
	default:
		i.histogram.Record(ctx, value, with)
	}
}
