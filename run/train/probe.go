package train

import (
	"context"
	"fmt"

	"ocl"
	"ocl/learn/probe"
	"ocl/nn"
	"ocl/nn/tensor"
	"ocl/run/result"
)

// checkProbe refuses a probe for a learner that does not show the features of one network.
func (c *Classifiers) checkProbe() error {
	if c.Open == nil {
		return fmt.Errorf("eval_probe: a probe needs the features of one network, but the method shows none. Remove eval_probe")
	}
	return nil
}

// probed is what a probe finds out after the last task; nil where no probe is wanted. It takes the first images of each
// class of the stream, and tests on all test images.
func (r *run) probed(ctx context.Context) (*result.Probe, error) {
	info, each := r.Stream.Info(), r.Job.Config.EvalProbe
	if each == 0 || r.at.Task != len(info.Tasks)-1 {
		return nil, nil
	}
	parts := r.tests.classifiers.Open.Parts()
	features := func(b ocl.Batch, rows []int) []float32 {
		out, all := parts.Net.Predict(parts.WS, b.X).Features, []float32(nil)
		for _, i := range rows {
			all = append(all, out.Row(i)...)
		}
		return all
	}
	var x []float32
	var y []ocl.Label
	counts := make([]int, info.Classes)
	for t := range info.Tasks {
		for at := 0; ; at++ {
			b, err := r.Stream.Peek(t, at)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			if b.Len() == 0 {
				break
			}
			var rows []int
			for i, k := range b.Y {
				if counts[k] < each {
					counts[k]++
					rows = append(rows, i)
				}
			}
			if len(rows) > 0 {
				x = append(x, features(b, rows)...)
				for _, i := range rows {
					y = append(y, b.Y[i])
				}
			}
		}
	}
	c := r.Job.Config.Engine
	p, err := probe.Fit(ctx, tensor.Of(x, len(y), parts.Net.Info().FeatureDim), y, info.Classes,
		nn.Engine{Kernel: c.Kernel, Convolution: c.Convolution}, r.Workers)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	res := &result.Probe{Trained: len(y), Iterations: p.Iterations, Converged: p.Converged}
	for set := range info.TestSets() {
		for b, err := range r.Stream.Test(set) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			labels := make([]ocl.Label, b.Len())
			p.Classify(labels, parts.Net.Predict(parts.WS, b.X).Features)
			for i, k := range labels {
				if k == b.Y[i] {
					res.Right++
				}
			}
			res.Samples += b.Len()
		}
	}
	return res, nil
}
