package build_test

import (
	"strings"
	"testing"

	"ocl"
	"ocl/config"
	"ocl/internal/limit"
	"ocl/learn/learner"
	"ocl/learn/method"
	"ocl/nn"
	"ocl/run/build"
)

// A name is registered once, and a test can run more than once.
func init() {
	method.Register(method.Info{
		Name: "projected", Text: method.Text{Title: "Projected"},
		Head:  func(method.Setup) nn.Head { return nn.Head{Kind: nn.ProjectionHead, Out: 5} },
		Build: func(s method.Setup) (ocl.Learner, error) { return &learner.Replay{Net: s.Net, WS: s.WS}, nil },
	})
}

// TestHeadOfMethod: the head that a method needs is that of its network, and a config with another one is refused.
func TestHeadOfMethod(t *testing.T) {
	c := config.Default()
	c.Network.Name, c.Network.Hidden = build.MLP, []int{7}
	for _, of := range []struct {
		method, head string
		want         nn.Head
		fault        string
	}{
		{"projected", "", nn.Head{Kind: nn.ProjectionHead, Hidden: 7, Out: 5}, ""},
		{"projected", "cosine", nn.Head{},
			"network.head: cosine is given, but projected needs another head (projection). Remove network.head"},
		{"er", "", nn.Head{Kind: nn.LinearHead}, ""},
		{"er", "linear", nn.Head{Kind: nn.LinearHead}, ""},
		{"er", "cosine", nn.Head{Kind: nn.CosineHead}, ""},
		{"cndpm", "", nn.Head{Kind: nn.LinearHead}, ""},
	} {
		c.Methods, c.Network.Head = []string{of.method}, of.head
		err := build.Schema().Validate(c)
		if of.fault != "" {
			if err == nil || !strings.Contains(err.Error(), of.fault) {
				t.Errorf("%s, %q: error %v, want one with %q", of.method, of.head, err, of.fault)
			}
			continue
		}
		net, made := build.NewNetwork(ocl.StreamInfo{Channels: 1, Height: 12, Width: 12, Classes: 3}, c, 0)
		if err != nil || made != nil || net.Info().Head != of.want {
			t.Errorf("%s, %q: %v, %v, head %v; want %v", of.method, of.head, err, made, net.Info().Head, of.want)
		}
	}
}

// TestMostClasses: a network with more classes than its checkpoint could be read with is refused before it is made.
func TestMostClasses(t *testing.T) {
	for _, name := range []string{"er", "slda", "cndpm"} {
		c := config.Default()
		c.Methods, c.Network.Name, c.Network.Hidden = []string{name}, build.MLP, []int{1}
		info := ocl.StreamInfo{Channels: 1, Height: 1, Width: 1, Classes: limit.KnownClasses}
		if _, err := build.NewNetwork(info, c, 0); err != nil {
			t.Errorf("%s, %d classes: %v", name, info.Classes, err)
		}
		for info.Classes++; info.Classes <= 100_000; info.Classes += 17_000 {
			for _, build := range []func() error{
				func() error { _, err := build.NewNetwork(info, c, 0); return err },
				func() error { _, err := build.NewNetwork(info, c, 10); return err },
				func() error { _, err := build.Outline(info, c); return err },
			} {
				if err := build(); err == nil || !strings.Contains(err.Error(),
					"65,536 are the limit of a network. Use data with fewer classes") {
					t.Errorf("%s, %d classes: %v", name, info.Classes, err)
				}
			}
		}
	}
}
