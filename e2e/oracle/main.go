// Command oracle asks kube-scheduler's own plugins about small clusters.
//
// It reads lines {"id", "pod", "objects"}, each with a "profile" if the default one is not meant, and writes them back with "expected" filled in: the verdict of every filter plugin of
// the default profile, each run alone, VolumeBinding's plans, and the scores of the nodes that pass all filters. The form is that
// of the conformance files, so whatever compares with those compares with these.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// line is one cluster as it stands in a file. Objects stay raw, so that what is written is what was read.
type line struct {
	ID        string            `json:"id"`
	Pod       string            `json:"pod"`
	Objects   []json.RawMessage `json:"objects"`
	Profile   json.RawMessage   `json:"profile,omitempty"`
	Gates     map[string]bool   `json:"gates,omitempty"`
	Base      string            `json:"base,omitempty"`
	Mutations []string          `json:"mutations,omitempty"`
	Expected  *answer           `json:"expected,omitempty"`
	Unstable  bool              `json:"unstable,omitempty"`
	Invalid   []string          `json:"invalid,omitempty"`
}

func main() {
	repeat := flag.Int("repeat", 3, "ask this many times (from the fourth on only VolumeBinding and the scores); answers that differ mark the cluster unstable")
	workers := flag.Int("workers", 2, "clusters judged at once")
	check := flag.Bool("check", false, "list in \"invalid\" the objects that the API server's validation would refuse")
	gates := flag.String("feature-gates", "", "upstream's gates, for every line: NAME=BOOL,...; each line says which in \"gates\"")
	flag.Parse()

	if err := setGates(*gates); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}

	// The plugins log through klog at every refusal; only the answers are wanted here.
	klog.SetLogger(logr.Discard())
	metrics.Register()

	if err := run(os.Stdin, os.Stdout, *repeat, *workers, *check); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// run answers line by line, several at once, and writes the answers in the order of the questions.
func run(in io.Reader, out io.Writer, repeat, workers int, check bool) error {
	type result struct {
		text []byte
		err  error
	}
	type job struct {
		text   []byte
		result chan result
	}
	jobs := make(chan job)
	order := make(chan chan result, 4*workers)

	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for j := range jobs {
				text, err := answerLine(j.text, repeat, check)
				j.result <- result{text, err}
			}
		})
	}

	var readErr error
	go func() {
		reader := bufio.NewReaderSize(in, 1<<20)
		for {
			text, err := reader.ReadBytes('\n')
			if len(text) > 1 {
				j := job{text, make(chan result, 1)}
				order <- j.result
				jobs <- j
			}
			if err != nil {
				if err != io.EOF {
					readErr = err
				}
				break
			}
		}
		close(jobs)
		close(order)
	}()

	writer := bufio.NewWriterSize(out, 1<<20)
	for answered := range order {
		r := <-answered
		if r.err != nil {
			return r.err
		}
		if _, err := writer.Write(append(r.text, '\n')); err != nil {
			return err
		}
	}
	group.Wait()
	if readErr != nil {
		return readErr
	}
	return writer.Flush()
}

// answerLine judges one cluster `repeat` times. Upstream walks hash maps, so a question that has several right answers shows
// itself by answers that differ.
func answerLine(text []byte, repeat int, check bool) ([]byte, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	c, err := decode(l.Pod, l.Objects)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.ID, err)
	}
	l.Expected, l.Unstable, l.Invalid, l.Gates = nil, false, nil, chosenGates
	if check {
		l.Invalid = validate(l.Objects)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	j, err := newJudge(ctx, c, l.Profile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.ID, err)
	}
	var first string
	for i := range max(repeat, 1) {
		var earlier *answer
		if i >= 3 {
			earlier = l.Expected
		}
		a := j.judge(ctx, earlier)
		print, err := a.fingerprint()
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0:
			first, l.Expected = print, a
		case first != print:
			l.Unstable = true
		}
	}
	return json.Marshal(l)
}
