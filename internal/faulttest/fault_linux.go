package faulttest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Op is a change of the file system that a process is about to make. Opening a file counts if it may create the file,
// and closing a file counts if it was open for writing.
type Op struct {
	N    int    // from 1
	Call string // the system's name, such as "fsync"
	Path string // the file; of a rename the new name
}

func (o Op) String() string { return fmt.Sprintf("operation %d, %s of %s", o.N, o.Call, o.Path) }

// Verdict says what happens to an operation. The zero value lets it succeed.
type Verdict struct {
	Err  syscall.Errno // it fails with this error
	Half bool          // of a write: half of its bytes are written first
	// Kill kills the process by SIGKILL before the operation, or After it.
	Kill  bool
	After time.Duration
}

// ErrNoTraps says that this system cannot ask.
var ErrNoTraps = errors.New("this system has no seccomp notifications that wait (Linux 5.19)")

// armVariable is set in a process that is watched. Its value is the program name with which [Arm] starts it again.
const armVariable = "OCL_TEST_ARM"

// socketFD is the socket through which a watched process sends the descriptor of its notifications: the first of
// exec.Cmd.ExtraFiles.
const socketFD = 3

// watched lists the system calls that are stopped.
var watched = map[int]string{
	unix.SYS_OPENAT: "open", unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "write", unix.SYS_COPY_FILE_RANGE: "write",
	unix.SYS_FSYNC:     "fsync",
	unix.SYS_FDATASYNC: "fsync", unix.SYS_FTRUNCATE: "truncate", unix.SYS_RENAMEAT: "rename", unix.SYS_RENAMEAT2: "rename",
	unix.SYS_LINKAT: "link", unix.SYS_UNLINKAT: "remove", unix.SYS_MKDIRAT: "mkdir", unix.SYS_CLOSE: "close",
}

// Arm must be the first call in the TestMain of a test binary that [Run] starts. In a process that Run did not start it
// does nothing. Otherwise it does not return: it executes the program again with its system calls watched.
func Arm() {
	name, armed := os.LookupEnv(armVariable)
	if !armed {
		return
	}
	err := arm(name)
	fmt.Fprintln(os.Stderr, "faulttest:", err)
	os.Exit(unarmed)
}

// unarmed is the exit code of a process that could not be armed.
const unarmed = 97

func arm(name string) error {
	if err := os.Unsetenv(armVariable); err != nil {
		return err
	}
	runtime.LockOSThread() // the filter is that of a thread, and exec keeps that of the one that calls it
	var code []unix.SockFilter
	code = append(code, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}) // the number of the call
	left := len(watched)
	for call := range watched {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(left), K: uint32(call)})
		left--
	}
	code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// else Go's own signals repeat calls
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("%w: %w", ErrNoTraps, errno)
	}
	if err := unix.Sendmsg(socketFD, []byte{1}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(socketFD)
	return syscall.Exec("/proc/self/exe", append([]string{name}, os.Args[1:]...), os.Environ())
}

// notification and response are those of seccomp_unotify(2).
type notification struct {
	id      uint64
	pid     uint32
	flags   uint32
	nr      int32
	arch    uint32
	pointer uint64
	args    [6]uint64
}

type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// Run runs a command to its end: this test binary under the name name, with decide asked about every operation below
// the folder, one after the other. killed says that a verdict has killed it. The error is that of the command. It wraps
// [ErrNoTraps] where nothing can be asked.
func Run(c *exec.Cmd, name, folder string, decide func(Op) Verdict) (killed bool, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	if c.Env == nil {
		c.Env = os.Environ()
	}
	c.Env = append(c.Env, armVariable+"="+name)
	c.ExtraFiles = []*os.File{theirs}
	err = c.Start()
	theirs.Close()
	if err != nil {
		return false, err
	}
	w := &watcher{cmd: c, folder: folder, decide: decide, ended: make(chan struct{})}
	listener, err := receive(pair[0])
	if err != nil {
		err = errors.Join(err, c.Wait())
		if c.ProcessState.ExitCode() == unarmed {
			err = fmt.Errorf("%w: %w", ErrNoTraps, err)
		}
		return false, err
	}
	var faulty error
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if faulty = w.watch(listener); faulty != nil {
			_ = c.Process.Kill() // it waits for an answer that never comes
		}
	}()
	err = c.Wait()
	close(w.ended)
	<-stopped
	unix.Close(listener)
	if w.later != nil {
		w.later.Stop()
	}
	return w.killed && err != nil, errors.Join(err, faulty)
}

// receive takes the descriptor that an armed process sends.
func receive(socket int) (int, error) {
	buf, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := unix.Recvmsg(socket, buf, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, errors.New("the process ended before it was armed")
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("%d messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

type watcher struct {
	cmd    *exec.Cmd
	folder string
	decide func(Op) Verdict
	ended  chan struct{}
	n      int
	killed bool
	later  *time.Timer
}

// watch answers until the process has ended.
func (w *watcher) watch(listener int) error {
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, 50); err != nil && err != unix.EINTR {
			return err
		}
		select {
		case <-w.ended:
			return nil
		default:
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			continue
		}
		var asked notification
		if err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&asked)); err != nil {
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINTR) { // the process that made the call is dead
				continue
			}
			return err
		}
		answer := response{id: asked.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if op, ok := w.operation(asked); ok {
			v := w.decide(op)
			if v.Half {
				if err := w.half(asked); err != nil {
					return fmt.Errorf("%v: half of it: %w", op, err)
				}
			}
			switch {
			case v.Kill && v.After == 0:
				w.killed = true
				_ = w.cmd.Process.Kill()
				continue // the process was killed, so it needs no answer
			case v.Kill:
				w.killed = true
				w.later = time.AfterFunc(v.After, func() { _ = w.cmd.Process.Kill() })
			case v.Err != 0:
				answer.flags, answer.errno = 0, -int32(v.Err)
			}
		}
		if err := control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)); err != nil &&
			!errors.Is(err, unix.ENOENT) {
			return err
		}
	}
}

func control(fd int, request uintptr, data unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(data)); errno != 0 {
		return errno
	}
	return nil
}

// operation decodes a system call; ok is false if it changes nothing below the folder.
func (w *watcher) operation(a notification) (op Op, ok bool) {
	op.Call = watched[int(a.nr)]
	switch int(a.nr) {
	case unix.SYS_OPENAT:
		if a.args[2]&(unix.O_CREAT|unix.O_TRUNC) == 0 {
			return op, false
		}
		op.Path = text(a.pid, a.args[1])
	case unix.SYS_UNLINKAT, unix.SYS_MKDIRAT:
		op.Path = text(a.pid, a.args[1])
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		op.Path = text(a.pid, a.args[3])
	case unix.SYS_COPY_FILE_RANGE:
		op.Path = opened(a.pid, a.args[2])
	case unix.SYS_CLOSE:
		op.Path = opened(a.pid, a.args[0])
		if !w.below(op.Path) || !writable(a.pid, a.args[0]) {
			return op, false
		}
	default:
		op.Path = opened(a.pid, a.args[0])
	}
	if !w.below(op.Path) {
		return op, false
	}
	w.n++
	op.N = w.n
	return op, true
}

func (w *watcher) below(path string) bool {
	return path == w.folder || strings.HasPrefix(path, w.folder+string(filepath.Separator))
}

// memory reads bytes of another process.
func memory(pid uint32, at uint64, b []byte) (int, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(b, int64(at))
}

// text is a path that another process has in its memory.
func text(pid uint32, at uint64) string {
	b := make([]byte, unix.PathMax)
	n, _ := memory(pid, at, b)
	path, _, _ := bytes.Cut(b[:n], []byte{0})
	return string(path)
}

// opened is the path of a file that another process has open.
func opened(pid uint32, fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, int32(fd)))
	return strings.TrimSuffix(path, " (deleted)")
}

// writable says whether a file is open for writing.
func writable(pid uint32, fd uint64) bool {
	info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, int32(fd)))
	_, rest, _ := strings.Cut(string(info), "flags:\t")
	digits, _, _ := strings.Cut(rest, "\n")
	flags, _ := strconv.ParseUint(digits, 8, 64)
	return flags&unix.O_ACCMODE != unix.O_RDONLY
}

// half writes the first half of a write call's bytes on behalf of the process.
func (w *watcher) half(a notification) error {
	if int(a.nr) != unix.SYS_WRITE && int(a.nr) != unix.SYS_PWRITE64 {
		return nil
	}
	b := make([]byte, a.args[2]/2)
	if len(b) == 0 {
		return nil
	}
	if _, err := memory(a.pid, a.args[1], b); err != nil {
		return err
	}
	process, err := unix.PidfdOpen(w.cmd.Process.Pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, int(a.args[0]), 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if int(a.nr) == unix.SYS_PWRITE64 {
		_, err = unix.Pwrite(fd, b, int64(a.args[3]))
	} else {
		_, err = unix.Write(fd, b)
	}
	return err
}
