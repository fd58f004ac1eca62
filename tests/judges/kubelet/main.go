// Command kubelet says what the kubelet thinks of its configuration as it starts: reading, defaults, validation and
// eviction thresholds; and what it, or the libraries that it uses, parse later: quantities, ciphers, addresses.
//
// One JSON string a line in, one JSON list of sentences a line out. With the argument arguments, a line is a JSON list of
// the kubelet's arguments instead.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/codec"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	_ "k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
)

func judge(codecs, lenient *serializer.CodecFactory, text string) (found []string) {
	found = []string{}
	// Unknown feature gates make the kubelet's defaulting panic.
	defer func() {
		if panicked := recover(); panicked != nil {
			found = append(found, fmt.Sprint(panicked))
		}
	}()
	object, _, err := codecs.UniversalDecoder().Decode([]byte(text), nil, nil)
	if runtime.IsStrictDecodingError(err) {
		// The kubelet logs this, and starts without the fields that it does not know.
		found = append(found, "ignored: "+err.Error())
		object, _, err = lenient.UniversalDecoder().Decode([]byte(text), nil, nil)
	}
	if err != nil {
		return append(found, err.Error())
	}
	settings, ok := object.(*config.KubeletConfiguration)
	if !ok {
		return append(found, fmt.Sprintf("it is a %T", object))
	}
	// Else the verdict would depend on the cgroups of the machine that asks.
	settings.FailCgroupV1 = false
	gates := utilfeature.DefaultFeatureGate.DeepCopy()
	if err := logsapi.AddFeatureGates(gates); err != nil {
		return append(found, err.Error())
	}
	for _, err := range []error{
		gates.SetFromMap(settings.FeatureGates),
		validation.ValidateKubeletConfiguration(settings, gates),
		thresholds(settings),
	} {
		if err != nil {
			found = append(found, err.Error())
		}
	}
	return append(found, parsedLater(settings)...)
}

func thresholds(settings *config.KubeletConfiguration) error {
	_, err := eviction.ParseThresholdConfig(nil, settings.EvictionHard, settings.EvictionSoft,
		settings.EvictionSoftGracePeriod, settings.EvictionMinimumReclaim)
	return err
}

func parsedLater(settings *config.KubeletConfiguration) (found []string) {
	for _, reserved := range []map[string]string{settings.KubeReserved, settings.SystemReserved} {
		for name, text := range reserved {
			if _, err := resource.ParseQuantity(text); err != nil {
				found = append(found, fmt.Sprintf("%s=%s: %v", name, text, err))
			}
		}
	}
	if _, err := resource.ParseQuantity(settings.ContainerLogMaxSize); err != nil {
		found = append(found, fmt.Sprintf("containerLogMaxSize %s: %v", settings.ContainerLogMaxSize, err))
	}
	if _, err := cliflag.TLSCipherSuites(settings.TLSCipherSuites); err != nil {
		found = append(found, err.Error())
	}
	for _, address := range settings.ClusterDNS {
		if net.ParseIP(address) == nil {
			found = append(found, fmt.Sprintf("clusterDNS %s is no address", address))
		}
	}
	return found
}

// commandLine has the flags of the kubelet, and what they set.
func commandLine() (*pflag.FlagSet, *options.KubeletFlags, *config.KubeletConfiguration, error) {
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	flags.SetOutput(io.Discard)
	given := options.NewKubeletFlags()
	settings, err := options.NewKubeletConfiguration()
	if err != nil {
		return nil, nil, nil, err
	}
	given.AddFlags(flags)
	options.AddKubeletConfigFlags(flags, settings)
	options.AddGlobalFlags(flags)
	return flags, given, settings, nil
}

// arguments says what the kubelet thinks of its arguments: parsing, labels, and the validation of what they set.
func arguments(given []string) []string {
	flags, values, settings, err := commandLine()
	if err != nil {
		return []string{err.Error()}
	}
	if err := flags.Parse(given); err != nil {
		return []string{err.Error()}
	}
	found := []string{}
	if len(flags.Args()) > 0 {
		found = append(found, fmt.Sprintf("unknown command %q", flags.Args()[0]))
	}
	if err := options.ValidateKubeletFlags(values); err != nil {
		found = append(found, err.Error())
	}
	settings.FailCgroupV1 = false
	gates := utilfeature.DefaultFeatureGate.DeepCopy()
	if err := gates.SetFromMap(settings.FeatureGates); err != nil {
		return append(found, err.Error())
	}
	if err := validation.ValidateKubeletConfiguration(settings, gates); err != nil {
		found = append(found, err.Error())
	}
	return append(found, parsedLater(settings)...)
}

func main() {
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		log.Fatal(err)
	}
	_, lenient, err := codec.NewLenientSchemeAndCodecs(config.AddToScheme, v1beta1.AddToScheme)
	if err != nil {
		log.Fatal(err)
	}
	lines := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for len(os.Args) > 1 && os.Args[1] == "arguments" && lines.More() {
		var given []string
		if err := lines.Decode(&given); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(arguments(given)); err != nil {
			log.Fatal(err)
		}
	}
	for lines.More() {
		var text string
		if err := lines.Decode(&text); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(judge(codecs, lenient, text)); err != nil {
			log.Fatal(err)
		}
	}
}
