package survey

import "slices"

// The tables of words, by their labels in the paper.
const (
	Datasets       = "tab:dataset"         // what each data set is cut into
	Disturbances   = "tab: ns_mini"        // how strongly each task of NS-MiniImageNet is disturbed (§app:exp_detail)
	Signals        = "tab: summary"        // what methods need and how they work, of the methods that the survey compares
	MethodComments = "tab: comment_method" // what the survey says of each method, in other words
	TrickComments  = "tab:comment_trick"   // what it says of each trick, in other words
)

// columns of the tables of words, behind the label.
var columns = map[string][]string{
	Datasets:     {"row", "tasks", "train", "test", "classes", "size", "setting"},
	Disturbances: {"row", "task", "strength"},
	Signals: {"row", "no task at test", "no task in training", "online", "regularisation", "memory", "distillation",
		"fixed architecture",
		"dynamic architecture", "generative"},
	MethodComments: {"row", "number", "comment"},
	TrickComments:  {"row", "number", "comment"},
}

// Words returns a table of words: a record for each line, with the columns of its file but for the label. The first one
// is the row.
func Words(label string) [][]string { return read(label, columns[label]...) }

// WordColumns are the columns of a table of words.
func WordColumns(label string) []string { return slices.Clone(columns[label]) }
