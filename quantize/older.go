package quantize

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// CompileOlder is Compile for a component of an older build that had only these fields, each in the form of Describe,
// as "X:f32". If the type encodes one of them differently now, the error names the present fields; other errors are
// those of Compile.
func CompileOlder(t reflect.Type, name string, fields []string) (*Plan, error) {
	c := compiler{root: rootName(t), plan: &Plan{name: name, typ: t}, some: true, fields: fields}
	if err := c.compile(t); err != nil {
		return nil, err
	}
	of := make([]string, len(c.plan.ops))
	for i := range of {
		of[i] = c.plan.ops[i].path + ":" + c.plan.ops[i].text
	}
	if !slices.Equal(of, fields) {
		return nil, fmt.Errorf("wire: %s: of the fields %s it has %s", c.root, strings.Join(fields, ";"), strings.Join(of, ";"))
	}
	return c.plan, nil
}

// sends reports whether the field at path, or a part of it, must be compiled.
func (c *compiler) sends(path string) bool {
	return !c.some || path == "" || slices.ContainsFunc(c.fields, func(field string) bool {
		rest, ok := strings.CutPrefix(field, path)
		return ok && rest != "" && strings.IndexByte(":.[", rest[0]) >= 0
	})
}
