package world

import "reflect"

// ComponentID returns the id of a component. It registers the type, if the world is not locked.
func ComponentID[T any](w *World) ID { return TypeID(w, reflect.TypeFor[T]()) }

// TypeOf returns the type of a component.
func TypeOf(w *World, id ID) reflect.Type {
	t, _ := infoOf(w, id)
	return t
}

// IsRelation reports whether a component is a relation.
func IsRelation(w *World, id ID) bool {
	_, is := infoOf(w, id)
	return is
}
