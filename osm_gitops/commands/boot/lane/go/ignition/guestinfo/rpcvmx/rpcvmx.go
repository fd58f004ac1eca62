// Package rpcvmx stands in for VMware's guest info that Ignition is compiled with.
package rpcvmx

// Config has no values.
type Config struct{}

// NewConfig returns a configuration without values.
func NewConfig() *Config { return &Config{} }

// String returns the default.
func (*Config) String(_, fallback string) (string, error) { return fallback, nil }
