package kernel

//go:generate go run -C _asm .
