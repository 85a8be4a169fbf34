package configs

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// origin knows where the settings of a configuration come from, so that a fault can name the place.
type origin struct {
	file document
	// variables are the variables that set something, by the path of the setting.
	variables map[string]string
	// inFile is the index in the file of each channel, -1 = it is not in the file; nil = the same as in the configuration.
	inFile []int
}

// locate adds file and line, or the variable, to faults, and orders them by line.
func (o *origin) locate(faults []*FieldError) []*FieldError {
	for _, fault := range faults {
		o.locateOne(fault)
	}
	slices.SortStableFunc(faults, func(a, b *FieldError) int { return cmp.Compare(a.Line, b.Line) })
	return faults
}

func (o *origin) locateOne(fault *FieldError) {
	if fault.File != "" || strings.HasPrefix(fault.Field, prefix) {
		return
	}
	if variable := o.variable(fault.Field); variable != "" {
		fault.Field = variable
		return
	}
	field, ok := o.fieldInFile(fault.Field)
	if o.file.path == "" || !ok {
		return
	}
	fault.File = o.file.path
	fault.Field = field
	fault.Line = o.file.line(field)
}

// sets reports whether the file or a variable sets a setting.
func (o *origin) sets(setting string) bool {
	if o.variables[setting] != "" {
		return true
	}
	field, ok := o.fieldInFile(setting)
	return ok && o.file.contains(field)
}

// variable returns the variable that set a setting, or the list that it is an item of.
func (o *origin) variable(field string) string {
	if i := strings.LastIndexByte(field, '['); i >= 0 && strings.HasSuffix(field, "]") {
		field = field[:i]
	}
	return cmp.Or(o.variables[field], o.variables[field+"_file"])
}

var channelPath = regexp.MustCompile(`^channels\[(\d+)\]`)

// fieldInFile is the path that a setting has in the file, where RELAY_CHANNELS may have picked other channels in another
// order; false = its channel is not in the file.
func (o *origin) fieldInFile(field string) (string, bool) {
	match := channelPath.FindStringSubmatch(field)
	if match == nil || o.inFile == nil {
		return field, true
	}
	i, err := strconv.Atoi(match[1])
	if err != nil || i >= len(o.inFile) || o.inFile[i] < 0 {
		return field, false
	}
	return fmt.Sprintf("channels[%d]%s", o.inFile[i], strings.TrimPrefix(field, match[0])), true
}
