// Descriptions, bits and rows of the plain profile of arche-netcode, docs/plain.md, sections 1 and 2. Client.cs is the client on it.
// Values of fields are bool, long, double, double[4] (x, y, z, w), string, List<Row> and Entity; a u64 above long.MaxValue is a negative long.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace NetcodePlain {
public class Malformed : Exception {}
public class Row : Dictionary<string, object> {}
public struct Entity { public uint Index, Generation; }

public class Bits { // the least significant bit of a byte first
    readonly List<byte> data; public int At;
    public Bits(IEnumerable<byte> bytes = null) { data = new List<byte>(bytes ?? new byte[0]); }
    public byte[] ToArray() => data.ToArray();
    public ulong Read(int n) {
        if (At + n > 8 * data.Count) throw new Malformed();
        ulong v = 0;
        for (int i = 0; i < n; i++, At++) v |= (ulong)(data[At / 8] >> At % 8 & 1) << i;
        return v;
    }
    public ulong Var() {
        int n = 2;
        while (Read(1) == 0) if (++n > 63) throw new Malformed();
        return Read(n) + (1UL << n) - 4;
    }
    public void Write(ulong v, int n) {
        for (int i = 0; i < n; i++, At++) {
            if (At % 8 == 0) data.Add(0);
            data[At / 8] |= (byte)((v >> i & 1) << At % 8);
        }
    }
    public void WriteVar(ulong v) {
        int n = Wire.Size(v + 4) - 1;
        Write(1UL << (n - 2), n - 1);
        Write(v + 4, n);
    }
}

public static class Wire {
    static readonly uint[] table = Enumerable.Range(0, 256).Select(i => {
        uint c = (uint)i;
        for (int k = 0; k < 8; k++) c = (c & 1) != 0 ? c >> 1 ^ 0xEDB88320 : c >> 1;
        return c;
    }).ToArray();
    public static int Size(ulong v) { int n = 0; for (; v != 0; v >>= 1) n++; return n; }
    public static uint Crc(IEnumerable<byte> b, uint seed = 0) { uint c = ~seed; foreach (byte x in b) c = table[(c ^ x) & 255] ^ c >> 8; return ~c; }
    public static ulong Fnv(string s, ulong h, ulong prime) { foreach (byte c in Encoding.UTF8.GetBytes(s)) h = (h ^ c) * prime; return h; }
    public static byte[] Int(ulong v, int bytes) => Enumerable.Range(0, bytes).Select(i => (byte)(v >> 8 * i)).ToArray();
    public static ulong Int(byte[] b, int at, int bytes) { ulong v = 0; for (int i = 0; i < bytes; i++) v |= (ulong)b[at + i] << 8 * i; return v; }
    public static byte[] Join(params byte[][] parts) => parts.SelectMany(p => p).ToArray();
    public static byte[] Part(byte[] b, int at, int n = -1) { var p = new byte[n < 0 ? b.Length - at : n]; Array.Copy(b, at, p, 0, p.Length); return p; }
    public static byte[] Message(int type, int stage, byte[] body) => Join(new[] { (byte)type, (byte)stage }, Int((ulong)body.Length, 2), body);
    public static byte[] Sealed(uint seed, byte[] b) => Join(b, Int(Crc(b, seed), 4));
    public static long Near(ulong low, long to) => to + (short)((ushort)low - (ushort)to);
    public static double Number(string s) => double.Parse(s, CultureInfo.InvariantCulture);
}

public class Field {
    public readonly string Path;
    readonly string type; // bool, u, i, f, angle, quat, half, axis, entity, text or list
    readonly int width, bits; readonly bool isShort, bounded; readonly ulong most; readonly long low; readonly double min, max, step;
    readonly Field[] elements;
    public Field(string text) {
        int colon = text.IndexOf(':');
        Path = text.Substring(0, colon);
        string kind = text.Substring(colon + 1);
        if (kind.EndsWith(")")) {
            int open = kind.IndexOf('(');
            type = "list"; most = ulong.Parse(kind.Substring(4, open - 4));
            elements = kind.Substring(open + 1, kind.Length - open - 2).Split(' ').Select(f => new Field(f)).ToArray();
            return;
        }
        string[] halves = kind.Split('~')[0].TrimEnd(']').Split('[');
        bounded = halves.Length > 1; isShort = halves[0].EndsWith("short");
        type = kind = halves[0].Replace("short", ""); most = 1;
        foreach (string t in new[] { "angle", "quat", "text", "half", "axis" }) {
            int at = kind.IndexOf(t);
            if (at < 0) continue;
            type = t; width = at > 0 ? int.Parse(kind.Substring(1, at - 1)) : 0; int.TryParse(kind.Substring(at + 4 + (t == "angle" ? 1 : 0)), out bits);
            most = t == "text" ? (ulong)bits : t == "half" ? 63487 : t == "axis" ? 254 : (1UL << bits) - 1;
        }
        if (type != kind || kind == "bool" || kind == "entity") return;
        type = kind.Substring(0, 1); width = int.Parse(kind.Substring(1));
        most = ulong.MaxValue >> (64 - width);
        if (type == "i") low = -1L << (width - 1);
        string[] bounds = bounded ? halves[1].Split(',') : null;
        if (bounded && type == "f") {
            min = Sized(Wire.Number(bounds[0])); max = Sized(Wire.Number(bounds[1]));
            most = (ulong)Math.Ceiling((max - min) / Wire.Number(bounds[2]) - 1e-6); step = (max - min) / most;
        } else if (bounded) {
            low = (long)(type == "u" ? ulong.Parse(bounds[0]) : (ulong)long.Parse(bounds[0]));
            most = (type == "u" ? ulong.Parse(bounds[1]) : (ulong)long.Parse(bounds[1])) - (ulong)low;
        }
    }
    double Sized(double x) => width == 32 ? (double)(float)x : x;
    public object Read(Bits s) {
        if (type == "entity") {
            if (s.Read(1) == 0) return new Entity(); // nobody
            int m = (int)s.Read(5);
            uint index = (uint)s.Read(Math.Max(m, 1)) | (m > 0 ? 1u << m : 0);
            return new Entity { Index = index, Generation = (uint)s.Var() + 1 };
        }
        if (type == "quat") {
            var q = new double[4]; int largest = (int)s.Read(2); double sum = 0;
            for (int i = 0; i < 4; i++) if (i != largest) {
                double g = s.Read(bits) * (Math.Sqrt(2) / most) - Math.Sqrt(2) / 2;
                q[i] = (float)g; sum += g * g;
            }
            q[largest] = (float)Math.Sqrt(Math.Max(0, 1 - sum));
            return q;
        }
        ulong n = isShort || type == "text" || type == "list" ? s.Var() : s.Read(Wire.Size(most));
        if (n > most) throw new Malformed();
        if (type == "text") return Encoding.UTF8.GetString(Enumerable.Range(0, (int)n).Select(_ => (byte)s.Read(8)).ToArray());
        if (type == "list") return Enumerable.Range(0, (int)n).Select(_ => Shape.Read(elements, s)).ToList();
        return Value(n);
    }
    object Value(ulong n) {
        switch (type) {
        case "bool": return n == 1;
        case "u": case "i": return (long)n + low;
        case "half": // halves are numbered in the order of their values
            int h = (int)n >= 31744 ? (int)n - 31744 : 31743 - (int)n;
            return (n >= 31744 ? 1.0 : -1.0) * (h < 1024 ? h * Math.Pow(2, -24) : (h % 1024 + 1024) * Math.Pow(2, h / 1024 - 25));
        case "axis": return Sized(((double)n - 127) / 127);
        case "angle": return Sized(((double)n - ((n >> (bits - 1) & 1) == 1 ? Math.Pow(2, bits) : 0)) * (2 * Math.PI / Math.Pow(2, bits)));
        }
        if (bounded) return Sized(Math.Min(min + n * step, max));
        return width == 32 ? BitConverter.ToSingle(Wire.Int(n, 4), 0) : BitConverter.ToDouble(Wire.Int(n, 8), 0);
    }
    ulong Of(object v) {
        switch (type) {
        case "bool": return Convert.ToBoolean(v) ? 1UL : 0;
        case "u": case "i": return (ulong)(Convert.ToInt64(v) - low);
        case "axis": return (ulong)(Math.Floor(Convert.ToDouble(v) * 127 + 0.5) + 127);
        case "angle": return (ulong)(long)Math.Floor(Convert.ToDouble(v) / (2 * Math.PI) * Math.Pow(2, bits) + 0.5) & most;
        }
        double x = Convert.ToDouble(v);
        if (bounded) return (ulong)Math.Floor((Math.Min(Math.Max(x, min), max) - min) / step + 0.5);
        return width == 32 ? Wire.Int(BitConverter.GetBytes((float)x), 0, 4) : Wire.Int(BitConverter.GetBytes(x), 0, 8);
    }
    public void Write(Bits s, object v) {
        if (type == "text") {
            byte[] b = Encoding.UTF8.GetBytes((string)v ?? "");
            s.WriteVar((ulong)b.Length);
            foreach (byte c in b) s.Write(c, 8);
        } else if (isShort) s.WriteVar(Of(v));
        else s.Write(Of(v), Wire.Size(most));
    }
}

public class Shape { // the description of a component, an input or a message
    public readonly string Name; public readonly bool Raw; public readonly int Channel; public readonly Field[] Fields;
    public Shape(string text) {
        int open = text.IndexOf('{'), end = text.LastIndexOf('}');
        string fields = text.Substring(open + 1, end - open - 1), rest = text.Substring(end + 1);
        Name = rest.StartsWith(" of ") ? rest.Substring(4) : text.Substring(0, open); // a distance band stands for its component
        Raw = fields == "raw" || fields.StartsWith("serialized");
        Fields = fields.Split(';').Where(f => !Raw && f.Contains(":")).Select(f => new Field(f)).ToArray();
        string[] modes = { ";Unreliable ", ";UnreliableSequenced ", ";Reliable ", ";ReliableOrdered " };
        for (int i = 0; i < 4; i++) if (rest.Contains(modes[i])) Channel = i << 6 | int.Parse(rest.Substring(rest.IndexOf(modes[i]) + modes[i].Length).Split(']', ';')[0]);
    }
    public static Row Read(Field[] fields, Bits s) { var row = new Row(); foreach (var f in fields) row[f.Path] = f.Read(s); return row; }
    public Bits Write(Bits s, Row row) { foreach (var f in Fields) { object v; row.TryGetValue(f.Path, out v); f.Write(s, v); } return s; }
}

public class Protocol {
    public readonly ulong Hash; public readonly uint[] Hashes; public readonly Shape[] Components, Messages, Inputs;
    public Protocol(IEnumerable<string> description) { // the lines of Protocol.Description, or Entries of a lock file
        var entries = description.ToArray();
        entries[0] = entries[0].Split(new[] { ";tables:" }, StringSplitOptions.None)[0] + ";plain}";
        Hash = Wire.Fnv(string.Concat(entries.Select(e => e + "\n")), 0xCBF29CE484222325, 0x100000001B3);
        Hashes = entries.Select(e => (uint)Wire.Fnv(e, 0x811C9DC5, 0x1000193)).ToArray();
        Func<string, Shape[]> all = kind => entries.Where(e => e.StartsWith(kind)).Select(e => new Shape(e.Substring(kind.Length))).ToArray();
        Components = all("component "); Messages = all("message "); Inputs = all("input ");
    }
    public static List<string> Entries(string lockFile) {
        var entries = new List<string>(); var fields = new List<string>(); string head = "";
        foreach (string line in lockFile.Split('\n')) {
            if (line.EndsWith(" {")) { head = line.Substring(0, line.LastIndexOf(" #")); fields.Clear(); }
            else if (line.StartsWith("\t")) fields.Add(line.Substring(1));
            else if (line.StartsWith("}")) entries.Add(head + "{" + string.Join(";", fields) + line);
        }
        return entries;
    }
}
}
