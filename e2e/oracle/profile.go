package main

import (
	"encoding/json"
	"fmt"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

// chosenGates are the feature gates that this run was told; nil where it was told none.
var chosenGates map[string]bool

// setGates turns upstream's feature gates on or off for the whole process: the plugins read them when they are made.
func setGates(text string) error {
	if text == "" {
		return nil
	}
	if err := utilfeature.DefaultMutableFeatureGate.Set(text); err != nil {
		return err
	}
	chosenGates = map[string]bool{}
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if utilfeature.DefaultFeatureGate.Enabled(name) != utilfeature.DefaultMutableFeatureGate.GetAll()[name].Default {
			chosenGates[string(name)] = utilfeature.DefaultFeatureGate.Enabled(name)
		}
	}
	return nil
}

// readProfile reads a profile as a KubeSchedulerConfiguration has it, with upstream's defaults for whatever it does not say.
// Weights are to be given with multiPoint, where the oracle looks for them.
func readProfile(given json.RawMessage) (config.KubeSchedulerProfile, error) {
	if len(given) == 0 {
		defaults, err := latest.Default()
		if err != nil {
			return config.KubeSchedulerProfile{}, err
		}
		return defaults.Profiles[0], nil
	}
	document := fmt.Sprintf(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","profiles":[%s]}`, given)
	object, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(document), nil, nil)
	if err != nil {
		return config.KubeSchedulerProfile{}, err
	}
	read, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok || len(read.Profiles) != 1 {
		return config.KubeSchedulerProfile{}, fmt.Errorf("the profile is read as %T", object)
	}
	return read.Profiles[0], nil
}
