package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ocl/internal/atomicfile"
	"ocl/internal/input"
)

// Numbered are checkpoint files in a folder, one for each of some numbers (≥ 0), such as step-12.ckpt. Each appears
// whole or not at all, and its checksums are checked when it is read.
type Numbered struct {
	Folder         string
	Prefix, Suffix string // of a name, around its number
	What           string // what a file is, for messages: "checkpoint"
	Private        bool   // nobody but their owner may read the folder and the files; else the folder has to be there
	Lost           string // what a person does where all are damaged
}

// Path returns the path of the file of a number.
func (n Numbered) Path(number int64) string {
	return filepath.Join(n.Folder, n.Prefix+strconv.FormatInt(number, 10)+n.Suffix)
}

// numberOf reads the number from the name of a file, and says whether it is one of these.
func (n Numbered) numberOf(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, n.Prefix)
	digits, ok2 := strings.CutSuffix(digits, n.Suffix)
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, ok && ok2 && err == nil && number >= 0 && strconv.FormatInt(number, 10) == digits
}

// isLeftOver says whether a crash left a file of this name while one of these was written.
func (n Numbered) isLeftOver(name string) bool {
	target, _, ok := strings.Cut(strings.TrimPrefix(name, "."), n.Suffix)
	target += n.Suffix
	_, is := n.numberOf(target)
	return ok && is && atomicfile.IsTemporary(name, target)
}

// Numbers lists the numbers of the files, whole or damaged, the lowest first. A folder that is missing has none.
func (n Numbered) Numbers() (numbers []int64, err error) {
	names, err := n.names()
	for _, name := range names {
		if number, ok := n.numberOf(name); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

func (n Numbered) names() (names []string, err error) {
	entries, err := input.ReadDir(n.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Write writes the file of a number, in place of one that is there. Without an error it is on the disk. With one, the
// number has the file that it had, or the new one where only its name is not known to be on the disk; a private folder
// may have been made.
func (n Numbered) Write(number int64, c *Container) (err error) {
	if number < 0 {
		panic(fmt.Sprintf("checkpoint: %s %d", n.What, number))
	}
	write := atomicfile.Write
	if n.Private {
		write = atomicfile.WritePrivate
		err = atomicfile.MakePrivateFolder(n.Folder)
	}
	if err == nil {
		err = write(n.Path(number), func(w io.Writer) error {
			_, err := c.WriteTo(w)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Read reads the file of a number. The error wraps fs.ErrNotExist where there is none, [ErrCorrupt] where it is
// damaged, and what accept, which may be nil, says against what was read.
func (n Numbered) Read(number int64, accept func(Loaded) error) (Loaded, error) {
	got, err := Read(n.Path(number))
	if got.Number = number; err == nil && accept != nil {
		if err = accept(got); err != nil {
			err = fmt.Errorf("checkpoint: %s: %w", got.Path, err)
		}
	}
	if err != nil {
		return Loaded{}, err
	}
	return got, nil
}

// Newest reads the file of the highest number that is not damaged and that accept, which may be nil, has nothing
// against. What wraps [ErrCorrupt], of accept too, passes a file over; any other error ends the search and is returned.
// The error wraps fs.ErrNotExist if there is no file. If all are damaged, it wraps ErrCorrupt and says what is wrong
// with each.
func (n Numbered) Newest(accept func(Loaded) error) (Loaded, error) {
	numbers, err := n.Numbers()
	if err != nil {
		return Loaded{}, err
	}
	if len(numbers) == 0 {
		return Loaded{}, n.none()
	}
	var skipped []error
	for _, number := range slices.Backward(numbers) {
		got, err := n.Read(number, accept)
		if err == nil {
			got.Skipped = skipped
			return got, nil
		}
		if !errors.Is(err, ErrCorrupt) { // a person decides about a file that cannot be read or has another version
			if errors.As(err, new(*fs.PathError)) {
				err = fmt.Errorf("%w. Mend it, or remove it to continue from the %s before it", err, n.What)
			}
			return Loaded{}, err
		}
		skipped = append(skipped, err)
	}
	return Loaded{}, fmt.Errorf("checkpoint: %s: all %d %ss are damaged. %s: %w", n.Folder, len(skipped), n.What, n.Lost,
		errors.Join(skipped...))
}

func (n Numbered) none() error {
	return fmt.Errorf("checkpoint: %s: the folder has no %s: %w", n.Folder, n.What, fs.ErrNotExist)
}

// Remove removes the files that goes tells, and what crashes left half written, and returns an error for each that
// stays. The caller writes none meanwhile.
func (n Numbered) Remove(goes func(int64) bool) (faults []error) {
	names, err := n.names()
	if err != nil {
		return []error{err}
	}
	for _, name := range names {
		if number, ok := n.numberOf(name); ok && !goes(number) || !ok && !n.isLeftOver(name) {
			continue
		}
		if err := os.Remove(filepath.Join(n.Folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, fmt.Errorf("checkpoint: an old %s stays: %w. Remove it by hand", n.What, err))
		}
	}
	return faults
}
