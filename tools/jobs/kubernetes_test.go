// Package jobs holds the job files that ocl writes against the types of their engines.
package jobs

import (
	"os"
	"path/filepath"
	"testing"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// TestKubernetes: Kubernetes knows every key of the job file, and the values have its types. A job of shards is indexed, and its pods are
// not started again in their place: a limit of failures for each index and a policy for failed pods need both.
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
		if job.APIVersion != "batch/v1" || job.Kind != "Job" || s.CompletionMode == nil || *s.CompletionMode != batch.IndexedCompletion ||
			s.BackoffLimitPerIndex == nil || s.Template.Spec.RestartPolicy != "Never" || *s.Completions != 20 || *s.Parallelism != 16 {
			t.Errorf("%s: %+v", path, s)
		}
		if c := s.Template.Spec.Containers[0]; c.Resources.Requests.Cpu().String() != "4" || c.Resources.Requests.Memory().String() != "6Gi" || *s.PodFailurePolicy.Rules[1].OnExitCodes.ContainerName != c.Name {
			t.Errorf("%s: %+v", path, c)
		}
	}
}
