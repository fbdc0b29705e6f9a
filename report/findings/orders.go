package findings

// leads are the parts that a method is ahead of others at each size of the memory.
func leads(name string, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, other := range others {
				if other != name && published(other, m) {
					parts = append(parts, e.ahead(of(b, name, "none", m), of(b, other, "none", m), memory(m)))
				}
			}
		}
		return parts
	}
}

// behind are the parts that others are ahead of a method.
func behind(name string, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, other := range others {
				parts = append(parts, e.ahead(of(b, other, "none", m), of(b, name, "none", m), memory(m)))
			}
		}
		return parts
	}
}

// asGood are the parts that a method is as good as others.
func asGood(name string, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, other := range others {
				parts = append(parts, e.alike(of(b, name, "none", m), of(b, other, "none", m), memory(m)))
			}
		}
		return parts
	}
}

// helps are the parts that tricks raise the accuracy of methods.
func helps(methods, tricks []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, name := range methods {
				for _, trick := range tricks {
					parts = append(parts, e.ahead(of(b, name, trick, m), of(b, name, "none", m), memory(m)))
				}
			}
		}
		return parts
	}
}

// outdoes are the parts that a trick is ahead of others on the same method.
func outdoes(methods, tricks, others []string, at ...int) func(*evidence, string) []Part {
	return func(e *evidence, b string) (parts []Part) {
		for _, m := range at {
			for _, name := range methods {
				for _, trick := range tricks {
					for _, other := range others {
						parts = append(parts, e.ahead(of(b, name, trick, m), of(b, name, other, m), memory(m)))
					}
				}
			}
		}
		return parts
	}
}
