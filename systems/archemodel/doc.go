// Package archemodel holds no code of its own: its tests run netcode's systems under arche-model's scheduler, which netcode
// itself does not import. It is a module of its own so that arche-model stays out of the root module's requirements.
//
// arche-model's speed is a whole number of frames a second, which cannot be nudged to follow Client.Pace. A client under it
// leaves the speed as it is and asks Client.Steps in each update: that many ticks of Client.Time begin in the frame, mostly
// one at a speed of the tick rate, none or two now and then. A simulation ahead of the server runs so many steps;
// everything else goes on as ever, since inputs and what is shown follow the clocks by themselves. A game that wants one step a
// frame calls model.Update by hand, in a loop as in the example of systems.ClientSystems.Pace.
package archemodel
