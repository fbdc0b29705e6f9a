// Package pickle reads the pickles that data sets are published as: CIFAR in its Python layout, the cache of Mini-ImageNet and the lists
// of CORe50. A pickle is a program that Python runs. Nothing is run here: a small machine knows the instructions and the calls that
// these files use, makes plain values and NumPy arrays of them, and refuses everything else by its name.
//
// The reader is our own, because github.com/nlpodyssey/gopickle (v0.2.0, 2023) allocates whatever length a file states, so 5 bytes take
// 2 GB, and boxes every number of a list.
//
// A file may be hostile. What is allocated is in proportion to its size, and a large array is read into memory once, without a copy.
//
// Errors say where in the file something is (`byte 57`, or `['data']` as Python writes it), what was found and what was wanted. They
// say nothing of a remedy: the caller knows the file's name and where to get it.
//
// Start with Read, with View for a file that is mapped into memory, or with the file of a data set: cifar.go, miniimagenet.go, core50.go.
package pickle
