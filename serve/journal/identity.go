package journal

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ocl/checkpoint"
	"ocl/internal/atomicfile"
	"ocl/internal/cause"
	"ocl/internal/input"
	"ocl/internal/limit"
)

// The identity of a folder is drawn when it is set up: 32 hexadecimal digits in ocl-serve.json, in the journal and in
// each snapshot and version. So a file of another folder is noticed (TestForeignJournal, TestForeignFiles).

func newIdentity() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// isIdentity says whether a text can be one.
func isIdentity(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == 16
}

// shortly is an identity in a message.
func shortly(identity string) string { return identity[:8] + "…" }

// stampSection is the first section of a snapshot or version, so that it is found without reading the others.
const stampSection = "folder"

// stamp is the content of stampSection, as JSON.
type stamp struct {
	Folder string `json:"folder"` // the identity
	Number int64  `json:"number"` // of the file; of a snapshot the last event that it has
}

// stamped is a container with its stamp first. It shares the other sections with c.
func stamped(c *checkpoint.Container, of stamp) (*checkpoint.Container, error) {
	text, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	out := checkpoint.NewContainer()
	e, d := out.Encoder(), c.Decoder()
	e.Bytes(stampSection, text)
	for _, name := range c.Names() {
		if name == stampSection { // it was read from a file
			continue
		}
		b, err := d.Bytes(name)
		if err != nil {
			return nil, err
		}
		e.Bytes(name, b)
	}
	return out, nil
}

// stampIn reads the stamp of a container. The zero stamp is that of a file of before there were any.
func stampIn(c *checkpoint.Container) (of stamp, err error) {
	d := c.Decoder()
	if d.Len(stampSection) < 0 {
		return stamp{}, nil
	}
	b, err := d.Bytes(stampSection)
	if err == nil {
		err = json.Unmarshal(b, &of)
	}
	if err != nil || !isIdentity(of.Folder) {
		return stamp{}, fmt.Errorf("%w: section %s is %s", checkpoint.ErrCorrupt, stampSection, cause.Shown(string(b)))
	}
	return of, nil
}

// stampAt reads the stamp of a file alone. The zero stamp is also that of a damaged file, which who reads all of it
// finds.
func stampAt(path string) (of stamp, err error) {
	c, err := checkpoint.ReadFirst(path)
	if err == nil {
		of, err = stampIn(c)
	}
	if errors.Is(err, checkpoint.ErrCorrupt) {
		return stamp{}, nil
	}
	return of, err
}

// identityOf is the identity in ocl-serve.json: "" where there is none yet, or no such file.
func identityOf(dir string) (string, error) {
	text, err := input.ReadFile(filepath.Join(dir, formatName), input.Want{Most: limit.ServeFormat, NoLinks: true})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f, err := parseFormat(text)
	return f.Identity, err
}

// belongs checks that the journal and the snapshots are those of one folder, and that the journal has all that was
// acknowledged, as far as the files tell. It returns the identity of the folder: that of the newest snapshot that has
// one, or of ocl-serve.json, or of the journal; "" is none.
//
// Two things say that events are missing at the end: the name of a snapshot (it has all up to its number), and the mark
// beside the journal (see [mark]). A log that was cut shows itself by nothing else: it looks like one that a crash has
// torn. So a journal with an identity, which never was without a mark, is damaged without it (TestCutLog, TestMark).
func (s *store) belongs(f format) (identity string, err error) {
	identity = f.Identity
	numbers, err := Snapshots(s.dir).Numbers()
	if err != nil {
		return "", err
	}
	newest := int64(-1) // snapshot that has an identity
	for _, number := range slices.Backward(numbers) {
		path := Snapshots(s.dir).Path(number)
		of, err := stampAt(path)
		switch {
		case err != nil:
			return "", fmt.Errorf("journal: %w", err)
		case of.Folder == "":
		case newest < 0:
			newest, identity = number, of.Folder
		case of.Folder != identity:
			return "", fmt.Errorf("journal: %s is of another folder (%s) than the snapshot %d (%s). Put the files back that belong together, or remove the one that does not",
				path, shortly(of.Folder), newest, shortly(identity))
		}
	}
	if identity == "" {
		identity = s.identity
	}
	last := int64(-1)
	if n := len(numbers); n > 0 {
		last = numbers[n-1]
	}
	if err := s.isOurs(identity, last, newest); err != nil {
		return "", err
	}
	acknowledged := readMark(s.dir, identity)
	if acknowledged < 0 && s.identity != "" {
		return "", &DamageError{
			Path: filepath.Join(s.dir, acknowledgedName), Whole: true,
			Lost: fmt.Sprintf("what was acknowledged after event %d, if anything was", max(s.head.last, last)),
			What: "it is missing or damaged, so nobody can tell whether the journal has all that was acknowledged",
		}
	}
	return identity, s.hasAll(acknowledged, last)
}

// isOurs is an error about the journal of another folder. last is the number of the last snapshot, and newest that of
// the last one that has an identity; -1 is none.
func (s *store) isOurs(identity string, last, newest int64) error {
	if s.identity == identity || s.identity == "" && newest < 0 { // the identity was not written yet
		return nil
	}
	its := "none, so it is of another folder or of before the snapshots"
	if s.identity != "" {
		its = shortly(s.identity)
	}
	lost := "all acknowledged events"
	acknowledged := readMark(s.dir, identity)
	switch {
	case last >= 0 && acknowledged > last:
		lost = fmt.Sprintf("the events %d to %d", last+1, acknowledged)
	case last >= 0 && acknowledged == last:
		lost = fmt.Sprintf("nothing that the snapshot %d does not have", last)
	case last >= 0:
		lost = fmt.Sprintf("all acknowledged events after %d, which the snapshot has", last)
	}
	return &DamageError{
		Path: s.path, Whole: true, Lost: lost,
		What: fmt.Sprintf("it is not the journal of this folder: the folder has the identity %s, and this file %s",
			shortly(identity), its),
	}
}

// hasAll is an error about a journal that ends before an event that was acknowledged, or that the last snapshot has.
func (s *store) hasAll(acknowledged, snapshot int64) error {
	ends, want := s.head.last, max(acknowledged, snapshot)
	if ends >= want {
		return nil
	}
	d := &DamageError{Path: s.path, Number: ends + 1, Whole: true}
	d.What = fmt.Sprintf("the journal ends at event %d, and event %d was on the disk; the end of its log, %s, is damaged or gone",
		ends, want, dbName+walSuffix)
	switch {
	case snapshot < 0:
		d.Lost = fmt.Sprintf("all events up to %d, as there is no snapshot", want)
	case want > max(ends, snapshot):
		d.Lost = fmt.Sprintf("the events %d to %d", max(ends, snapshot)+1, want)
	default:
		d.Lost = fmt.Sprintf("the record of the events %d to %d; what was learned of them is in the snapshot %d", ends+1,
			want, snapshot)
	}
	return d
}

// belong makes the files say that they belong to the folder of an identity, where they do not yet.
func (s *store) belong(f format, identity string) error {
	if identity == "" {
		identity = newIdentity()
	}
	if f.Format == "" {
		s.log.Warn("a file was missing, and is made anew from what the journal says", "file",
			filepath.Join(s.dir, formatName))
	}
	if f.Identity != identity {
		if err := writeFormat(s.dir, true, identity); err != nil {
			return err
		}
	}
	if s.identity == "" {
		s.identity = identity
		if err := writeMark(s.dir, identity, s.head.last); err != nil { // before the journal says that there is one
			return err
		}
		if err := s.judged(s.transaction(s.upgrade)); err != nil {
			return err
		}
	}
	return nil
}

// mark is the number of the last event that was acknowledged, in a file beside the journal. It is made before a journal
// with an identity is, and written over in its place after each commit, without an fsync, which would double what an
// event costs. So it never says more than what was on the disk. What it says survives the end of the process whenever
// that comes; a power cut may take it back to what the disk had of it, as old as the last time that the log was taken
// into the file, or half a minute. An error of writing it over is none of the journal: it tells less then. A full disk
// has room for that.
type mark struct {
	file     *os.File
	identity string
}

// text returns the content of the mark: the identity, the number and the CRC-32C of both. It always has the same
// length, which is less than the smallest sector.
func (m *mark) text(last int64) []byte {
	text := fmt.Appendf(nil, "%s %019d ", m.identity, last)
	return fmt.Appendf(text, "%08x\n", crc32.Checksum(text, castagnoli))
}

// writeMark makes the mark, or a new one in place of another.
func writeMark(dir, identity string, last int64) error {
	if err := atomicfile.WritePrivateBytes(filepath.Join(dir, acknowledgedName),
		(&mark{identity: identity}).text(last)); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// openMark opens the mark, to write it over.
func openMark(dir, identity string) (*mark, error) {
	file, err := input.OpenToWrite(filepath.Join(dir, acknowledgedName))
	if err != nil {
		return nil, err
	}
	return &mark{file, identity}, nil
}

// set notes the last event.
func (m *mark) set(last int64) {
	if m != nil {
		_, _ = m.file.WriteAt(m.text(last), 0)
	}
}

// sync lets the mark survive a power cut.
func (m *mark) sync() {
	if m != nil {
		_ = m.file.Sync()
	}
}

func (m *mark) close() error {
	if m == nil {
		return nil
	}
	return m.file.Close()
}

// readMark is the last event that was acknowledged in the folder of an identity, as far as the mark tells; -1 where
// there is none of it.
func readMark(dir, identity string) int64 {
	text, err := input.ReadFile(filepath.Join(dir, acknowledgedName), input.Want{Most: limit.ServeFormat, NoLinks: true})
	if err != nil {
		return -1
	}
	var last int64
	var its, sum string
	if n, err := fmt.Sscanf(string(text), "%32s %19d %8s\n", &its, &last, &sum); n != 3 || err != nil || its != identity ||
		last < 0 ||
		string((&mark{identity: its}).text(last)) != string(text) {
		return -1
	}
	return last
}
