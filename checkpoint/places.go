package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"strings"
)

const (
	// placesPrefix begins the name of a section of version 2 that says where the records of a section are.
	placesPrefix = "places:"

	recordsMagic   = "OCLRECS\n"
	recordsVersion = 1
	recordsHeader  = len(recordsMagic) + 4 + 8 + 8 // magic, version, bytes of a record, number of records
	recordsSuffix  = ".records"

	digestSize = sha256.Size
	maxRecord  = 1 << 30 // bytes of a record; far above any image
)

// filed says where the records of a section are.
type filed struct {
	name   string // of the section
	size   int    // bytes of a record
	files  []recordFile
	places []place // of the records, in order
}

// recordFile is a file of records, as a checkpoint names it.
type recordFile struct {
	digest [digestSize]byte // SHA-256 of all its bytes
	count  int              // records
}

// place is where a record is.
type place struct{ file, at int32 }

// name is that of the file. Files of one name have the same bytes, so writing one anew never changes another checkpoint.
func (f *recordFile) name() string { return hex.EncodeToString(f.digest[:16]) + recordsSuffix }

// isRecordFile tells whether a name is that of a file of records.
func isRecordFile(name string) bool {
	digits, ok := strings.CutSuffix(name, recordsSuffix)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == 32 && strings.ToLower(digits) == digits
}

// bytes is the length of the file.
func (f *recordFile) bytes(size int) int64 {
	return int64(recordsHeader) + int64(f.count)*int64(size)
}

// header begins a file of records.
func (f *recordFile) header(size int) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(recordsMagic), recordsVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	return binary.LittleEndian.AppendUint64(b, uint64(f.count))
}

// encode is the section that says where the records are.
func (f *filed) encode() []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(f.size))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.files)))
	for i := range f.files {
		b = append(b, f.files[i].digest[:]...)
		b = binary.LittleEndian.AppendUint64(b, uint64(f.files[i].count))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(f.places)))
	for _, p := range f.places {
		b = binary.LittleEndian.AppendUint32(b, uint32(p.file))
		b = binary.LittleEndian.AppendUint32(b, uint32(p.at))
	}
	return b
}

// parsePlaces undoes encode. What it allocates is in proportion to b, whatever numbers b has.
func parsePlaces(name string, b []byte) (filed, error) {
	f := filed{name: name}
	short := fmt.Errorf("its list of places has %d bytes, which are too few or too many", len(b))
	if len(b) < 12 {
		return f, short
	}
	size, files := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	b = b[12:]
	if size < 1 || size > maxRecord {
		return f, fmt.Errorf("it has records of %d bytes", size)
	}
	f.size = int(size)
	const fileBytes = digestSize + 8
	if uint64(len(b)) < uint64(files)*fileBytes+8 {
		return f, short
	}
	for range files {
		r := recordFile{digest: [digestSize]byte(b[:digestSize])}
		count := binary.LittleEndian.Uint64(b[digestSize:])
		if count < 1 || count > 1<<31-1 {
			return f, fmt.Errorf("a file of it has %d records", count)
		}
		r.count = int(count)
		f.files, b = append(f.files, r), b[fileBytes:]
	}
	n := binary.LittleEndian.Uint64(b)
	if b = b[8:]; uint64(len(b)) != 8*n || n > 1<<31-1 {
		return f, short
	}
	for i := range int(n) {
		p := place{int32(binary.LittleEndian.Uint32(b[8*i:])), int32(binary.LittleEndian.Uint32(b[8*i+4:]))}
		if p.file < 0 || int(p.file) >= len(f.files) || p.at < 0 || int(p.at) >= f.files[p.file].count {
			return f, fmt.Errorf("record %d is at place %d of file %d, which does not exist", i, p.at, p.file)
		}
		f.places = append(f.places, p)
	}
	return f, nil
}

// read reads the records of a section from the files of a folder. A file that is not there or that is not as the checkpoint
// says is an error that wraps ErrCorrupt.
func (f *filed) read(fs fileSystem, folder string) (*records, error) {
	for i := range f.files { // before anything is allocated for them
		if err := f.check(fs, folder, &f.files[i]); err != nil {
			return nil, err
		}
	}
	at := make([][]int32, len(f.files)) // record of the section at each place, or -1
	for i, p := range f.places {
		if at[p.file] == nil {
			at[p.file] = make([]int32, f.files[p.file].count)
			for j := range at[p.file] {
				at[p.file][j] = -1
			}
		}
		if at[p.file][p.at] >= 0 {
			return nil, fmt.Errorf("%w: %q: two records are at place %d of %s", ErrCorrupt, f.name, p.at, f.files[p.file].name())
		}
		at[p.file][p.at] = int32(i)
	}
	all := make([]byte, len(f.places)*f.size)
	for i := range f.files {
		if err := f.readFile(fs, folder, &f.files[i], at[i], all); err != nil {
			return nil, err
		}
	}
	r := &records{Records: Records{Size: f.size, IDs: make([]uint64, len(f.places))}, loaded: all}
	for i := range r.IDs {
		r.IDs[i] = NewID()
	}
	r.Append = func(dst []byte, i int) []byte { return append(dst, all[i*f.size:(i+1)*f.size]...) }
	return r, nil
}

// check looks at the length of a file.
func (f *filed) check(fs fileSystem, folder string, file *recordFile) error {
	r, size, err := fs.open(filepath.Join(folder, file.name()))
	if errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("%w: %q: its file %s is missing", ErrCorrupt, f.name, file.name()) // not wrapped: the checkpoint exists
	}
	if err != nil {
		return err
	}
	_ = r.Close() // it was only read
	if want := file.bytes(f.size); size != want {
		return fmt.Errorf("%w: %q: %s has %d bytes instead of %d", ErrCorrupt, f.name, file.name(), size, want)
	}
	return nil
}

// readFile copies the records of a file to where they belong in all, and checks the file.
func (f *filed) readFile(fs fileSystem, folder string, file *recordFile, at []int32, all []byte) (err error) {
	r, _, err := fs.open(filepath.Join(folder, file.name()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	sum := sha256.New()
	in := io.TeeReader(r, sum)
	head := make([]byte, recordsHeader)
	spare := make([]byte, f.size)
	_, err = io.ReadFull(in, head)
	for j := 0; j < file.count && err == nil; j++ {
		to := spare
		if at != nil && at[j] >= 0 {
			to = all[int(at[j])*f.size:][:f.size]
		}
		_, err = io.ReadFull(in, to)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %q: %s was cut short while it was read", ErrCorrupt, f.name, file.name())
	}
	if err != nil {
		return err
	}
	if got := [digestSize]byte(sum.Sum(nil)); got != file.digest || string(head) != string(file.header(f.size)) {
		return fmt.Errorf("%w: %q: the SHA-256 of %s is %x instead of %x", ErrCorrupt, f.name, file.name(), got[:8], file.digest[:8])
	}
	return nil
}
