// Package tftp stands in for the client that Ignition is compiled with: the machines of the tests have no TFTP.
package tftp

import (
	"errors"
	"io"
)

var errNone = errors.New("this Ignition is built without TFTP")

// Client fetches nothing.
type Client struct{}

// NewClient always fails.
func NewClient(string) (*Client, error) { return nil, errNone }

// Receive always fails.
func (*Client) Receive(string, string) (io.WriterTo, error) { return nil, errNone }
