// Package storetest is what every [client.Store] must pass: for the stores of
// package client, and for yours.
//
// It imports impl/client, spec and the standard library. Read [Run].
package storetest
