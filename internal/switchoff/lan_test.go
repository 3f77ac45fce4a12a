package switchoff

// lans are the rules of transport/lan.
func lans() []mutation {
	const announce, limited, near = "transport/lan/announce.go", "TestAnswersAreLimitedByHost", "TestOnlyTheLocalNetworkIsAnswered"
	return []mutation{
		change("lan", "answers are not limited", limited, announce, "return !limited || l.limiter.Take(", "return !limited || true || l.limiter.Take("),
		change("lan", "one host takes the answers of another", limited, announce, "host, limited := hosts.Of(from)", "host, limited := hosts.Of(from)\n\thost.Prefix = netip.MustParsePrefix(\"10.0.0.1/32\")"),
		change("lan", "the internet is answered", near, announce, "&& isNear(from) ", ""),
		change("lan", "half a question is answered", near, announce, "&& len(datagram) == questionSize ", ""),
		change("lan", "anything is answered", near, announce, "return asked && len", "return (asked || true) && len"),
		change("lan", "games are not bounded", "TestGamesAreBounded", "transport/lan/find.go", "|| !known && len(games) >= MaxGames", ""),
		change("lan", "a name is cut within a character", "TestLongTexts", "transport/lan/game.go", "len(name) > MaxName || !utf8.ValidString(name)", "len(name) > MaxName"),
	}
}
