// Package prom is the Prometheus adapter of package observe.
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/reattach/impl/observe"
)

// A Backend counts into Prometheus collectors.
type Backend struct {
	instrument []instrument
}

type instrument struct {
	counter   *prometheus.CounterVec
	gauge     *prometheus.GaugeVec
	histogram *prometheus.HistogramVec
}

// New registers every instrument. The error is the registerer's: something of
// that name is registered already.
func New(r prometheus.Registerer) (*Backend, error) {
	b := &Backend{}
	for _, m := range observe.Metrics() {
		var i instrument
		var c prometheus.Collector
		switch m.Kind {
		case observe.Counter:
			i.counter = prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
			c = i.counter
		case observe.Gauge:
			i.gauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
			c = i.gauge
		case observe.Histogram:
			i.histogram = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.Bounds}, m.Labels)
			c = i.histogram
		}
		if err := r.Register(c); err != nil {
			return nil, err
		}
		b.instrument = append(b.instrument, i)
	}
	return b, nil
}

// Add moves an instrument.
func (b *Backend) Add(metric int, value float64, labels ...string) {
	switch i := b.instrument[metric]; {
	case i.counter != nil:
		i.counter.WithLabelValues(labels...).Add(value)
	case i.gauge != nil:
		i.gauge.WithLabelValues(labels...).Add(value)
	default:
		i.histogram.WithLabelValues(labels...).Observe(value)
	}
}
