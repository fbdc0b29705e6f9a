package learner

import (
	"ocl/learn/loss"
)

// NewLwF makes r, a learner without memory that was not used yet, learn without forgetting (LwF, survey §methods, par:
// LwF): no memory, but a teacher, the network as the last task left it. On each incoming batch
//
//	L(θ) = w·L_CE(θ) + (1 − w)·L_KD(θ),   w = |C_new| / (|C_old| + |C_new|)
//
// with |C_new| the classes of this task and |C_old| those of the earlier ones, a class counted once for every task it
// occurs in, and L_KD the loss of the network's logits against the teacher's on the same images, [loss.Distillation].
// In the first task there is no teacher, and LwF is [Replay] without memory. It is the trick KDC without a memory. If
// mc is set it is LwF.MC instead, whose loss is [loss.LwFMC].
func NewLwF(r *Replay, mc bool) Bounded {
	r.Classes, r.Teacher = &Classes{}, &Teacher{}
	r.Criterion = loss.Distilled{}
	if mc {
		r.Criterion = loss.LwFMC{}
	}
	return Bounded{r}
}
