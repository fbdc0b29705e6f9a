package arm64

import "slices"

// block is a run of instructions that begins at a label or behind a branch.
type block struct {
	from, to int // in function.list
	next     []int
	in, out  set // values that are live before and behind it
}

// set is a set of values.
type set map[value]bool

// blocks divides the list, and finds what is live.
func (f *function) blocks() []block {
	var all []block
	at := map[string]int{}
	from := 0
	cut := func(to int) {
		if to > from {
			all = append(all, block{from: from, to: to})
			from = to
		}
	}
	for k, i := range f.list {
		if i.label != "" {
			cut(k)
			at[i.label] = len(all)
		}
		if i.target != "" || i.ends {
			cut(k + 1)
		}
	}
	cut(len(f.list))
	for n := range all {
		last := f.list[all[n].to-1]
		if last.target != "" {
			all[n].next = append(all[n].next, at[last.target])
		}
		if !last.ends && n+1 < len(all) {
			all[n].next = append(all[n].next, n+1)
		}
		all[n].in, all[n].out = set{}, set{}
	}
	for changed := true; changed; {
		changed = false
		for n := len(all) - 1; n >= 0; n-- {
			b := &all[n]
			for _, next := range b.next {
				for v := range all[next].in {
					b.out[v] = true
				}
			}
			live := b.out.copy()
			for k := b.to - 1; k >= b.from; k-- {
				live.before(f.list[k])
			}
			if len(live) != len(b.in) {
				b.in, changed = live, true
			}
		}
	}
	return all
}

func (s set) copy() set {
	c := make(set, len(s))
	for v := range s {
		c[v] = true
	}
	return c
}

// before turns what is live behind an instruction into what is live before it.
func (s set) before(i *instruction) {
	for _, v := range i.defs {
		delete(s, v)
	}
	for _, v := range i.uses {
		s[v] = true
	}
}

// rename gives each definition in a block a value of its own, but for the last one of what is live behind the block.
func (f *function) rename() {
	for _, b := range f.blocks() {
		last := map[value]int{} // definition of each value in this block
		for k := b.from; k < b.to; k++ {
			if !f.list[k].tied {
				for _, v := range f.list[k].defs {
					last[v] = k
				}
			}
		}
		name := map[value]value{}
		for k := b.from; k < b.to; k++ {
			i := f.list[k]
			if len(i.regs) == 0 {
				continue
			}
			now := func(v value) value {
				if n, ok := name[v]; ok {
					return n
				}
				return v
			}
			uses, defs := slices.Clone(i.uses), slices.Clone(i.defs)
			for n, v := range uses {
				uses[n] = now(v)
			}
			if !i.tied {
				for n, v := range defs {
					if last[v] == k && b.out[v] {
						name[v] = v
					} else {
						name[v] = f.newValue(f.values[v])
					}
					defs[n] = name[v]
				}
			} else {
				for n, v := range defs {
					defs[n] = now(v)
				}
			}
			i.renameRegs(uses, defs)
		}
	}
}

// renameRegs puts other values in the places of the old ones. A register that is read and written by an instruction
// that is not tied stands in regs twice: sources first, but for words, whose first register is the destination.
func (i *instruction) renameRegs(uses, defs []value) {
	regs := slices.Clone(i.regs)
	for n, v := range i.regs {
		if k := slices.Index(i.uses, v); k >= 0 {
			regs[n] = uses[k]
		}
	}
	for k, d := range i.defs {
		at := len(regs) - 1 - slices.Index(reversed(i.regs), d)
		if i.word != 0 {
			at = 0
		}
		regs[at] = defs[k]
	}
	i.regs, i.uses, i.defs = regs, uses, defs
}

func reversed(v []value) []value {
	r := slices.Clone(v)
	slices.Reverse(r)
	return r
}

// unrepeated leaves out an instruction with a key where the same one was before it in its block.
func (f *function) unrepeated() {
	same := map[value]value{}
	for _, b := range f.blocks() {
		type known struct {
			uses []value
			def  value
		}
		seen := map[string][]known{}
		changed := set{} // what is loaded only to be changed, such as the addend of a multiply-add
		for _, i := range f.list[b.from:b.to] {
			if i.tied {
				changed[i.defs[0]] = true
			}
		}
		forget := func(v value) {
			for key, list := range seen {
				seen[key] = slices.DeleteFunc(slices.Clone(list), func(k known) bool { return k.def == v || slices.Contains(k.uses, v) })
			}
		}
		for k := b.from; k < b.to; k++ {
			i := f.list[k]
			uses := slices.Clone(i.uses)
			for n, v := range uses {
				if s, ok := same[v]; ok {
					uses[n] = s
				}
			}
			i.renameRegs(uses, i.defs)
			if i.key != "" && !b.out[i.defs[0]] && !changed[i.defs[0]] {
				at := slices.IndexFunc(seen[i.key], func(k known) bool { return slices.Equal(k.uses, i.uses) })
				if at >= 0 {
					same[i.defs[0]] = seen[i.key][at].def
					continue // prune takes it away
				}
			}
			for _, d := range i.defs {
				forget(d)
			}
			if i.key != "" && !slices.Contains(i.uses, i.defs[0]) && !changed[i.defs[0]] {
				seen[i.key] = append(seen[i.key], known{i.uses, i.defs[0]})
			}
		}
	}
}

// grouped joins loads of single floats that lie side by side and are only factors into loads of two and of four, as far
// as no memory is written and no address is changed between them.
func (f *function) grouped() {
	for _, b := range f.blocks() {
		for k := b.from; k < b.to; k++ {
			first := f.list[k]
			if !first.scalar || b.out[f.list[k].defs[0]] {
				continue
			}
			group := []int{k}
			for n := k + 1; n < b.to && len(group) < lanes; n++ {
				i := f.list[n]
				if slices.Contains(i.defs, first.uses[0]) || i.effect && i.target == "" {
					break
				}
				if i.scalar && i.uses[0] == first.uses[0] && i.disp == first.disp+len(group)*floatBytes && !b.out[i.defs[0]] {
					group = append(group, n)
				}
			}
			if len(group) == lanes-1 {
				group = group[:lanes/2]
			}
			if len(group) > 1 {
				f.group(b, group)
			}
		}
	}
}

// group makes one load of the loads at some places.
func (f *function) group(b block, at []int) {
	load := f.list[at[0]]
	all := load.defs[0]
	load.text = map[int]string{2: "FMOVD", lanes: "FMOVQ"}[len(at)] + load.text[len("FMOVS"):]
	load.scalar = false
	for n, k := range at[1:] {
		one := f.list[k].defs[0]
		f.list[k] = &instruction{key: gone}
		for _, i := range f.list[k:b.to] {
			if u := slices.Index(i.uses, one); u >= 0 {
				i.otherLane(one, all, n+1)
			}
		}
	}
}

// gone is the key of an instruction that group took away.
const gone = "gone"

// otherLane replaces lane 0 of one by a lane of all.
func (i *instruction) otherLane(one, all value, lane int) {
	o := atLane(i.whole, lane)
	i.word, i.text = o.word, o.text
	uses := slices.Clone(i.uses)
	for n, v := range uses {
		if v == one {
			uses[n] = all
		}
	}
	i.renameRegs(uses, i.defs)
}

// prune takes away what defines values that nothing uses, but for sums: those of fmaPeak are for nobody.
func (f *function) prune() {
	for changed := true; changed; {
		changed = false
		used := set{}
		for _, i := range f.list {
			for _, v := range i.uses {
				if i.effect || !slices.Contains(i.defs, v) {
					used[v] = true
				}
			}
		}
		f.list = slices.DeleteFunc(f.list, func(i *instruction) bool {
			unused := i.label == "" && !i.effect && !i.tied && !slices.ContainsFunc(i.defs, func(v value) bool { return used[v] })
			changed = changed || unused
			return unused
		})
	}
}
