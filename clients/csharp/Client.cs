// A thin client of arche-netcode: the plain profile of docs/plain.md. netstandard2.1, C# 7, no unsafe code: .NET, Mono and Unity.
// Client does no I/O: Receive takes datagrams, Update returns those to send. Times are milliseconds of one clock. Play.cs shows it with a socket.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;

namespace NetcodePlain {
public class Known { public ulong Generation; public long Tick; public Dictionary<string, Row> Rows; } // Rows null: it is gone

public class World {
    public long Tick; public readonly Dictionary<uint, Known> Entities = new Dictionary<uint, Known>();
    readonly Protocol protocol;
    public World(Protocol p, long tick) { protocol = p; Tick = tick; }
    public void Snapshot(Bits s) {
        long tick = Wire.Near(s.Read(16), Tick); uint last = 0; var changes = new List<Action>();
        for (; s.Read(1) == 1; last++) {
            last += (uint)s.Var(); uint index = last; ulong generation = s.Var();
            changes.Add(() => Apply(tick, index, generation, null, null));
        }
        last = 0; bool isNew = false; List<Shape> has = null, sent = null;
        for (; ; last++) {
            if (s.Read(1) == 0) {
                uint gap = (uint)s.Var();
                if (gap == 0) break;
                last = (last + gap - 1) % (1 << 20);
                if (s.Read(1) == 0) {
                    isNew = s.Read(1) == 1; has = new List<Shape>(); sent = new List<Shape>();
                    foreach (var c in protocol.Components) if (s.Read(1) == 1) { has.Add(c); if (s.Read(1) == 1) sent.Add(c); }
                }
            }
            if (has == null) throw new Malformed();
            uint index = last; ulong generation = isNew ? s.Var() : 0; var names = has.Select(c => c.Name).ToList(); var rows = new Dictionary<string, Row>();
            foreach (var c in sent) rows[c.Name] = Shape.Read(c.Fields, s);
            changes.Add(() => Apply(tick, index, generation, rows, names));
        }
        foreach (var change in changes) change();
        Tick = Math.Max(Tick, tick);
    }
    void Apply(long tick, uint index, ulong generation, Dictionary<string, Row> rows, List<string> names) {
        Known was; Entities.TryGetValue(index, out was);
        ulong g = generation > 0 || was == null ? generation : was.Generation;
        if (was != null && (g < was.Generation || g == was.Generation && tick <= was.Tick)) return;
        if (names != null && generation == 0 && was?.Rows == null) return;
        var now = new Known { Generation = g, Tick = tick, Rows = names == null ? null : new Dictionary<string, Row>() };
        foreach (string n in names ?? new List<string>()) now.Rows[n] = rows.ContainsKey(n) ? rows[n] : generation == 0 && was.Rows.ContainsKey(n) ? was.Rows[n] : new Row();
        Entities[index] = now;
    }
}

public class Message { public string Name; public Row Row; public byte[] Body; public Entity About; }
class Sent { public int Channel; public byte[] Data; public double At = -1e9; public bool Done; }
class Incoming { public long Next; public byte[] Whole = new byte[0]; public Dictionary<long, KeyValuePair<int, byte[]>> Early = new Dictionary<long, KeyValuePair<int, byte[]>>(); }

public class Client {
    public World World; public bool Connected; public string Closed = ""; public uint Id; public double Rate; public List<Message> Messages = new List<Message>(); public int Closing;
    readonly Protocol protocol; readonly byte[] nonce, payload; byte[] cookie = new byte[16], once = new byte[0];
    bool accepted, eliciting; uint seed, credit; double sentAt = -1e9, heardAt, askedAt, first, began; long newestIn, number, newest;
    HashSet<long> got = new HashSet<long>(); Dictionary<long, List<Sent>> flying = new Dictionary<long, List<Sent>>(); List<Sent> repeat = new List<Sent>();
    readonly Dictionary<int, Incoming> streams = new Dictionary<int, Incoming>(); readonly Dictionary<int, int> numbers = new Dictionary<int, int>();
    readonly List<Row[]> rows = new List<Row[]>();
    static readonly uint open = Wire.Crc(new byte[12]);
    public Client(Protocol p, ulong nonce, byte[] payload, double now) { protocol = p; this.nonce = Wire.Int(nonce, 8); this.payload = payload; heardAt = askedAt = now; }

    public void Receive(byte[] b, double now) { // one that is damaged or illegal has no effect
        if (b.Length < 5 || Closed != "") return;
        bool session = accepted && (b[0] < 0x80 || b[0] == 0x86); byte[] body = Wire.Part(b, 0, b.Length - 4);
        if (Wire.Crc(body, session ? ~seed : open) != Wire.Int(b, b.Length - 4, 4)) return;
        if (session && b[0] < 0x80 && Connected) {
            try { ReadPacket(body); heardAt = now; } catch (Malformed) {} catch (ArgumentException) {} catch (IndexOutOfRangeException) {} catch (OverflowException) {}
        } else if (session && b[0] == 0x86 && !Connected) {
            Id = (uint)Wire.Int(b, 1, 4); World = new World(protocol, (long)Wire.Int(b, 5, 8)); Connected = true; heardAt = began = now; sentAt = -1e9;
            first = World.Tick + 2 + Rate * (now - askedAt) / 1000;
        } else if (!session && b[0] >= 0x82 && Wire.Part(b, 1, 8).SequenceEqual(nonce) && !Connected) {
            if (b[0] == 0x82 && !accepted) { cookie = Wire.Part(b, 9, 16); sentAt = -1e9; }
            else if (b[0] == 0x83 && !accepted) { seed = Wire.Crc(Wire.Join(Wire.Part(b, 9, 4), Wire.Int(protocol.Hash, 8))); Rate = Wire.Int(b, 13, 2); accepted = true; askedAt = now; sentAt = -1e9; }
            else if (b[0] == 0x84 && b[9] != 37 && b[9] != 39) Closed = "refused, reason " + b[9] + ": " + Encoding.UTF8.GetString(Wire.Part(body, 10));
        }
    }
    public List<byte[]> Update(double now) { // returns the datagrams that are due; call it each frame
        var due = new List<byte[]>();
        if (Closed != "") return due;
        if (now - heardAt > (Connected ? 10000 : 5000)) Closed = "silence";
        else if (Connected) Packet(now, due);
        else if (!accepted && now - sentAt >= 250) {
            byte[] hello = Wire.Join(new byte[] { 0x81, 1, 0 }, nonce, Wire.Int(protocol.Hash, 8), cookie, Wire.Int((ulong)protocol.Hashes.Length, 2), Wire.Join(protocol.Hashes.Take(117).Select(h => Wire.Int(h, 4)).ToArray()));
            sentAt = now; due.Add(Wire.Sealed(open, Wire.Join(hello, new byte[508 - hello.Length])));
        } else if (accepted && now - sentAt >= 100) { sentAt = now; due.Add(Wire.Sealed(seed, Wire.Join(new byte[] { 0x85 }, nonce, cookie, payload))); }
        return due;
    }
    void ReadPacket(byte[] b) {
        int at = 3, channel = 0; long n = Wire.Near(Wire.Int(b, 1, 2), newestIn); var acks = new List<long>(); var parts = new List<Action>();
        if ((b[0] & 1) != 0) {
            long ack = Wire.Near(Wire.Int(b, 3, 2), number); acks.Add(ack); at = 5;
            for (int k = 0; k < 4; k++) {
                int bits = (b[0] >> (1 + k) & 1) != 0 ? b[at++] : 255;
                for (int i = 0; i < 8; i++) if ((bits >> i & 1) != 0) acks.Add(ack - 1 - 8 * k - i);
            }
            if ((b[0] & 32) != 0) at += 2;
        }
        if (n < 1 || n <= newestIn - 256 || got.Contains(n)) return;
        Bits snapshot = null;
        for (bool isFirst = true; isFirst || at < b.Length; isFirst = false) {
            int end = at + (int)Wire.Int(b, at, 2); at += 2;
            if (!isFirst) channel = b[at++];
            while (at < end) {
                int c = channel, type = b[at], stage = b[at + 1], size = (int)Wire.Int(b, at + 2, 2); byte[] body = Wire.Part(b, at + 4, size);
                if (type == 1) snapshot = new Bits(body);
                parts.Add(() => Take(c, type, stage, body)); at += 4 + size;
            }
        }
        if (snapshot != null) World.Snapshot(snapshot);
        foreach (long a in acks) if (flying.ContainsKey(a)) { foreach (var m in flying[a]) m.Done = true; flying.Remove(a); }
        got.Add(n); newestIn = Math.Max(newestIn, n); got.RemoveWhere(g => g <= newestIn - 256); eliciting |= parts.Count > 0;
        foreach (var part in parts) part();
    }
    void Take(int channel, int type, int stage, byte[] b) {
        if (channel >= 0x80) { // Reliable too is taken in the order of the numbers
            Incoming s; if (!streams.TryGetValue(channel, out s)) s = streams[channel] = new Incoming();
            long n = Wire.Near(Wire.Int(b, 0, 2), s.Next);
            if (n >= s.Next && n < s.Next + 1024) s.Early[n] = new KeyValuePair<int, byte[]>(type << 8 | stage, b);
            for (; s.Early.ContainsKey(s.Next); s.Next++) {
                var m = s.Early[s.Next]; b = m.Value; s.Early.Remove(s.Next); credit += (uint)b.Length + 32;
                if (m.Key >> 8 != 6) { Handle(m.Key >> 8, m.Key & 255, Wire.Part(b, 2)); continue; }
                s.Whole = Wire.Join(s.Whole, Wire.Part(b, 6)); // a piece
                if (b[4] == b[5] - 1) { byte[] whole = s.Whole; s.Whole = new byte[0]; Handle(b[2], b[3], whole); }
            }
        } else if (type == 2) World.Tick = Math.Max(World.Tick, Wire.Near(Wire.Int(b, 0, 2), World.Tick));
        else if (type == 3) Closed = "closed, reason " + b[0] + ": " + Encoding.UTF8.GetString(Wire.Part(b, 1));
        else if (type == 8) { double early = (short)Wire.Int(b, 2, 2) / 256.0; first += early < 1 ? Math.Min(2 - early, 16) : early > 3 ? -0.05 : 0; } // one to three ticks early
        else if (type >= 16) Handle(type, stage, b);
    }
    void Handle(int type, int stage, byte[] b) {
        int at = (stage & 8) != 0 ? 2 : 0; var id = new ulong[2];
        for (int i = 0; i < ((stage & 16) != 0 ? 2 : 0); i++) { // varint
            int a = b[at++], more = a <= 240 ? 0 : a <= 248 ? 1 : a == 249 ? 2 : a - 247; ulong v = 0;
            for (int k = 0; k < more; k++) v = v << 8 | b[at++];
            id[i] = a <= 240 ? (ulong)a : a <= 248 ? (ulong)(240 + 256 * (a - 241)) + v : a == 249 ? v + 2288 : v;
        }
        at += ((stage & 32) != 0 ? 2 : 0) + ((stage & 64) != 0 ? 2 : 0);
        if (type < 16 || type >= 16 + protocol.Messages.Length) return;
        var shape = protocol.Messages[type - 16]; byte[] body = Wire.Part(b, at);
        Messages.Add(new Message { Name = shape.Name, Body = body, Row = shape.Raw ? null : Shape.Read(shape.Fields, new Bits(body)), About = new Entity { Index = (uint)id[0], Generation = (uint)id[1] } });
    }
    public void Send(string name, Row row) { // with the delivery that the message is registered with
        int i = Array.FindIndex(protocol.Messages, m => m.Name == name), c = protocol.Messages[i].Channel; byte[] body = protocol.Messages[i].Write(new Bits(), row).ToArray();
        if (c < 0x80) { once = Wire.Join(once, Wire.Message(16 + i, 4, body)); return; }
        int n; numbers.TryGetValue(c, out n); numbers[c] = n + 1;
        repeat.Add(new Sent { Channel = c, Data = Wire.Message(16 + i, 4, Wire.Join(Wire.Int((ulong)n, 2), body)) });
    }
    public void SetInput(double now, Row[] input) { // a row for each of Protocol.Inputs; call it each frame, before Update
        long at = (long)(first + Rate * (now - began) / 1000);
        for (newest = newest == 0 ? at - 1 : newest; newest < at; newest++) { rows.Add(input); if (rows.Count > 8) rows.RemoveAt(0); }
    }
    byte[] InputMessage() {
        var s = new Bits();
        for (int i = 0; i < protocol.Inputs.Length; i++) { s.WriteVar((ulong)rows.Count); foreach (var r in rows) protocol.Inputs[i].Write(s, r[i]); }
        return Wire.Message(9, 0, Wire.Join(Wire.Int((ulong)newest, 2), new byte[] { 255, 255 }, s.ToArray()));
    }
    void Packet(double now, List<byte[]> out_) {
        if (now - sentAt < 1000 / Rate - 1) return;
        byte[] own = once;
        if (rows.Count > 0) own = Wire.Join(own, InputMessage());
        if (credit > 0) own = Wire.Join(own, Wire.Message(5, 0, Wire.Int(131072 + (ulong)credit, 4)));
        if (Closing > 0) own = Wire.Join(own, Wire.Message(3, 0, new byte[] { 1 }));
        int size = 0; var due = new List<Sent>();
        foreach (var m in repeat) if (!m.Done && now - m.At >= 200 && size < 400) { due.Add(m); size += m.Data.Length; m.At = now; }
        if (own.Length == 0 && due.Count == 0 && (!eliciting || newestIn == 0)) {
            if (now - sentAt < (newestIn > 0 ? 1000 : 100)) return;
            own = Wire.Message(2, 0, new byte[0]); // KeepAlive
        }
        once = new byte[0]; eliciting = false; sentAt = now; number++;
        int flags = 0; var acks = new List<byte>();
        if (newestIn > 0) {
            flags = 1; acks.AddRange(Wire.Int((ulong)newestIn, 2));
            for (int k = 0; k < 4; k++) {
                int bits = Enumerable.Range(0, 8).Sum(i => got.Contains(newestIn - 1 - 8 * k - i) ? 1 << i : 0);
                if (bits != 255) { flags |= 2 << k; acks.Add((byte)bits); }
            }
        }
        byte[] b = Wire.Join(new[] { (byte)flags }, Wire.Int((ulong)number, 2), acks.ToArray(), Wire.Int((ulong)own.Length + 2, 2), own);
        foreach (var batch in due.GroupBy(m => m.Channel)) {
            byte[] data = Wire.Join(batch.Select(m => m.Data).ToArray());
            b = Wire.Join(b, Wire.Int((ulong)data.Length + 3, 2), new[] { (byte)batch.Key }, data);
        }
        flying[number] = due; flying.Remove(number - 512); repeat.RemoveAll(m => m.Done);
        if (Closing == 1) Closed = "closed";
        Closing = Math.Max(0, Closing - 1);
        out_.Add(Wire.Sealed(seed, b));
    }
}
}
