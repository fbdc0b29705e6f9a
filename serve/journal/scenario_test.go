package journal

import (
	"errors"
	"fmt"
	"io"

	"ocl/checkpoint"
)

// scenario does everything that a journal does with its files, and writes the last number after each answer, as load
// does. An error that says that there is no room must have changed nothing, and what follows must work; after any other
// error of the disk, all must fail.
func scenario(dir string, out io.Writer) error {
	j, err := Open(dir, Options{})
	if err != nil {
		fmt.Fprintln(out, "opening:", err)
		if j, err = Open(dir, Options{}); err != nil { // the fault came once
			return fmt.Errorf("opening again: %w", err)
		}
	}
	s := j.(*store)
	did := func(what string, err error) error {
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrNoRoom):
			fmt.Fprintln(out, "no room:", err)
			return nil
		case errors.Is(err, ErrBroken):
			fmt.Fprintln(out, "broken:", err)
			_, appending := j.Append(samples(j.Last()+1, 1))
			for _, err := range []error{appending, j.Trim(1), j.Erase(nil), j.Read(1, func(Event) error { return nil })} {
				if !errors.Is(err, ErrBroken) {
					return fmt.Errorf("%s broke the journal, and a later call: %w", what, err)
				}
			}
			return io.EOF
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	add := func(n int) error {
		before := j.Last()
		_, err := j.Append(samples(before+1, n))
		if err != nil && j.Last() != before {
			return fmt.Errorf("%d events were appended with the error %w", j.Last()-before, err)
		}
		if err == nil {
			fmt.Fprintln(out, j.Last())
		}
		return did("appending", err)
	}
	fmt.Fprintln(out, -3)
	for _, do := range []func() error{
		func() error { return add(1) },
		func() error { return add(12) },
		func() error { return add(2) },
		func() error { // what is done when the log is long
			s.mu.Lock()
			s.wrote, s.logged = 0, logBytes
			s.grown()
			s.mu.Unlock()
			s.moving.Wait()
			return nil
		},
		func() error { return add(3) },
		func() error { return did("erasing", j.Erase([]string{sample(3).ID})) },
		func() error { return add(1) },
		func() error { return did("trimming", j.Trim(5)) },
		func() error { return did("erasing again", j.Erase([]string{sample(3).ID})) },
		func() error { return add(1) },
	} {
		if err := do(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
	}
	files := Snapshots(dir)
	for n := range int64(3) {
		if err := files.Write(max(0, j.Last()-n), checkpoint.NewContainer()); err != nil {
			fmt.Fprintln(out, "snapshot:", err)
		}
	}
	if err := files.RemoveExcept(j.Last()); err != nil {
		fmt.Fprintln(out, "removing:", err)
	}
	if err := j.Close(); err != nil {
		fmt.Fprintln(out, "closing:", err)
	}
	return nil
}
