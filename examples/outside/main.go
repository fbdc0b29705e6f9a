// Command outside is ocl with one more method, DER, from a module of its own. It is one file, which registers the
// method.
package main

import (
	"context"
	"os"

	"ocl/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:]...)) }
