// Package naive holds servers and clients that resume a stream the wrong way,
// on purpose: the other half of every claim this module makes.
//
// Each wrong decision seen in the incidents that led to the contract has a
// name, a [ServerFault] or a [ClientFault], and can be switched on alone. With
// none switched on both ends behave for the simple case they cover (one client
// a session, one call at a time), so that what goes wrong with a fault goes
// wrong because of it. The incidents, and the faults that reproduce them:
//
//	a dropped connection, a tool result applied twice    ReplayInclusive + AppendBlindly
//	an expired cursor answered with the whole history    ReplayFromStart + AppendBlindly
//	clients that never come back, memory that only grows KeepEverything
//	a rolling deploy behind one address                  MintOnResume + TrustStatus + AppendBlindly + RetryPOST
//	a 404 papered over with a new session                RenewOn404
//	an event cut short that counts as seen               TokenFirst, ApplyPartial
//	ids that mean different events at different times    RestartIDs, AcceptAnyCursor
//
// Everything runs over net/http and real sockets. The package imports the
// standard library only and nothing of this module: a mistake of ours cannot
// be in both halves of a comparison.
//
// Read [ServerFault] and [ClientFault] first, then [Server.ServeHTTP] and
// [Client.Call]; then package impl/cmd/reattach, whose demo plays the incidents.
package naive
