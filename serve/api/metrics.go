package api

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics has the numbers for Prometheus. It makes its registry at the first request, so that the program's other
// commands pay nothing for it.
type metrics struct {
	s       *server
	once    sync.Once
	took    *prometheus.HistogramVec
	handler http.Handler
}

func newMetrics(s *server) *metrics { return &metrics{s: s} }

// buckets are the upper ends of those of the times of requests, in seconds: around the 5 and 20 ms that predictions aim
// at.
var buckets = []float64{.001, .002, .003, .005, .0075, .01, .015, .02, .03, .05, .1, .25, 1, 5, 30}

func (m *metrics) make() {
	m.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ocl_request_seconds", Help: "Time from the header of a request to the end of its answer.", Buckets: buckets,
	}, []string{"path", "code"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.took, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), statusCollector{m.s})
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// serve answers GET /metrics.
func (m *metrics) serve(to http.ResponseWriter, r *http.Request) (int, any, error) {
	m.once.Do(m.make)
	m.handler.ServeHTTP(to, r)
	return 0, nil, nil
}

// measured counts the requests of a path, and how long they take.
func (m *metrics) measured(path string, next http.HandlerFunc) http.HandlerFunc {
	return func(to http.ResponseWriter, r *http.Request) {
		m.once.Do(m.make)
		began := time.Now()
		w := &watched{ResponseWriter: to, status: http.StatusOK}
		next(w, r)
		m.took.WithLabelValues(path, strconv.Itoa(w.status)).Observe(time.Since(began).Seconds())
	}
}

// watched is an answer whose status is kept.
type watched struct {
	http.ResponseWriter
	status int
}

func (w *watched) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// statusCollector tells the numbers of the daemon's status, as they are when they are asked for.
type statusCollector struct{ s *server }

// Describe implements [prometheus.Collector]: what there is depends on the daemon.
func (statusCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector]. What was not measured yet is left out.
func (c statusCollector) Collect(to chan<- prometheus.Metric) {
	v := c.s.now()
	tell := func(name, help string, kind prometheus.ValueType, value float64, labels ...string) {
		var names, values []string
		for i := 0; i+1 < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "\uFFFD"))
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	tell("ocl_info", "The method and the release.", gauge, 1, "method", v.Method, "release", v.Release)
	for _, state := range []string{"learning", "idle", "stopped", "recovering", "draining"} {
		is := 0.0
		if v.State == state {
			is = 1
		}
		tell("ocl_state", "1 for the state in which the daemon is.", gauge, is, "state", state)
	}
	problem := 0.0
	if v.Problem != "" {
		problem = 1
	}
	tell("ocl_problem", "1 where something is wrong, such as a full disk or a daemon that a replica does not reach; /v1/status says what.",
		gauge, problem)
	tell("ocl_model_version", "Version of the model that answers.", gauge, float64(v.Version))
	tell("ocl_samples_learned_total", "Samples that were learned.", counter, float64(v.Samples.Learned))
	tell("ocl_samples_answering", "Of the samples that were learned, those that the model that answers has learned.",
		gauge, float64(v.Samples.Answering))
	tell("ocl_samples_waiting", "Samples that wait to be learned.", gauge, float64(v.Samples.Waiting))
	tell("ocl_samples_queue", "Samples that may wait to be learned.", gauge, float64(v.Samples.Queue))
	tell("ocl_samples_remembered", "Pictures that wait for their labels.", gauge, float64(v.Samples.Remembered))
	tell("ocl_samples_held_out", "Samples that are not learned and measure accuracy.", gauge, float64(v.Samples.HeldOut))
	tell("ocl_samples_forgotten", "Samples that were forgotten, of those whose ids are known.", gauge,
		float64(v.Samples.Forgotten))
	if v.Answers != nil {
		tell("ocl_accuracy_recent", "Share of the last samples that were predicted right before they were learned.", gauge,
			v.Answers.Recent)
	}
	if v.HeldOut != nil {
		tell("ocl_accuracy_held_out", "Accuracy on the held-out samples.", gauge, v.HeldOut.Accuracy)
		tell("ocl_forgetting_held_out", "Mean over classes of the best accuracy less the one now, on the held-out samples.",
			gauge, v.HeldOut.Forgetting)
	}
	tell("ocl_drifts_total", "Changes of the error that ADWIN has found.", counter, float64(v.Drift.Found))
	tell("ocl_memory_stored", "Pictures in the memory of the learner.", gauge, float64(v.Memory.Stored))
	tell("ocl_memory_capacity", "Pictures for which the memory of the learner has room.", gauge,
		float64(v.Memory.Capacity))
	tell("ocl_journal_bytes", "Size of the journal.", gauge, float64(v.Disk.Journal))
	tell("ocl_snapshots_bytes", "Size of the snapshots and versions.", gauge, float64(v.Disk.Snapshots))
	tell("ocl_classes", "Classes that are known.", gauge, float64(len(v.Classes)))
	for _, class := range v.Classes {
		tell("ocl_class_learned_total", "Samples of a class that were learned.", counter, float64(class.Learned), "class",
			class.Name)
		if class.Accuracy != nil {
			tell("ocl_class_accuracy", "Accuracy on the held-out samples of a class.", gauge, *class.Accuracy, "class",
				class.Name)
		}
		if class.Forgetting != nil {
			tell("ocl_class_forgetting", "Best accuracy of a class less the one now, on its held-out samples.", gauge,
				*class.Forgetting, "class", class.Name)
		}
	}
}
