// Package storetest is what every [session.Store] must pass: for the stores of
// this module, and for yours.
//
// It imports impl/session, spec and the standard library. Read [Run].
package storetest
