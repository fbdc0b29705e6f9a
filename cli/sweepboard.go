package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"

	"ocl/internal/count"
	"ocl/run/result"
	"ocl/sweep/study"
	watching "ocl/view/watch"
)

// checkStatus refuses what is no address.
func (f *sweepFlags) checkStatus() error {
	if _, _, err := net.SplitHostPort(f.status); f.status != "" && err != nil {
		return fmt.Errorf("--status cannot be %q. Use a port with a colon, such as :8080, or an address and a port", f.status)
	}
	return nil
}

// board serves the page of the study until the returned function is called. address is such as :8080, which only this
// machine reaches.
func (v *sweepView) board(ctx context.Context, address, dir string, stderr io.Writer, quiet bool) (stop func(),
	err error) {
	if address == "" {
		return func() {}, nil
	}
	host, port, _ := net.SplitHostPort(address) // checkStatus has seen it
	address = net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port)
	on, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("sweep: --status: %s cannot be used: %w. Use another port", address, refused(err))
	}
	if ip := net.ParseIP(host); host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		fmt.Fprintf(stderr, "warning: everybody who reaches %s over the network can read the page of the study. Leave out the address if only this machine should\n",
			host)
	}
	if !quiet {
		fmt.Fprintf(stderr, "http://%s/ shows how far the study is\n", on.Addr())
	}
	return watching.ServeBoard(on, host, func() watching.Board { return v.boardOf(dir) }, func() []byte {
		text, err := json.MarshalIndent(v.status(dir), "", "  ")
		if err != nil {
			panic("sweep: the state of a study: " + err.Error()) // it has texts and finite numbers
		}
		return append(text, '\n')
	}), nil
}

// status is the JSON that `ocl sweep status --json` prints, as far as the view knows: what others do is looked at every
// ten seconds.
func (v *sweepView) status(dir string) studyStatus {
	s := studyStatus{Folder: dir, Cancelled: v.store.Cancelled(), List: []jobStatus{}}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, j := range v.jobs {
		st := v.stateOf(i)
		s.add(st)
		s.List = append(s.List, newJobStatus(j.Entry, st))
	}
	return s
}

// stateOf is the state of a job, which may be at work here. The caller holds the lock.
func (v *sweepView) stateOf(i int) study.State {
	r := v.own[v.jobs[i].Folder]
	if r == nil {
		return v.states[i]
	}
	return study.State{Phase: study.Running, Sure: true,
		Progress: study.Progress{Host: study.HostName(), PID: os.Getpid(), Step: r.ahead + r.step, Task: r.task,
			Tasks: r.tasks, Working: r.working, Seen: r.seen}}
}

// boardOf returns the content of the page.
func (v *sweepView) boardOf(dir string) watching.Board {
	v.mu.Lock()
	defer v.mu.Unlock()
	b := watching.Board{Name: filepath.Base(dir)}
	var n phaseCounts
	type hand struct {
		host string
		pid  int
	}
	hosts, hands, cells := map[string]int{}, map[hand]bool{}, map[string]int{}
	sums, shown := map[int]float64{}, map[int]int{} // of the accuracies of a cell
	all := 0.0
	for i, j := range v.jobs {
		st := v.stateOf(i)
		n.add(st)
		name := fmt.Sprintf("%s on %s", j.Name, j.Data)
		if j.Memory > 0 {
			name = fmt.Sprintf("%s, memory %s, on %s", j.Name, count.Number(j.Memory), j.Data)
		}
		at, there := cells[name]
		if !there {
			at = len(b.Cells)
			cells[name] = at
			b.Cells = append(b.Cells, watching.BoardCell{Name: name})
		}
		cell := &b.Cells[at]
		cell.Jobs++
		all += j.FLOPs
		switch st.Phase {
		case study.Done:
			cell.Done++
			if st.Accuracy != nil && st.Outcome == result.Finished {
				sums[at] += *st.Accuracy
				shown[at]++
				mean := sums[at] / float64(shown[at])
				cell.Accuracy = &mean
			}
		case study.Failed:
			b.Errors = append(b.Errors, watching.BoardError{Job: j.String(), Error: study.Problem(st.Error)})
		case study.Running:
			p := st.Progress
			job := watching.BoardJob{Name: j.String(), Host: p.Host, Seen: p.Seen,
				Share: float64(p.Step) / float64(max(j.Steps, 1))}
			if p.Task > 0 {
				job.Where = fmt.Sprintf("task %d of %d", p.Task, p.Tasks)
			}
			b.Work = append(b.Work, job)
			if at, there := hosts[p.Host]; there {
				b.Hosts[at].Jobs++
			} else {
				hosts[p.Host] = len(b.Hosts)
				b.Hosts = append(b.Hosts, watching.BoardHost{Name: p.Host, Jobs: 1})
			}
			if one := (hand{p.Host, p.PID}); !hands[one] {
				hands[one] = true
				b.Hosts[hosts[p.Host]].Processes++
			}
		}
	}
	b.Line = n.line()
	if all > 0 {
		b.Share = v.worked() / all
	}
	if left, ok := v.left(); ok {
		b.Left = duration(left)
	}
	slices.SortStableFunc(b.Cells, func(x, y watching.BoardCell) int {
		none := -1.0 // comes last
		return cmp.Compare(*cmp.Or(y.Accuracy, &none), *cmp.Or(x.Accuracy, &none))
	})
	return b
}
