// Package v1alpha1 bears the name that templates see in %T.
package v1alpha1

type CloudProvider string
