// Package jobs holds the job files that ocl writes against the types of their engines.
package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestKubernetes: Kubernetes knows every key of the job file, and the values have its types. A job of shards is
// indexed, and its pods are not started again in their place: a limit of failures for each index and a policy for
// failed pods need both.
func TestKubernetes(t *testing.T) {
	files, err := filepath.Glob("../../cli/testdata/jobfile/kubernetes*.golden")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var job batch.Job
		if err := yaml.UnmarshalStrict(text, &job); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		s := job.Spec
		if job.APIVersion != "batch/v1" || job.Kind != "Job" || s.CompletionMode == nil ||
			*s.CompletionMode != batch.IndexedCompletion ||
			s.BackoffLimitPerIndex == nil || s.Template.Spec.RestartPolicy != "Never" || *s.Completions != 20 ||
			*s.Parallelism != 16 {
			t.Errorf("%s: %+v", path, s)
		}
		if c := s.Template.Spec.Containers[0]; c.Resources.Requests.Cpu().String() != "4" ||
			c.Resources.Requests.Memory().String() != "6Gi" || *s.PodFailurePolicy.Rules[1].OnExitCodes.ContainerName != c.Name {
			t.Errorf("%s: %+v", path, c)
		}
	}
}

// TestServe: Kubernetes knows every key of the example of `ocl serve`, and the Service finds the pods of the
// StatefulSet, of which there is one.
func TestServe(t *testing.T) {
	text, err := os.ReadFile("../../examples/serve/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(string(text), "\n---\n")
	var set apps.StatefulSet
	var service core.Service
	for document, into := range map[string]any{first: &set, second: &service} {
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Fatal(err)
		}
	}
	if set.APIVersion != "apps/v1" || set.Kind != "StatefulSet" || *set.Spec.Replicas != 1 || service.APIVersion != "v1" ||
		service.Kind != "Service" || set.Spec.ServiceName != service.Name {
		t.Errorf("%+v, %+v", set, service)
	}
	for key, value := range service.Spec.Selector {
		if set.Spec.Template.Labels[key] != value || set.Spec.Selector.MatchLabels[key] != value {
			t.Errorf("the label %s=%s is not that of the pods", key, value)
		}
	}
}
