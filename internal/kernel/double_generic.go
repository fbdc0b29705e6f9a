package kernel

func addProductsGeneric(dst *[DoubleRows][]float64, x, f []float64) {
	n := len(f) / DoubleRows
	for at := 0; at < len(dst[0]); at += DoubleWidth {
		for i := range dst {
			addVectors((*[DoubleWidth]float64)(dst[i][at:]), x[at*n:][:n*DoubleWidth], f[i:], DoubleRows)
		}
	}
}

func sumProductsGeneric(dst, x, f []float64) {
	clear(dst[:DoubleWidth])
	addVectors((*[DoubleWidth]float64)(dst), x[:len(f)*DoubleWidth], f, 1)
}

// addVectors adds to dst the vectors of x, times every step-th factor. It takes four of them at once, which spares
// loads and stores of dst.
func addVectors(dst *[DoubleWidth]float64, x, f []float64, step int) {
	const w = DoubleWidth
	for ; len(x) >= 4*w; x, f = x[4*w:], f[min(4*step, len(f)):] {
		a, b, c, d := f[0], f[step], f[2*step], f[3*step]
		x := (*[4 * w]float64)(x)
		for j := range dst {
			v := dst[j] + float64(a*x[j])
			v += float64(b * x[j+w])
			v += float64(c * x[j+2*w])
			dst[j] = v + float64(d*x[j+3*w])
		}
	}
	for ; len(x) > 0; x, f = x[w:], f[min(step, len(f)):] {
		for j, v := range (*[w]float64)(x) {
			dst[j] += float64(f[0] * v)
		}
	}
}
