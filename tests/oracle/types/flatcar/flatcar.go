// Package flatcar bears the name that templates see in %T.
package flatcar

type ProvisioningUtility string

type Config struct {
	DisableAutoUpdate   bool                `json:"disableAutoUpdate"`
	DisableLocksmithD   bool                `json:"disableLocksmithD"`
	DisableUpdateEngine bool                `json:"disableUpdateEngine"`
	ProvisioningUtility ProvisioningUtility `json:"provisioningUtility"`
}
