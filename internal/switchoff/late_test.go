package switchoff

// late switches off what entities are that are gone at the server and still shown, and what a world with several ends of its own is told.
func late() []mutation {
	const fresh, copies, names = "TestDelayedEntityIsNoNewEntityOfACapture", "TestCopiesOfDelayedEntities", "TestDelayedEntityNamesLivingEntities"
	return []mutation{
		change("late", "a server over the same world takes who is still shown for its own", fresh,
			"ecs/tracker.go", "(r.World != 0 || !r.ID.IsZero())", "!r.ID.IsZero()"),
		change("late", "what game code wrote to the Replicated of who is still shown stays", copies, "ecs/smooth.go", "*r, l.apply.slotsStale = l.gone(), true", ""),
		change("late", "a copy that lies in the place of who was shown is not noticed", copies,
			"ecs/tracker.go", "if _, ok := tr.owner(t, row); !ok {", "if false {"),
		change("late", "an entity shown again in its former row is not placed", "TestEntityShownAgainInItsFormerRow",
			"ecs/apply_entities.go", "if t := a.tracker.tables[at.table]; !t.scattered && int(at.slot) < t.length {", "if t := a.tracker.tables[at.table]; t == nil {"),
		change("late", "whom somebody names who is still shown is not followed", names, "ecs/apply.go", "a.delayed.clearRefs()", ""),
		change("late", "a target that went stays that of who is still shown", names, "ecs/smooth.go", "world.SetTarget(w, n.holder, c.id, Entity{})", ""),
		change("late", "what the other end of a world manages is reported", "TestForeignEntitiesAreManagedByNobodyOfThisWorld",
			"ecs/tracker.go", "if !tr.life.manages(tag) {", "if true {"),
		change("late", "who left a world goes on to manage", "TestForeignEntitiesAreManagedByNobodyOfThisWorld", "ecs/tracker.go", "tr.life.leave(tr.world)", ""),
	}
}
