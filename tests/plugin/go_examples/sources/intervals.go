package rota

import (
	"fmt"
	"strconv"
	"strings"
)

// Hours reads the hours of a day from a text such as "9-12,14".
func Hours(text string) ([]int, error) {
	var hours []int
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("not an hour: %q", first)
		}
		to := from
		if isRange {
			if to, err = strconv.Atoi(last); err != nil {
				return nil, fmt.Errorf("not an hour: %q", last)
			}
		}
		for hour := from; hour <= to && hour < 24; hour++ {
			hours = append(hours, hour)
		}
	}
	return hours, nil
}
