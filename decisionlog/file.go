package decisionlog

import (
	"fmt"
	"os"
)

// File is a sink that appends to a file. If the file was moved or deleted, as logrotate does, it makes a new one with the next
// lines.
type File struct {
	path string
	file *os.File
}

// OpenFile opens a file, or makes it, with rights for its owner only.
func OpenFile(path string) (*File, error) {
	f := &File{path: path}
	return f, f.open()
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the decision log: %w", err)
	}
	f.file = file
	return nil
}

// Write implements [io.Writer].
func (f *File) Write(lines []byte) (int, error) {
	if f.moved() {
		_ = f.file.Close() // its lines were written
		if err := f.open(); err != nil {
			return 0, err
		}
	}
	n, err := f.file.Write(lines)
	if err != nil {
		return n, fmt.Errorf("write the decision log: %w", err)
	}
	return n, nil
}

// moved reports whether the path no longer leads to the open file.
func (f *File) moved() bool {
	there, err := os.Stat(f.path)
	if err != nil {
		return true
	}
	opened, err := f.file.Stat()
	return err != nil || !os.SameFile(there, opened)
}
