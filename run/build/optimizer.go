package build

import (
	"ocl/config"
	"ocl/learn/optim"
)

// optimizer describes an optimiser of the catalogue.
type optimizer struct {
	settings func(config.Optimizer) optim.Settings
	vectors  func(config.Optimizer) int // see OptimizerVectors
}

// optimizers are the values of the key optimizer.name.
var optimizers = map[string]optimizer{
	"sgd": {
		func(c config.Optimizer) optim.Settings {
			return optim.SGD{LR: c.LR, WeightDecay: c.WeightDecay, Momentum: c.Momentum}
		},
		func(c config.Optimizer) int {
			if c.Momentum > 0 {
				return 1
			}
			return 0
		},
	},
	"adam": {
		func(c config.Optimizer) optim.Settings { return optim.Adam{LR: c.LR, WeightDecay: c.WeightDecay} },
		func(config.Optimizer) int { return 2 },
	},
}

// newOptimizer returns the settings of an optimiser, nil for a name of a config that is not validated yet.
func newOptimizer(c config.Optimizer) optim.Settings {
	if of, known := optimizers[c.Name]; known {
		return of.settings(c)
	}
	return nil
}

// OptimizerVectors is how many vectors [P] of the parameters' length the optimiser of a validated config keeps.
func OptimizerVectors(c config.Optimizer) int { return optimizers[c.Name].vectors(c) }
