package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// filterPlugins are those that the conformance files report.
var filterPlugins = []string{
	names.InterPodAffinity, names.NodeAffinity, names.NodeDeclaredFeatures, names.NodeName, names.NodePorts, names.NodeResourcesFit,
	names.NodeUnschedulable, names.NodeVolumeLimits, names.PodTopologySpread, names.TaintToleration, names.VolumeBinding,
	names.VolumeRestrictions, names.VolumeZone,
}

// scoreOnlyPlugins take part in scoring without filtering.
var scoreOnlyPlugins = []string{names.ImageLocality, names.NodeResourcesBalancedAllocation}

// verdict is what a plugin said of the pod or of a node.
type verdict struct {
	OK      bool     `json:"ok"`
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// pluginAnswer is what one plugin, run alone, said.
type pluginAnswer struct {
	Pod   verdict            `json:"pod"`
	Only  []string           `json:"only,omitempty"`
	Nodes map[string]verdict `json:"nodes"`
}

// planEntry is one claim's outcome on a node that VolumeBinding accepts.
type planEntry struct {
	Claim    string `json:"claim"`
	Outcome  string `json:"outcome"`
	Capacity *int64 `json:"capacity,omitempty"`
	Request  *int64 `json:"request,omitempty"`
}

// answer is the "expected" of a line.
type answer struct {
	Plugins map[string]pluginAnswer     `json:"plugins"`
	Plans   map[string][]planEntry      `json:"plans,omitempty"`
	Scores  map[string]map[string]int64 `json:"scores,omitempty"`
	Totals  map[string]int64            `json:"totals,omitempty"`
	// ScoringFailed says why there are no scores although nodes are feasible: some inputs make upstream's scorers fail or panic.
	ScoringFailed string `json:"scoringFailed,omitempty"`
}

// judge holds the plugins of one cluster: every filter alone, and all together for scoring.
type judge struct {
	cluster  *cluster
	snapshot *internalcache.Snapshot
	alone    map[string]framework.Framework
	together framework.Framework
	weights  map[string]int64
}

// newJudge makes a profile's plugins once and shares the instances among the frameworks.
func newJudge(ctx context.Context, c *cluster, given json.RawMessage) (*judge, error) {
	snapshot, err := c.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	profile, err := readProfile(given)
	if err != nil {
		return nil, err
	}

	made := map[string]fwk.Plugin{}
	registry := frameworkruntime.Registry{}
	for name, make := range plugins.NewInTreeRegistry() {
		registry[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			if p, ok := made[name]; ok {
				return p, nil
			}
			p, err := make(ctx, args, handle)
			made[name] = p
			return p, err
		}
	}
	j := &judge{cluster: c, snapshot: snapshot, alone: map[string]framework.Framework{}, weights: map[string]int64{}}
	build := func(chosen ...string) (framework.Framework, error) {
		cut := profile
		cut.Plugins = only(profile.Plugins, append([]string{names.PrioritySort, names.DefaultBinder}, chosen...))
		return frameworkruntime.NewFramework(ctx, registry, &cut,
			frameworkruntime.WithClientSet(client),
			frameworkruntime.WithInformerFactory(factory),
			frameworkruntime.WithSnapshotSharedLister(snapshot),
			frameworkruntime.WithMutableSnapshotLister(snapshot),
			frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		)
	}
	if j.together, err = build(append(append([]string{}, filterPlugins...), scoreOnlyPlugins...)...); err != nil {
		return nil, err
	}
	for _, name := range filterPlugins {
		if j.alone[name], err = build(name); err != nil {
			return nil, err
		}
	}
	for _, p := range profile.Plugins.MultiPoint.Enabled {
		j.weights[p.Name] = int64(max(p.Weight, 1))
	}
	return j, c.fill(factory)
}

// only keeps the named plugins of a profile, at every extension point that they have.
func only(all *config.Plugins, names []string) *config.Plugins {
	cut := all.DeepCopy()
	cut.MultiPoint.Enabled = nil
	for _, p := range all.MultiPoint.Enabled {
		for _, name := range names {
			if p.Name == name {
				cut.MultiPoint.Enabled = append(cut.MultiPoint.Enabled, p)
			}
		}
	}
	return cut
}

// judge asks everything once, with fresh cycle states. Given an earlier answer, it asks again only what hash maps can sway:
// VolumeBinding and the scores.
func (j *judge) judge(ctx context.Context, earlier *answer) *answer {
	a := &answer{Plugins: map[string]pluginAnswer{}, Plans: map[string][]planEntry{}}
	for name, alone := range j.alone {
		if earlier != nil && name != names.VolumeBinding {
			a.Plugins[name] = earlier.Plugins[name]
			continue
		}
		state := framework.NewCycleState()
		a.Plugins[name] = j.filter(ctx, alone, state)
		if name == names.VolumeBinding && a.Plugins[name].Pod.OK {
			volumes := plannedVolumes(state)
			for node, v := range a.Plugins[name].Nodes {
				if v.OK {
					a.Plans[node] = plan(volumes[node])
				}
			}
		}
	}
	if err := j.score(ctx, a); err != nil {
		a.Scores, a.Totals, a.ScoringFailed = nil, nil, err.Error()
	}
	return a
}

// filter runs PreFilter, then Filter on every node, whether or not PreFilter narrowed the nodes.
func (j *judge) filter(ctx context.Context, f framework.Framework, state fwk.CycleState) pluginAnswer {
	result, status, _ := f.RunPreFilterPlugins(ctx, state, j.cluster.pod)
	a := pluginAnswer{Pod: verdictOf(status), Nodes: map[string]verdict{}}
	if !a.Pod.OK {
		return a
	}
	if !result.AllNodes() {
		a.Only = result.NodeNames.UnsortedList()
		sort.Strings(a.Only)
	}
	for _, n := range j.cluster.nodes {
		info, err := j.snapshot.Get(n.Name)
		if err != nil {
			continue // Two nodes of one name cannot be; a cluster without this node has nothing to say of it.
		}
		a.Nodes[n.Name] = verdictOf(f.RunFilterPlugins(ctx, state, j.cluster.pod, info))
	}
	return a
}

// fingerprint is equal for answers that are equal but for what upstream leaves open: the order of reasons.
func (a *answer) fingerprint() (string, error) {
	c := *a
	c.Plugins = map[string]pluginAnswer{}
	for name, p := range a.Plugins {
		nodes := map[string]verdict{}
		for node, v := range p.Nodes {
			v.Reasons = slices.Sorted(slices.Values(v.Reasons))
			nodes[node] = v
		}
		c.Plugins[name] = pluginAnswer{Pod: p.Pod, Only: p.Only, Nodes: nodes}
	}
	encoded, err := json.Marshal(c)
	return string(encoded), err
}

func verdictOf(s *fwk.Status) verdict {
	if s.IsSuccess() {
		return verdict{OK: true}
	}
	return verdict{Code: s.Code().String(), Reasons: s.Reasons()}
}

// plannedVolumes reads what VolumeBinding remembered in the cycle state. Its type is private, hence the reflection.
func plannedVolumes(state fwk.CycleState) map[string]*volumebinding.PodVolumes {
	data, err := state.Read(names.VolumeBinding)
	if err != nil {
		return nil // PreFilter skipped: the pod has no claims.
	}
	field := reflect.ValueOf(data).Elem().FieldByName("podVolumesByNode")
	return *(*map[string]*volumebinding.PodVolumes)(unsafe.Pointer(field.UnsafeAddr()))
}

// plan lists static bindings, then provisions, in upstream's order.
func plan(v *volumebinding.PodVolumes) []planEntry {
	if v == nil {
		return nil
	}
	var entries []planEntry
	for _, b := range v.StaticBindings {
		r := b.StorageResource()
		entries = append(entries, planEntry{Outcome: "static", Capacity: &r.Capacity, Request: &r.Requested})
	}
	for _, p := range v.DynamicProvisions {
		entries = append(entries, planEntry{Outcome: "provision", Claim: p.PVC.Name})
	}
	return entries
}

// score runs the whole pipeline. A plugin's panic becomes an error (upstream's process would have died).
func (j *judge) score(ctx context.Context, a *answer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	state := framework.NewCycleState()
	result, status, _ := j.together.RunPreFilterPlugins(ctx, state, j.cluster.pod)
	if !status.IsSuccess() {
		return nil
	}
	var feasible []fwk.NodeInfo
	for _, n := range j.cluster.nodes {
		if !result.AllNodes() && !result.NodeNames.Has(n.Name) {
			continue
		}
		info, err := j.snapshot.Get(n.Name)
		if err != nil {
			continue
		}
		if j.together.RunFilterPlugins(ctx, state, j.cluster.pod, info).IsSuccess() {
			feasible = append(feasible, info)
		}
	}
	if len(feasible) == 0 {
		return nil
	}
	if s := j.together.RunPreScorePlugins(ctx, state, j.cluster.pod, feasible); !s.IsSuccess() {
		return s.AsError()
	}
	var all []fwk.NodePluginScores
	for _, info := range feasible {
		raw, s := j.together.RunRawScorePlugins(ctx, state, j.cluster.pod, info)
		if !s.IsSuccess() {
			return s.AsError()
		}
		all = append(all, fwk.NodePluginScores{Name: info.Node().Name, RawScores: raw})
	}
	if s := j.together.NormalizeScores(ctx, state, j.cluster.pod, all); !s.IsSuccess() {
		return s.AsError()
	}
	a.Scores, a.Totals = map[string]map[string]int64{}, map[string]int64{}
	for _, n := range all {
		a.Scores[n.Name] = map[string]int64{}
		for _, s := range n.Scores {
			a.Scores[n.Name][s.Name] = s.Score / j.weights[s.Name]
		}
		a.Totals[n.Name] = n.TotalScore
	}
	return nil
}
