package net

import (
	"errors"
	"internal/funcmem"
	"io"
	"time"
)

// madeUpConn is a connection to a world that is made up.
type madeUpConn struct {
	network, address string
	answers          funcmem.Answers
	rest             string
	lines            int
	closed           bool
}

// madeUpDial connects to a world that is made up; false where there is a real one.
func madeUpDial(network, address string) (Conn, error, bool) {
	if funcmem.Outside == nil {
		return nil, nil, false
	}
	answers := funcmem.Outside("net.Dial", network, address)
	if answers.Below(5) == 4 {
		return nil, &OpError{Op: "dial", Net: network, Err: errors.New("made-up failure")}, true
	}
	return &madeUpConn{network: network, address: address, answers: answers}, nil, true
}

func (c *madeUpConn) Read(b []byte) (int, error) {
	if c.closed {
		return 0, ErrClosed
	}
	if len(b) == 0 {
		return 0, nil
	}
	if c.rest == "" {
		if c.lines >= 3 || c.answers.Below(4) == 3 {
			return 0, io.EOF
		}
		c.lines++
		c.rest = c.answers.Text() + "\n"
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *madeUpConn) Write(b []byte) (int, error) {
	if c.closed {
		return 0, ErrClosed
	}
	if funcmem.Outside("net.Conn.Write", c.address, string(b)).Below(8) == 7 {
		return 0, &OpError{Op: "write", Net: c.network, Err: errors.New("made-up failure")}
	}
	return len(b), nil
}

func (c *madeUpConn) Close() error {
	if c.closed {
		return ErrClosed
	}
	c.closed = true
	return nil
}

func (c *madeUpConn) LocalAddr() Addr { return &TCPAddr{IP: IPv4(127, 0, 0, 1), Port: 40000} }

func (c *madeUpConn) RemoteAddr() Addr { return &TCPAddr{IP: IPv4(10, 0, 0, 1), Port: 80} }

func (c *madeUpConn) SetDeadline(time.Time) error { return nil }

func (c *madeUpConn) SetReadDeadline(time.Time) error { return nil }

func (c *madeUpConn) SetWriteDeadline(time.Time) error { return nil }
