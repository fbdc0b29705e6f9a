package nn

// room holds the buffers that the layers of a pass share, by role and shape. Passes that never run at the same time may
// share a room.
type room struct {
	buffers map[string][]float32
	made    [][]float32
	idle    [][]float32 // memory of another pass, which is taken where it is enough
	taken   [][]float32 // what was taken of it
}

func newRoom() *room { return &room{buffers: map[string][]float32{}} }

// buffer is that of a key, n zeros at first.
func (r *room) buffer(key string, n int) []float32 {
	b := r.buffers[key]
	if b == nil {
		b = r.floats(n)
		r.buffers[key] = b
	}
	return b
}

// floats is n zeros: of the smallest idle memory that has as many, or else new ones.
func (r *room) floats(n int) []float32 {
	best := -1
	for i, v := range r.idle {
		if len(v) >= n && (best < 0 || len(v) < len(r.idle[best])) {
			best = i
		}
	}
	if best < 0 {
		b := make([]float32, n)
		r.made = append(r.made, b)
		return b
	}
	b := r.idle[best][:n:n]
	r.idle[best] = r.idle[best][n:]
	r.taken = append(r.taken, b)
	clear(b)
	return b
}

// tenancy lets predictions use memory of the lanes of Accumulate, because a workspace never trains and predicts at the
// same time. Both rely on zeros in the borders of planes, so what is shared is cleared whenever its user changes: some
// megabytes before an evaluation, and again after it.
type tenancy struct {
	rooms     []*room // of the workers' passes for predictions
	predicted bool    // the user is a prediction
}

// room is the one of a worker's predictions.
func (t *tenancy) room(worker int, lanes []*lane) *room {
	for i := len(t.rooms); i <= worker; i++ {
		r := newRoom()
		if i < len(lanes) {
			r.idle = append(r.idle, lanes[i].pass.idle...)
		}
		t.rooms = append(t.rooms, r)
	}
	return t.rooms[worker]
}

// begin is called before lanes train or something is predicted.
func (t *tenancy) begin(predict bool) {
	if t.predicted == predict {
		return
	}
	t.predicted = predict
	for _, r := range t.rooms {
		for _, b := range r.taken {
			clear(b)
		}
	}
}
