package systems

// Enter calls enter with the order that is stored with an end.
func Enter(end End, step Step) { enter(end, new(*order), step) }
