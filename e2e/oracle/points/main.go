// Makes random plugin sets of a profile and says what kube-scheduler makes of each: which plugins run at which extension point, in which
// order, with which weights; or why it does not start.
//
//	cd e2e/oracle && CGO_ENABLED=0 go run ./points -count 500 -seed 1 | gzip -9n > ../../conformance/points.jsonl.gz
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Where each plugin of the default profile runs, so that most sets make sense.
var runs = map[string][]string{
	"preEnqueue": {"SchedulingGates", "DynamicResources", "DefaultPreemption"},
	"queueSort":  {"PrioritySort"},
	"preFilter": {"NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
		"PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures", "NodeName", "NodeUnschedulable", "TaintToleration"},
	"filter": {"NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
		"NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures"},
	"postFilter": {"DefaultPreemption", "DynamicResources"},
	"preScore": {"TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread", "InterPodAffinity",
		"NodeResourcesBalancedAllocation", "DynamicResources"},
	"score": {"TaintToleration", "NodeAffinity", "NodeResourcesFit", "VolumeBinding", "PodTopologySpread", "InterPodAffinity",
		"NodeResourcesBalancedAllocation", "ImageLocality", "DynamicResources"},
	"reserve":  {"VolumeBinding", "DynamicResources"},
	"permit":   {},
	"preBind":  {"VolumeBinding", "DynamicResources"},
	"bind":     {"DefaultBinder"},
	"postBind": {},
}

var order = []string{"preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind",
	"postBind"}

type plugin struct {
	Name   string `json:"name"`
	Weight *int32 `json:"weight,omitempty"`
}

type set struct {
	Enabled  []plugin `json:"enabled,omitempty"`
	Disabled []plugin `json:"disabled,omitempty"`
}

type line struct {
	Plugins map[string]set      `json:"plugins"`
	Error   string              `json:"error,omitempty"`
	Points  map[string][]string `json:"points,omitempty"`
	Weights map[string]int32    `json:"weights,omitempty"`
}

func main() {
	count := flag.Int("count", 500, "how many")
	seed := flag.Int64("seed", 1, "the same seed makes the same sets")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	metrics.Register()
	dice := rand.New(rand.NewSource(*seed))
	writer := json.NewEncoder(os.Stdout)
	for range *count {
		l := line{Plugins: random(dice)}
		if err := answer(&l); err != nil {
			l.Error = err.Error()
		}
		if err := writer.Encode(l); err != nil {
			panic(err)
		}
	}
}

func random(dice *rand.Rand) map[string]set {
	sets := map[string]set{}
	points := append([]string{"multiPoint"}, order...)
	for range 1 + dice.Intn(3) {
		point := points[dice.Intn(len(points))]
		if dice.Intn(3) == 0 {
			point = []string{"multiPoint", "score", "filter"}[dice.Intn(3)]
		}
		names := runs[point]
		if point == "multiPoint" || dice.Intn(40) == 0 {
			names = append(append(append([]string{}, runs["filter"]...), runs["score"]...), "DefaultPreemption", "DefaultBinder", "PrioritySort", "SchedulingGates", "Unknown")
		}
		s := sets[point]
		for range dice.Intn(4) {
			if len(names) == 0 {
				break
			}
			s.Enabled = append(s.Enabled, plugin{Name: names[dice.Intn(len(names))], Weight: weight(dice)})
		}
		for range dice.Intn(3) {
			switch {
			case dice.Intn(6) == 0 || len(names) == 0:
				s.Disabled = append(s.Disabled, plugin{Name: "*"})
			default:
				s.Disabled = append(s.Disabled, plugin{Name: names[dice.Intn(len(names))], Weight: weight(dice)})
			}
		}
		sets[point] = s
	}
	return sets
}

func weight(dice *rand.Rand) *int32 {
	if dice.Intn(2) == 0 {
		return nil
	}
	w := []int32{0, 1, 2, 5, 100}[dice.Intn(5)]
	return &w
}

func answer(l *line) error {
	given, err := json.Marshal(l.Plugins)
	if err != nil {
		return err
	}
	document := fmt.Sprintf(`{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",`+
		`"leaderElection":{"leaderElect":false},"profiles":[{"schedulerName":"default-scheduler","plugins":%s}]}`, given)
	object, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(document), nil, nil)
	if err != nil {
		return err
	}
	read := object.(*config.KubeSchedulerConfiguration)
	if err := validation.ValidateKubeSchedulerConfiguration(read); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	snapshot := internalcache.NewEmptySnapshot()
	framework, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &read.Profiles[0],
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithMutableSnapshotLister(snapshot),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
	)
	if err != nil {
		return err
	}
	l.Points, l.Weights = map[string][]string{}, map[string]int32{}
	listed := reflect.ValueOf(*framework.ListPlugins())
	for _, point := range order {
		running := listed.FieldByName(strings.ToUpper(point[:1]) + point[1:]).Interface().(config.PluginSet)
		for _, p := range running.Enabled {
			l.Points[point] = append(l.Points[point], p.Name)
			if point == "score" {
				l.Weights[p.Name] = p.Weight
			}
		}
	}
	return nil
}
