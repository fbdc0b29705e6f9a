package main

import (
	"context"
	"io"
	"strconv"

	"ocl/data"
	"ocl/experiment/trained"
	"ocl/interop/onnx"
)

// exportONNX exports the classifier of a run as an ONNX model.
func exportONNX(ctx context.Context, run, out string) (string, error) {
	return exportTrained(ctx, run, out, ".onnx", func(t *trained.Model) (func(io.Writer) error, error) {
		m, err := onnxModel(ctx, t)
		return func(w io.Writer) error { return onnx.Write(w, m) }, err
	})
}

// onnxModel is what a trained learner predicts by, as package onnx wants it.
func onnxModel(ctx context.Context, t *trained.Model) (onnx.Model, error) {
	rules, err := t.Rules(ctx)
	if err != nil {
		return onnx.Model{}, err
	}
	info, err := data.Lookup(t.Config.Data.Name)
	if err != nil {
		return onnx.Model{}, err
	}
	m := onnx.Model{
		Net: t.Net, Mean: t.Config.Stream.Mean, Std: t.Config.Stream.Std, ClassNames: t.ClassNames, Version: release,
		Facts: []onnx.Fact{{Key: "checkpoint", Value: t.Digest}, {Key: "method", Value: t.Config.Methods[0]}, {Key: "tricks", Value: t.Config.Tricks[0]},
			{Key: "data", Value: t.Config.Data.Name}, {Key: "tasks_learned", Value: strconv.Itoa(t.Tasks)}},
	}
	var stretch bool
	if stretch, m.Inner = info.Fit(t.Info.Height, t.Info.Width); stretch {
		m.Fit = onnx.Stretch
	}
	var means *onnx.Means
	for _, r := range rules {
		rule := onnx.Rule{Name: r.Classifier}
		if r.Classes != nil {
			if means == nil { // another rule by class means, such as iCaRL's own beside ncm, has the same ones
				means = meansOf(r)
			}
			rule.Means = means
		}
		m.Rules = append(m.Rules, rule)
	}
	return m, nil
}

// meansOf are the class means of a rule.
func meansOf(r trained.Rule) *onnx.Means {
	m := &onnx.Means{Values: r.Means}
	for _, k := range r.Classes {
		m.Classes = append(m.Classes, int(k))
	}
	return m
}
