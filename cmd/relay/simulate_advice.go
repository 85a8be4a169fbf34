package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"slackrelay/configs"
	"slackrelay/simulation"
)

// manyEvents is the number of events above which advice compares fewer settings.
const manyEvents = 200_000

// grid are the values that advice compares, the present ones included.
type grid struct {
	global, category []int64
	first            []string
}

// gridOf returns the values to compare: the present limits, and halves and doubles of them.
func gridOf(base configs.Channel, events int) grid {
	tiers := base.Tiers()
	global, category := tiers[0].Windows[0].Limit, tiers[1].Windows[0].Limit
	first := cmp.Or(base.FirstNotice.Mode, "off")
	g := grid{global: []int64{global}, category: limits(category/2, category, category*2), first: []string{first}}
	if first != "auto" {
		g.first = append(g.first, "auto")
	}
	if events <= manyEvents {
		g.global = limits(global/2, global, global*2)
		g.category = limits(category/5, category/2, category, category*2)
	}
	return g
}

// limits returns limits without repetitions, and without 0.
func limits(all ...int64) []int64 {
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(n int64) bool { return n < 1 })
}

// String describes the values in words.
func (g grid) String() string {
	texts := func(limits []int64) string {
		all := make([]string, len(limits))
		for i, n := range limits {
			all[i] = strconv.FormatInt(n, 10)
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("all combinations of global_limit %s; category_limit %s; first_notice.mode %s",
		texts(g.global), texts(g.category), strings.Join(g.first, ", "))
}

// candidates returns the settings of the grid that the channel can have, without the present one.
func (g grid) candidates(base configs.Channel, cfg configs.Config) []simulation.Candidate {
	tiers := base.Tiers()
	var all []simulation.Candidate
	for _, global := range g.global {
		for _, category := range g.category {
			for _, first := range g.first {
				changes := changesOf(
					simulation.Change{Name: "global_limit", From: fmt.Sprint(tiers[0].Windows[0].Limit), To: fmt.Sprint(global)},
					simulation.Change{Name: "category_limit", From: fmt.Sprint(tiers[1].Windows[0].Limit), To: fmt.Sprint(category)},
					simulation.Change{Name: "first_notice.mode", From: cmp.Or(base.FirstNotice.Mode, "off"), To: first},
				)
				varied, err := base.Vary(settingsOf(changes))
				if len(changes) > 0 && err == nil {
					all = append(all, simulation.Candidate{Setting: settingOf(settingsOf(changes), cfg, varied), Changes: changes})
				}
			}
		}
	}
	return all
}

// changesOf returns the changes that change something.
func changesOf(all ...simulation.Change) []simulation.Change {
	return slices.DeleteFunc(all, func(c simulation.Change) bool { return c.From == c.To })
}

// settingsOf writes changes as --try takes them.
func settingsOf(changes []simulation.Change) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Name+"="+c.To)
	}
	return strings.Join(all, ",")
}

// adviseOn plays the grid of settings around the present one, and returns the advice.
func (o *simulateOptions) adviseOn(
	ctx context.Context, trace simulation.Trace, present simulation.Result, progress io.Writer,
) (*simulation.Advice, error) {
	base, cfg, err := o.channelOf(o.config)
	if err != nil {
		return nil, err
	}
	g := gridOf(base, len(trace))
	candidates := g.candidates(base, cfg)
	settings := make([]simulation.Setting, len(candidates))
	for i := range candidates {
		settings[i] = candidates[i].Setting
	}
	results, err := playAll(ctx, trace, settings, progress)
	if err != nil {
		return nil, err
	}
	advice := simulation.Advise(present, candidates, results, base.Tiers()[0].Windows[0].Per)
	advice.Grid = g.String()
	return &advice, nil
}
