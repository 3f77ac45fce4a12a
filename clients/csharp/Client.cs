// A thin client of arche-netcode: the plain profile of docs/plain.md. netstandard2.1, C# 7, no unsafe: .NET and Unity.
// Client does no I/O: Receive takes datagrams, Update returns those to send. Times are milliseconds of one clock.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;

namespace NetcodePlain {
public class Malformed : Exception {} // bytes that no honest server sends
public class Row : Dictionary<string, object> {} // bool, long, double, double[], string, List<Row>, byte[], Entity
public class Entity { public uint Index, Generation; }
public class Rows : Dictionary<string, Row> {} // by component
public class Known { public long Generation, Tick; public Rows Rows; } // Rows null: it is gone
public class Message { public string Name; public Row Row; public Entity About; }

public class Bits { // a bit stream, the least significant bit of a byte first
    public readonly List<byte> Data = new List<byte>(); public int At;
    public Bits(IEnumerable<byte> data = null) { if (data != null) Data.AddRange(data); }
    public static void Must(bool holds) { if (!holds) throw new Malformed(); }
    public ulong Read(int n) {
        Must(At + n <= 8 * Data.Count);
        ulong v = 0;
        for (int i = 0; i < n; i++, At++) v |= (ulong)(Data[At / 8] >> At % 8 & 1) << i;
        return v;
    }
    public int Int(int n) => (int)Read(n);
    public long Var() {
        int n = 2;
        while (Read(1) == 0) Must(++n <= 32);
        return (long)Read(n) + (1L << n) - 4;
    }
    public byte[] Bytes(int n) => Enumerable.Range(0, n).Select(_ => (byte)Read(8)).ToArray();
    public Bits Sub() => new Bits(Bytes(Int(16))); // a message's body, behind its size
    public byte[] Rest() => Bytes(Data.Count - At / 8);
    public Bits Write(long v, int n) {
        for (int i = 0; i < n; i++, At++) {
            if (At % 8 == 0) Data.Add(0);
            Data[At / 8] |= (byte)((v >> i & 1) << At % 8);
        }
        return this;
    }
    public Bits WriteVar(long v) {
        int n = 2; while (v + 4 >> n + 1 != 0) n++;
        return Write(1L << n - 2, n - 1).Write(v + 4, n);
    }
    public Bits Add(IEnumerable<byte> bytes) { Data.AddRange(bytes); At = 8 * Data.Count; return this; }
    public Bits Message(int type, int stage, Bits body) =>
        Write(type, 8).Write(stage, 8).Write(body.Data.Count, 16).Add(body.Data);
    static readonly uint[] table = Enumerable.Range(0, 256).Select(i =>
        Enumerable.Range(0, 8).Aggregate((uint)i, (c, _) => (c & 1) != 0 ? c >> 1 ^ 0xEDB88320 : c >> 1)).ToArray();
    public static uint Crc(uint seed, IEnumerable<byte> b) =>
        ~b.Aggregate(~seed, (c, x) => table[(c ^ x) & 255] ^ c >> 8);
    public byte[] Sealed(uint seed) => Write(Crc(seed, Data), 32).Data.ToArray();
}

public class Field {
    readonly string path, form; readonly int bits; readonly ulong most; readonly long first; readonly double low, step;
    public readonly List<Field> Elements = new List<Field>();
    public Field(string[] words) { // "field" PATH FORM BITS MOST LOW HIGH
        path = words[1]; form = words[2]; bits = int.Parse(words[3]); most = ulong.Parse(words[4]);
        long.TryParse(words[5], out first);
        low = Number(words[5]); step = (Number(words[6]) - low) / Math.Max(1, most);
    }
    static double Number(string text) => double.Parse(text, System.Globalization.CultureInfo.InvariantCulture);
    public static Row Read(List<Field> fields, Bits s) {
        var row = new Row(); fields.ForEach(f => row[f.path] = f.Read(s));
        return row;
    }
    public static void Write(List<Field> fields, Bits s, Row row) => fields.ForEach(f => f.Write(s, row[f.path]));
    object Read(Bits s) {
        if (form == "entity") {
            if (s.Read(1) == 0) return null;
            int m = s.Int(5);
            ulong index = m > 0 ? s.Read(m) | 1UL << m : s.Read(1);
            return new Entity { Index = (uint)index, Generation = (uint)s.Var() + 1 };
        }
        if (form == "quat") { // the largest is left out
            var q = new double[4];
            double root = Math.Sqrt(2), unit = root / ((1 << bits) - 1);
            int largest = s.Int(2);
            for (int i = 0; i < 4; i++) q[i] = i == largest ? 0 : s.Read(bits) * unit - root / 2;
            q[largest] = Math.Sqrt(Math.Max(0, 1 - q.Sum(x => x * x))); return q;
        }
        ulong n = form == "short" || form == "text" || form == "list" ? (ulong)s.Var() : s.Read(bits);
        Bits.Must(n <= most || most == 0);
        switch (form) {
        case "text": return Encoding.UTF8.GetString(s.Bytes((int)n));
        case "list": return Enumerable.Range(0, (int)n).Select(_ => Read(Elements, s)).ToList();
        case "bytes": return s.Rest();
        case "bool": return n == 1;
        case "int": case "short": return (long)n + first;
        case "float": return bits == 64 ? BitConverter.Int64BitsToDouble((long)n) :
            BitConverter.ToSingle(BitConverter.GetBytes((uint)n), 0);
        case "half": // halves are numbered in the order of their values
            int h = n >= 31744 ? (int)n - 31744 : 31743 - (int)n, e = h / 1024 - 25;
            return (n < 31744 ? -1 : 1) * (h < 1024 ? h * Math.Pow(2, -24) : (h % 1024 + 1024) * Math.Pow(2, e));
        }
        return low + n * step;
    }
    void Write(Bits s, object v) {
        double x = v is string ? 0 : Convert.ToDouble(v), number = Math.Floor((x - low) / step + 0.5);
        if (form == "text") {
            byte[] text = Encoding.UTF8.GetBytes((string)v);
            s.WriteVar(text.Length);
            foreach (byte c in text) s.Write(c, 8);
        } else if (form == "short") s.WriteVar(Convert.ToInt64(v));
        else if (form == "int" || form == "bool") s.Write(Convert.ToInt64(v) - first, bits);
        else if (form == "float" && bits == 64) s.Write(BitConverter.DoubleToInt64Bits(x), 64);
        else if (form == "float") s.Write(BitConverter.ToUInt32(BitConverter.GetBytes((float)x), 0), 32);
        else if (form == "scaled") s.Write((long)Math.Min(Math.Max(number, 0), most), bits);
        else if (form == "angle") s.Write((long)number, bits);
        else throw new ArgumentException("a field of this form is not written: " + form);
    }
}

public class Shape { public string Name; public int Channel; public List<Field> Fields = new List<Field>(); }

class Sent { public int Channel; public Bits Data; public double At = -1e9; public List<long> In = new List<long>(); }
class Part { public int Channel, Type, Stage; public Bits Body; }
class Stream : Dictionary<long, Part> { public long Next; public byte[][] Whole = {}; } // messages that came early

public class Client {
    public bool Connected; public uint Id; public double Rate; public long Tick; // Rate: ticks a second
    public string Closed = ""; public int Closing; // Closed tells why it is over; set Closing to 3 to leave
    public readonly Dictionary<long, Known> Entities = new Dictionary<long, Known>(); // by index
    public readonly List<Message> Messages = new List<Message>(); // that came
    public readonly List<Shape> Components = new List<Shape>();
    public readonly List<Shape> Inputs = new List<Shape>(), Shapes = new List<Shape>(); // Shapes of messages
    readonly Dictionary<string, byte[]> words = new Dictionary<string, byte[]>(); // "hash" and "entries"
    readonly long nonce; readonly byte[] payload; byte[] cookie = new byte[16];
    const uint Open = 0x7BD5C66F; uint seed; bool accepted; // Open is the seed before the session
    double sentAt = -1e9, heardAt, askedAt, first, began; // first is the tick of inputs at the time began
    long newestIn, number, newest, credit = 131072; // packets that came and that were sent, inputs
    ulong mask; // bit i tells that packet newestIn - i was taken
    Bits once = new Bits();
    readonly List<Sent> repeat = new List<Sent>(); readonly List<Row[]> rows = new List<Row[]>();
    readonly Dictionary<int, Stream> streams = new Dictionary<int, Stream>();
    readonly Dictionary<int, long> numbers = new Dictionary<int, long>();

    public Client(string text, long nonce, byte[] payload, double now) { // text is of "netcode schema plain"
        this.nonce = nonce; this.payload = payload; heardAt = now;
        Shape last = null;
        foreach (string[] w in text.Trim().Split('\n').Select(line => line.Trim().Split(' '))) {
            if (w[0] == "field") last.Fields.Add(new Field(w));
            else if (w[0] == "element") last.Fields.Last().Elements.Add(new Field(w));
            else if (w[0] == "component") Components.Add(last = new Shape { Name = w[1] });
            else if (w[0] == "input") Inputs.Add(last = new Shape { Name = w[1] });
            else if (w[0] == "message") Shapes.Add(last = new Shape { Name = w[1], Channel = int.Parse(w[2]) });
            else words[w[0]] = w.Skip(1).Select(byte.Parse).ToArray();
        }
    }
    static long Near(ulong low, long to) => to + (short)((ushort)low - (ushort)to); // the nearest with these low bits

    public void Receive(byte[] datagram, double now) { // one that is damaged or illegal has no effect
        if (datagram.Length < 5 || Closed != "") return;
        int type = datagram[0], end = datagram.Length - 4;
        bool session = accepted && (type < 0x80 || type == 0x86);
        var s = new Bits(datagram.Take(end));
        if (Bits.Crc(session ? ~seed : Open, s.Data) != new Bits(datagram.Skip(end)).Read(32)) return;
        try {
            if (session && type < 0x80 && Connected) { ReadPacket(s); heardAt = now; }
            else if (session && type == 0x86 && end == 29 && !Connected) {
                s.Read(8); Id = (uint)s.Read(32); Tick = (long)s.Read(64); Connected = true; heardAt = began = now;
                sentAt = -1e9; first = Tick + 2 + Rate * (now - askedAt) / 1000;
            } else if (!accepted && s.Int(8) == type && (long)s.Read(64) == nonce) {
                if (type == 0x82 && end == 25) { cookie = s.Bytes(16); sentAt = -1e9; }
                else if (type == 0x83 && end == 19) {
                    seed = Bits.Crc(0, s.Bytes(4).Concat(words["hash"])); Rate = s.Int(16);
                    accepted = Rate > 0; askedAt = now; sentAt = -1e9;
                } else if (type == 0x84 && end > 9 && datagram[9] != 37 && datagram[9] != 39) CloseBy("refused", s);
            }
        } catch (Malformed) {}
    }
    void CloseBy(string what, Bits s) => Closed = $"{what}, reason {s.Int(8)}: {Encoding.UTF8.GetString(s.Rest())}";

    public byte[] Update(double now) { // returns the datagram that is due, or null; call it each frame
        if (Closed == "" && now - heardAt > (Connected ? 10000 : 5000)) Closed = "silence";
        if (Closed != "" || now - sentAt < (Connected ? 1000 / Rate - 1 : accepted ? 100 : 250)) return null;
        sentAt = now;
        if (Connected) return Packet(now).Sealed(seed);
        if (accepted) return new Bits().Write(0x85, 8).Write(nonce, 64).Add(cookie).Add(payload).Sealed(seed);
        var hello = new Bits().Write(0x81, 8).Write(1, 16).Write(nonce, 64).Add(words["hash"]).Add(cookie);
        return hello.Add(words["entries"]).Add(new byte[508 - hello.Data.Count]).Sealed(Open);
    }

    void ReadPacket(Bits s) {
        int flags = s.Int(8);
        long n = Near(s.Read(16), newestIn), ack = flags % 2 == 1 ? Near(s.Read(16), number) : -1, ahead = n - newestIn;
        ulong bits = 1; // bit i tells that the server took packet ack - i
        for (int k = 0; k < 4; k++) bits |= ((flags & 2 << k) != 0 ? s.Read(8) : 255) << 1 + 8 * k;
        s.Read((flags & 32) != 0 ? 16 : 0);
        if (n < 1 || ahead < -32 || ahead <= 0 && (mask >> (int)-ahead & 1) != 0) return; // old, or taken before
        var parts = new List<Part>();
        for (bool isFirst = true; isFirst || s.At < 8 * s.Data.Count; isFirst = false) {
            int end = s.At + 8 * s.Int(16), channel = isFirst ? 0 : s.Int(8);
            while (s.At < end)
                parts.Add(new Part { Channel = channel, Type = s.Int(8), Stage = s.Int(8), Body = s.Sub() });
            Bits.Must(s.At == end);
        }
        foreach (var part in parts) if (part.Type == 1) ReadSnapshot(part.Body);
        repeat.RemoveAll(m => m.In.Any(p => p <= ack && p >= ack - 32 && (bits >> (int)(ack - p) & 1) != 0));
        mask = ahead > 32 ? 1 : ahead > 0 ? mask << (int)ahead | 1 : mask | 1UL << (int)-ahead;
        newestIn = Math.Max(newestIn, n);
        foreach (var part in parts) Take(part);
    }

    void ReadSnapshot(Bits s) {
        long tick = Near(s.Read(16), Tick), index = -1;
        var changes = new List<(long Index, long Generation, Rows Rows)>();
        bool isNew = false; List<(Shape Shape, bool Sent)> head = null;
        for (; s.Read(1) == 1; changes.Add((index, s.Var(), null))) index += s.Var() + 1;
        for (index = 0; ; index++) {
            if (s.Read(1) == 0) {
                long gap = s.Var(); if (gap == 0) break;
                index = (index + gap - 1) % (1 << 20);
                if (s.Read(1) == 0) {
                    isNew = s.Read(1) == 1;
                    head = Components.Where(_ => s.Read(1) == 1).Select(c => (c, s.Read(1) == 1)).ToList();
                }
            }
            Bits.Must(head != null);
            long generation = isNew ? s.Var() : -1; // -1: of the entity that is here
            var rows = new Rows(); // null: as before
            foreach (var c in head) rows[c.Shape.Name] = c.Sent ? Field.Read(c.Shape.Fields, s) : null;
            changes.Add((index, generation, rows));
        }
        Bits.Must(tick > 0 && changes.All(c => c.Index < 1 << 20 && c.Generation != 0 && c.Generation < 1L << 32));
        foreach (var c in changes) {
            if (!Entities.TryGetValue(c.Index, out Known was)) was = new Known();
            long generation = c.Generation > 0 ? c.Generation : was.Generation;
            if (generation < was.Generation || generation == was.Generation && tick <= was.Tick) continue;
            if (c.Generation < 0 && was.Rows == null) continue;
            foreach (string name in (c.Rows ?? new Rows()).Keys.Where(row => c.Rows[row] == null).ToList())
                c.Rows[name] = c.Generation < 0 && was.Rows.ContainsKey(name) ? was.Rows[name] : new Row();
            Entities[c.Index] = new Known { Generation = generation, Tick = tick, Rows = c.Rows };
        }
        Tick = Math.Max(Tick, tick);
    }

    void Take(Part m) {
        if (m.Channel >= 0x80) { // Reliable too is taken in the order of the numbers
            if (!streams.TryGetValue(m.Channel, out Stream s)) s = streams[m.Channel] = new Stream();
            long n = Near(m.Body.Read(16), s.Next);
            if (n >= s.Next && n < s.Next + 1024) s[n] = m;
            while (s.TryGetValue(s.Next, out m)) {
                s.Remove(s.Next++); credit += m.Body.Data.Count + 32;
                if (m.Type != 6) { Handle(m); continue; }
                int[] head = m.Body.Bytes(4).Select(b => (int)b).ToArray(); // type, stage, index and number of pieces
                s.Whole = s.Whole.Take(head[2]).Append(m.Body.Rest()).ToArray();
                m = new Part { Type = head[0], Stage = head[1], Body = new Bits(s.Whole.SelectMany(b => b)) };
                if (head[2] + 1 == head[3]) Handle(m);
            }
        } else if (m.Type == 2) Tick = Math.Max(Tick, Near(m.Body.Read(16), Tick));
        else if (m.Type == 3) CloseBy("closed", m.Body);
        else if (m.Type == 8) { // inputs should come one to three ticks early
            double early = (short)(m.Body.Read(32) >> 16) / 256.0;
            first += early < 1 ? Math.Min(2 - early, 16) : early > 3 ? -0.05 : 0;
        } else Handle(m);
    }

    void Handle(Part m) { // a message of the game
        var s = m.Body; var id = new ulong[2];
        s.Read((m.Stage & 8) != 0 ? 16 : 0);
        for (int i = 0; i < ((m.Stage & 16) != 0 ? 2 : 0); i++) { // a varint
            int a = s.Int(8), more = a <= 240 ? 0 : a <= 248 ? 1 : a == 249 ? 2 : a - 247;
            ulong v = s.Bytes(more).Aggregate(0UL, (w, b) => w << 8 | b);
            id[i] = a <= 240 ? (ulong)a : a <= 248 ? (ulong)(240 + 256 * (a - 241)) + v : a == 249 ? v + 2288 : v;
        }
        s.Read(((m.Stage & 32) != 0 ? 16 : 0) + ((m.Stage & 64) != 0 ? 16 : 0));
        if (m.Type < 16 || m.Type >= 16 + Shapes.Count) return;
        var shape = Shapes[m.Type - 16];
        var about = (m.Stage & 16) != 0 ? new Entity { Index = (uint)id[0], Generation = (uint)id[1] } : null;
        Messages.Add(new Message { Name = shape.Name, Row = Field.Read(shape.Fields, s), About = about });
    }

    public void Send(string name, Row row) { // with the delivery that the message is registered with
        int i = Shapes.FindIndex(m => m.Name == name), c = Shapes[i].Channel;
        numbers.TryGetValue(c, out long n);
        var body = new Bits().Write(n, c < 0x80 ? 0 : 16);
        Field.Write(Shapes[i].Fields, body, row);
        if (c < 0x80) once.Message(16 + i, 4, body);
        else repeat.Add(new Sent { Channel = c, Data = new Bits().Message(16 + i, 4, body) });
        numbers[c] = n + 1;
    }
    public void SetInput(double now, Row[] input) { // a row for each of Inputs; call it each frame, before Update
        long at = (long)(first + Rate * (now - began) / 1000);
        for (newest = newest == 0 ? at - 1 : Math.Max(newest, at - 8); newest < at; newest++) rows.Add(input);
        if (rows.Count > 8) rows.RemoveRange(0, rows.Count - 8);
    }

    Bits Packet(double now) {
        var own = once; once = new Bits(); number++;
        if (newestIn == 0) own.Message(2, 0, new Bits()); // KeepAlive
        if (rows.Count > 0) {
            var s = new Bits().Write(newest, 16).Write(0xFFFF, 16);
            for (int i = 0; i < Inputs.Count; i++) {
                s.WriteVar(rows.Count);
                rows.ForEach(r => Field.Write(Inputs[i].Fields, s, r[i]));
            }
            own.Message(9, 0, s);
        }
        if (credit > 131072) own.Message(5, 0, new Bits().Write(credit, 32));
        if (Closing > 0) own.Message(3, 0, new Bits().Write(1, 8));
        if (Closing > 0 && --Closing == 0) Closed = "closed";
        byte[] taken = newestIn == 0 ? new byte[0] : new[] { 1, 9, 17, 25 }.Select(i => (byte)(mask >> i)).ToArray();
        int flags = newestIn == 0 ? 0 : 1 + taken.Select((b, k) => b == 255 ? 0 : 2 << k).Sum();
        var packet = new Bits().Write(flags, 8).Write(number, 16).Write(newestIn, newestIn == 0 ? 0 : 16);
        packet.Add(taken.Where(b => b != 255)).Write(own.Data.Count + 2, 16).Add(own.Data);
        var due = repeat.Find(m => now - m.At >= 200); // one reliable message a packet
        if (due == null) return packet;
        due.At = now; due.In.Add(number);
        return packet.Write(due.Data.Data.Count + 3, 16).Write(due.Channel, 8).Add(due.Data.Data);
    }
}
}
