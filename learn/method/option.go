package method

import "ocl/config"

// Option is a setting of one method alone, true or false, text, a whole number or a number: as Default is.
type Option = config.Option

// Grid is the hyperparameters to try together: every combination of a value of each axis.
type Grid []Axis

// Axis is the values of one key of the config.
type Axis struct {
	Key    string // such as optimizer.lr or method.ewc++.lambda
	Values []any
}

// Data is a column of the survey's table:hyper for which a method may have separate values.
type Data string

// Columns of the table other than CIFAR-100, which is [Info.Paper].
const (
	MiniImageNet   Data = "Mini-ImageNet"
	CORe50NC       Data = "CORe50-NC"
	CORe50NI       Data = "CORe50-NI"
	NSMiniImageNet Data = "NS-MiniImageNet"
)

// Advice says how to choose the value of an option, or of a setting of all methods, that decides whether a method
// works.
type Advice struct{ Of, Text string }

// grid is the axes that nearly all methods tune, followed by further ones.
func grid(rates, decays []any, more ...Axis) Grid {
	return append(Grid{{"optimizer.lr", rates}, {"optimizer.weight_decay", decays}}, more...)
}

// both is a Tuning with the same grid for the survey and for its authors' files.
func both(g Grid) Tuning { return Tuning{Paper: g, Authors: g} }

// Learning rates and weight decays of table:hyper.
var (
	rates7  = []any{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1}
	rates4  = []any{0.0001, 0.001, 0.01, 0.1}
	decays4 = []any{0.0001, 0.001, 0.01, 0.1}
	decays2 = []any{0.0001, 0.001}
)
