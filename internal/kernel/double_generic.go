package kernel

// addProductsGeneric keeps a part of a row in registers while it runs over the vectors.
func addProductsGeneric(dst *[DoubleRows][]float64, x, f []float64) {
	n := len(f) / DoubleRows
	for at := 0; at < len(dst[0]); at += DoubleWidth {
		strip := x[at*n:][:n*DoubleWidth]
		for i := range dst {
			for j := 0; j < DoubleWidth; j += 4 {
				d := dst[i][at+j:][:4]
				p, q, r, s := d[0], d[1], d[2], d[3]
				for v := 0; v < n; v++ {
					a, b := f[v*DoubleRows+i], strip[v*DoubleWidth+j:][:4]
					p += float64(a * b[0])
					q += float64(a * b[1])
					r += float64(a * b[2])
					s += float64(a * b[3])
				}
				d[0], d[1], d[2], d[3] = p, q, r, s
			}
		}
	}
}

func sumProductsGeneric(dst, x, f []float64) {
	for j := 0; j < DoubleWidth; j += 4 {
		var p, q, r, s float64
		for v, a := range f {
			b := x[v*DoubleWidth+j:][:4]
			p += float64(a * b[0])
			q += float64(a * b[1])
			r += float64(a * b[2])
			s += float64(a * b[3])
		}
		dst[j], dst[j+1], dst[j+2], dst[j+3] = p, q, r, s
	}
}
