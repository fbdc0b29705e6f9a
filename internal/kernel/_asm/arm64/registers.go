package arm64

import (
	"fmt"
	"maps"
	"slices"
)

// registers are those that a function may use. R18 belongs to the operating system, R27 to the assembler, R28 and R29
// to Go, and R16 and R17 to the linker.
var registers = map[class][]int{
	general: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22, 23, 24, 25, 26},
	vector: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
		30, 31},
}

// graph says which values are live at the same time.
type graph map[value]set

func (g graph) join(a, b value) {
	if a != b {
		g[a][b], g[b][a] = true, true
	}
}

// interference is the graph, and the copies.
func (f *function) interference() (graph, []*instruction) {
	g := graph{}
	for v := range f.values {
		g[value(v)] = set{}
	}
	var moves []*instruction
	for _, b := range f.blocks() {
		live := b.out.copy()
		for k := b.to - 1; k >= b.from; k-- {
			i := f.list[k]
			if i.move {
				moves = append(moves, i)
			}
			for _, d := range i.defs {
				for v := range live {
					if f.values[v] == f.values[d] && (!i.move || v != i.uses[0]) {
						g.join(d, v)
					}
				}
				for _, other := range i.defs {
					g.join(d, other)
				}
			}
			live.before(i)
		}
	}
	return g, moves
}

// allocate gives each value a register such that none holds two values at the same time. It first makes one value of
// the two of a copy where that makes no other harder to place (Briggs et al. 1994).
func (f *function) allocate() ([]int, error) {
	g, moves := f.interference()
	root := map[value]value{}
	find := func(v value) value {
		for {
			r, ok := root[v]
			if !ok {
				return v
			}
			v = r
		}
	}
	for _, m := range moves {
		a, b := find(m.defs[0]), find(m.uses[0])
		if a == b || g[a][b] {
			continue
		}
		k := len(registers[f.values[a]])
		hard := 0
		both := g[a].copy()
		maps.Copy(both, g[b])
		for v := range both {
			if len(g[v]) >= k {
				hard++
			}
		}
		if hard >= k {
			continue
		}
		for v := range g[b] {
			delete(g[v], b)
			g.join(a, v)
		}
		delete(g, b)
		root[b] = a
	}
	return f.colour(g, find)
}

// colour takes away values with few neighbours first, and gives registers in the opposite order.
func (f *function) colour(g graph, find func(value) value) ([]int, error) {
	degree := map[value]int{}
	for v, n := range g {
		degree[v] = len(n)
	}
	var stack []value
	for len(degree) > 0 {
		best := none
		for _, v := range slices.Sorted(maps.Keys(degree)) {
			if best == none || f.spare(v, degree[v]) > f.spare(best, degree[best]) {
				best = v
			}
		}
		delete(degree, best)
		for n := range g[best] {
			if _, ok := degree[n]; ok {
				degree[n]--
			}
		}
		stack = append(stack, best)
	}
	numbers := map[value]int{}
	for _, v := range reversed(stack) {
		taken := map[int]bool{}
		for n := range g[v] {
			if r, ok := numbers[n]; ok {
				taken[r] = true
			}
		}
		at := slices.IndexFunc(registers[f.values[v]], func(r int) bool { return !taken[r] })
		if at < 0 {
			return nil, fmt.Errorf("too few registers of class %d", f.values[v])
		}
		numbers[v] = registers[f.values[v]][at]
	}
	all := make([]int, len(f.values))
	for v := range all {
		all[v] = numbers[find(value(v))]
	}
	return all, nil
}

// spare is how many registers are left for a value of so many neighbours.
func (f *function) spare(v value, neighbours int) int {
	return len(registers[f.values[v]]) - neighbours
}
