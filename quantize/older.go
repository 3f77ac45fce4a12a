package quantize

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// CompileOlder is Compile of the component that a type was in an older build, where it had only these of its fields: each as a field of
// Describe, "X:f32". Where the type is sent otherwise than there, the error is that of Compile, or names what the fields are here.
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

// sends reports whether a field at a path, or a part of it, is one of those to compile.
func (c *compiler) sends(path string) bool {
	return !c.some || path == "" || slices.ContainsFunc(c.fields, func(field string) bool {
		rest, ok := strings.CutPrefix(field, path)
		return ok && rest != "" && strings.IndexByte(":.[", rest[0]) >= 0
	})
}
