// Package archtest holds tests over the whole tree and no code: that imports follow the graph of docs/ARCHITECTURE.md,
// that every package says what it is for, that generated files are up to date and that an equation or algorithm of the
// survey is cited in exactly one place. It knows nothing of what the packages do.
package archtest
