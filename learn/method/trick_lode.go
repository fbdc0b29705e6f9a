package method

import "ocl/learn/loss"

var lodeRho = Option{Name: "rho", Default: 0.05, Most: 1e6,
	Meaning: "ρ; β = ρ·new/old is the weight of telling the classes of the batch apart from all others"}

var trickDecoupled = Trick{
	Name:    "lode",
	Title:   "Loss decoupling",
	Summary: "Tell the classes of a batch apart with full weight, and from all other classes with a small one.",
	Idea: "What the loss on incoming samples says of their own classes harms no old class. What it says of all other classes pushes the old " +
		"ones down. Both parts have weights of their own, and the second one is the smaller the more classes are old. Replayed samples are learned as before.",
	Formula:  "ℓ(x, y) = lse_B(s) − s_y + β·(lse(s) − lse_B(s)) on B_n,  β = ρ·|C_B|/|C_seen \\ C_B|,  lse_B over the classes of B_n alone;  ℓ_CE on B_M",
	Citation: "Liang and Li, Loss Decoupling for Task-Agnostic Continual Learning, NeurIPS 2023",
	Options:  []Option{lodeRho},
	Cost:     "1 ×",
	Expect: "For tasks of new classes, at no cost; not where old classes keep coming with the new ones, which then are few of the classes of a batch. " +
		"Forgets less than ER, and learns new classes a little more slowly; with β = 1 it is ER.",
	Fills: Fills{Labels: loss.Decoupled{Rho: 0.05}, Seen: true},
	With: func(s Setup) Fills {
		return Fills{Labels: loss.Decoupled{Rho: TrickOptionOf[float64](s, "lode", lodeRho)}, Seen: true}
	},
}
