// Package flatcar bears the name that templates see in %T.
package flatcar

type ProvisioningUtility string

type Config struct {
	DisableAutoUpdate   bool
	DisableLocksmithD   bool
	DisableUpdateEngine bool
	ProvisioningUtility ProvisioningUtility
}
