package experiment

// Config describes an experiment: one stream, one or more methods, one or more seeds. It is resolved as defaults, then
// file, then flags; the resolved struct is saved with every result.
type Config struct {
	Data      DataConfig                `yaml:"data" json:"data"`
	Stream    StreamConfig              `yaml:"stream" json:"stream"`
	Methods   []string                  `yaml:"methods" json:"methods"`                   // names of the catalogue
	Method    map[string]map[string]any `yaml:"method,omitempty" json:"method,omitempty"` // method.<name>.<option>
	Memory    int                       `yaml:"memory" json:"memory"`                     // M, samples; ignored by methods without memory
	Replay    ReplayConfig              `yaml:"replay" json:"replay"`
	Network   NetworkConfig             `yaml:"network" json:"network"`
	Optimizer OptimizerConfig           `yaml:"optimizer" json:"optimizer"`
	Protocol  string                    `yaml:"protocol" json:"protocol"` // standard | survey | tuning
	Eval      string                    `yaml:"eval" json:"eval"`         // seen | all | final; "" = by scenario
	Seed      uint64                    `yaml:"seed" json:"seed"`
	Runs      int                       `yaml:"runs" json:"runs"` // seeds seed, seed+1, … for each method
}

// DataConfig names the data set and where it lies.
type DataConfig struct {
	Name string `yaml:"name" json:"name"` // glyphs | cifar100 | npz
	Dir  string `yaml:"dir" json:"dir"`   // folder or archive
	// Size is the side in pixels and TrainPerClass, TestPerClass the images a class, for glyphs.
	Size          int `yaml:"size" json:"size"`
	TrainPerClass int `yaml:"train_per_class" json:"train_per_class"`
	TestPerClass  int `yaml:"test_per_class" json:"test_per_class"`
}

// StreamConfig says how the data become tasks and batches.
type StreamConfig struct {
	Tasks      int       `yaml:"tasks" json:"tasks"`
	Batch      int       `yaml:"batch" json:"batch"`                   // b, samples in an incoming batch
	ClassOrder any       `yaml:"class_order" json:"class_order"`       // random | given | list of all classes
	DropLast   *bool     `yaml:"drop_last" json:"drop_last"`           // nil: by protocol (survey drops, standard learns)
	Augment    bool      `yaml:"augment" json:"augment"`               // crop and flip
	Mean       []float64 `yaml:"mean,omitempty" json:"mean,omitempty"` // normalisation, a value a channel
	Std        []float64 `yaml:"std,omitempty" json:"std,omitempty"`
}

// ReplayConfig holds what the replay methods share.
type ReplayConfig struct {
	Batch      int  `yaml:"batch" json:"batch"`           // rows replayed beside each incoming batch
	Iterations int  `yaml:"iterations" json:"iterations"` // steps on each incoming batch
	Joint      bool `yaml:"joint" json:"joint"`           // one concatenated pass instead of two
}

// NetworkConfig names the network.
type NetworkConfig struct {
	Name   string `yaml:"name" json:"name"`     // resnet18 | mlp
	Width  int    `yaml:"width" json:"width"`   // nf of resnet18
	Hidden []int  `yaml:"hidden" json:"hidden"` // hidden layers of mlp
}

// OptimizerConfig describes the optimiser.
type OptimizerConfig struct {
	Name        string  `yaml:"name" json:"name"` // sgd | adam
	LR          float64 `yaml:"lr" json:"lr"`
	WeightDecay float64 `yaml:"weight_decay" json:"weight_decay"`
	Momentum    float64 `yaml:"momentum" json:"momentum"`
}
