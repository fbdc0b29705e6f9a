package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ocl/learn/method"
	"ocl/run/result"
)

// withMemory lists the methods that keep a memory.
func withMemory() []string {
	var names []string
	for _, info := range method.Catalogue() {
		if info.UsesMemory && !info.OwnNetworks { // which has no features for class means
			names = append(names, info.Name)
		}
	}
	return names
}

// TestClassifiersSideBySide: of every method with a memory the head's numbers are the same bits with and without ncm,
// and those of ncm the same as the second and as the only classifier; the own rule of some is ncm.
func TestClassifiersSideBySide(t *testing.T) {
	t.Parallel()
	c := tiny()
	c.Methods, c.Runs = withMemory(), 1
	numbers := func(names ...string) []*result.Result {
		c.Classifiers = names
		return mustRun(t, c, Options{})
	}
	head, both, ncm := numbers("head"), numbers("head", "ncm"), numbers("ncm")
	for i, name := range c.Methods {
		second := both[i].Classifiers["ncm"]
		for _, d := range []string{
			cmp.Diff(head[i].Accuracy, both[i].Accuracy), cmp.Diff(head[i].Metrics, both[i].Metrics),
			cmp.Diff(head[i].PerClass, both[i].PerClass),
			cmp.Diff(ncm[i].Accuracy, second.Accuracy), cmp.Diff(ncm[i].Metrics, second.Metrics),
		} {
			if d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
		if len(both[i].Classifiers) != 1 || head[i].Classifiers != nil || ncm[i].Classifiers != nil {
			t.Errorf("%s: classifiers %v, %v, %v", name, head[i].Classifiers, both[i].Classifiers, ncm[i].Classifiers)
		}
		info, err := method.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if same := cmp.Equal(both[i].Accuracy, second.Accuracy); same != info.ClassMeans {
			t.Errorf("%s: head and ncm have the same accuracies: %v", name, same)
		}
		if !(both[i].Seconds.Prepare > 0) {
			t.Errorf("%s: class means took %v seconds", name, both[i].Seconds.Prepare)
		}
	}
}

func TestClassifierFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		classifiers, methods []string
		want                 string
	}{
		{[]string{"head", "ncm"}, []string{"er", "finetune", "lwf"},
			"config: classifiers: ncm needs stored samples, but there are none with finetune, lwf"},
		{[]string{"head", "nmc"}, []string{"er"},
			`config: classifiers (--classifiers): unknown value "nmc". Did you mean ncm?`},
		{[]string{"ncm", "ncm"}, []string{"er"}, "config: classifiers (--classifiers): ncm is listed twice"},
		{nil, []string{"er"}, "config: classifiers (--classifiers): the list is empty"},
	} {
		c := tiny()
		c.Classifiers, c.Methods = tt.classifiers, tt.methods
		if err := Schema().Validate(c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v for %v:\ngot  %v\nwant %s", tt.classifiers, tt.methods, err, tt.want)
		}
	}
	c := tiny()
	if err := Schema().Set(&c, "classifiers", "ncm,head"); err != nil ||
		!slices.Equal(c.Classifiers, []string{"ncm", "head"}) {
		t.Error(c.Classifiers, err)
	}
}
