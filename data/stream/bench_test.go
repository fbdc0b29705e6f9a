package stream

import (
	"os"
	"testing"

	"ocl/data"
)

// BenchmarkBatches delivers training batches of 10 images from the real data of OCL_DATA, per batch: what a step waits
// for its images. The time to disturb the images of NS-MiniImageNet is in it.
func BenchmarkBatches(b *testing.B) {
	dir := os.Getenv("OCL_DATA")
	if dir == "" {
		b.Skip("OCL_DATA is unset; set it to the folder that holds cifar-100-binary and mini-imagenet")
	}
	for _, c := range []struct {
		name string
		spec data.Spec
		o    Options
	}{
		{"cifar100", data.Spec{Name: "cifar100", Dir: dir + "/cifar-100-binary"}, Options{Tasks: 20}},
		{"mini-imagenet", data.Spec{Name: "mini-imagenet", Dir: dir}, Options{Tasks: 20}},
		{"noise", data.Spec{Name: "mini-imagenet", Dir: dir}, Options{Tasks: 10, Shift: Shift{Kinds: []string{"noise"}}}},
		{"occlusion", data.Spec{Name: "mini-imagenet", Dir: dir},
			Options{Tasks: 10, Shift: Shift{Kinds: []string{"occlusion"}}}},
		{"blur", data.Spec{Name: "mini-imagenet", Dir: dir}, Options{Tasks: 10, Shift: Shift{Kinds: []string{"blur"}}}},
		{"cross-image", data.Spec{Name: "mini-imagenet", Dir: dir},
			Options{Tasks: 10, Shift: Shift{Kinds: []string{"blur"}, CrossImage: true}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			set, err := data.Open(b.Context(), c.spec)
			if err != nil {
				b.Fatal(err)
			}
			c.o.Batch = 10
			batches := 0
			whole := func() {
				s, err := Split(set, c.o)
				if err != nil {
					b.Fatal(err)
				}
				for task := range s.Info().Tasks {
					for _, err := range s.Train(task) {
						if err != nil {
							b.Fatal(err)
						}
						batches++
					}
				}
			}
			whole() // it reads the images from the disk
			batches = 0
			for b.Loop() {
				whole()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(batches), "µs/batch")
		})
	}
}
