// Package ovf stands in for the reader of OVF environments that Ignition is compiled with.
package ovf

import "errors"

// Environment has the properties of a machine.
type Environment struct{ Properties map[string]string }

// ReadEnvironment always fails.
func ReadEnvironment([]byte) (Environment, error) {
	return Environment{}, errors.New("this Ignition is built without OVF")
}
