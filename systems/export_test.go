package systems

// Enter is enter with the order that is kept with an end.
func Enter(end End, step Step) { enter(end, new(*order), step) }
