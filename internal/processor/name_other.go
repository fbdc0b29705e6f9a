//go:build !linux && !darwin

package processor

func name() string { return "" }
