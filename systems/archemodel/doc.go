// Package archemodel holds no code of its own: its tests run netcode's systems under arche-model's scheduler, which netcode
// itself does not import. It is a module of its own so that arche-model stays out of the root module's requirements.
package archemodel
