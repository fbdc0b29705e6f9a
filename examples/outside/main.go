// Command outside is ocl with three more methods, ER-ACE, DER++ and SCR, from a module of its own. Each of them is one
// file, which registers the method.
package main

import (
	"context"
	"os"

	"ocl/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:]...)) }
