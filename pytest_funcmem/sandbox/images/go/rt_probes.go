package rt

import "math/bits"

const (
	mostProbes = 4096
	mostSteps  = 3_000_000
	edgeBits   = 14
)

var (
	hit      [mostProbes]bool
	edges    [1 << edgeBits]uint32
	previous int
	steps    int
)

// P is a probe before a statement.
func P(probe int) {
	if starting || probe >= mostProbes {
		return
	}
	hit[probe] = true
	edges[(previous*613+probe)&(1<<edgeBits-1)]++
	previous = probe
	steps++
	if steps > mostSteps {
		endless()
	}
}

func probesRun() []int {
	var found []int
	for probe, was := range hit {
		if was {
			found = append(found, probe)
		}
	}
	return found
}

// features are pairs of statements that followed one another, with how often in powers of two.
func features() []int {
	var found []int
	for edge, count := range edges {
		if count > 0 {
			found = append(found, edge*8+min(bits.Len32(count), 7))
		}
	}
	return found
}
