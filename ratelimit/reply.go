package ratelimit

import (
	"fmt"
	"strconv"
)

// integers reads a reply that must hold integers only.
func integers(reply []any) ([]int64, error) {
	numbers := make([]int64, len(reply))
	for i, value := range reply {
		n, ok := value.(int64)
		if !ok {
			return nil, fmt.Errorf("reply holds %T at %d, want an integer", value, i)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// fields reads a reply of names and counts in turn. Redis answers the counts of a hash as strings.
func fields(reply []any) (map[string]int64, error) {
	if len(reply)%2 != 0 {
		return nil, fmt.Errorf("reply of %d values is not made of pairs", len(reply))
	}
	counts := make(map[string]int64, len(reply)/2)
	for i := 0; i < len(reply); i += 2 {
		name, ok := reply[i].(string)
		if !ok {
			return nil, fmt.Errorf("reply holds %T at %d, want a name", reply[i], i)
		}
		n, err := strconv.ParseInt(fmt.Sprint(reply[i+1]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("count %s: %w", name, err)
		}
		counts[name] = n
	}
	return counts, nil
}
