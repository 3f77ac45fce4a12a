package nettest_test
import ("testing";"time")
func TestDbg(t *testing.T) {
	c := hitchCase{tickRate: 128, seed: 1, hitch: 500*time.Millisecond}
	debugClient = func(n *N, age time.Duration) {
		f := n.Frame()
		if n.Now() > 10*time.Second && n.Now() < 13500*time.Millisecond && f%16 == 0 {
			cl := n.Clients[0]
			st := cl.Stats(); t.Logf("spent %d sent %d %+v; %v age %v lead %v drift? srv %v time %v stick %v", st.BudgetSpent, st.Packets.Sent, cl.Line(), n.Now(), age, cl.Lead(), cl.ServerTime(), cl.Time(), n.Server.Tick())
		}
	}
	c.ages(t, 14*time.Second)
}
