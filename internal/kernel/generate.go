package kernel

//go:generate go run -C _asm . -kernels conv -out ../conv_amd64.s -stubs ../conv_stub_amd64.go -without ../conv_stub_other.go -pkg kernel
//go:generate go run -C _asm . -kernels vector -out ../vector_amd64.s -stubs ../vector_stub_amd64.go -without ../vector_stub_other.go -pkg kernel
//go:generate go run -C _asm . -kernels winograd -out ../winograd_amd64.s -stubs ../winograd_stub_amd64.go -without ../winograd_stub_other.go -pkg kernel
