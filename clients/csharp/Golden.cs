// Plays a golden session (testdata/plain.golden), and ends with 1 at the first difference: mono golden.exe FILE, or dotnet run FILE.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using NetcodePlain;

static class Json { // enough of JSON for the file: objects, arrays, texts, numbers as their digits
    public class Number { public string Digits; }
    public static object Parse(string s) { int at = 0; return Value(s, ref at); }
    static object Value(string s, ref int at) {
        if (s[at] == '{' || s[at] == '[') {
            bool isObject = s[at++] == '{';
            var map = new Dictionary<string, object>(); var list = new List<object>();
            while (s[at] != '}' && s[at] != ']') {
                if (s[at] == ',') at++;
                string key = isObject ? (string)Value(s, ref at) : null;
                if (isObject) at++; // the colon
                object v = Value(s, ref at);
                if (isObject) map[key] = v; else list.Add(v);
            }
            at++;
            return isObject ? (object)map : list;
        }
        if (s[at] == '"') {
            var b = new StringBuilder();
            for (at++; s[at] != '"'; at++) {
                if (s[at] != '\\') { b.Append(s[at]); continue; }
                at++;
                if (s[at] == 'u') { b.Append((char)Convert.ToInt32(s.Substring(at + 1, 4), 16)); at += 4; }
                else b.Append(s[at] == 'n' ? '\n' : s[at] == 't' ? '\t' : s[at]);
            }
            at++;
            return b.ToString();
        }
        int from = at;
        while (at < s.Length && ",}]".IndexOf(s[at]) < 0) at++;
        string word = s.Substring(from, at - from);
        return word == "null" ? null : word == "true" ? true : word == "false" ? false : (object)new Number { Digits = word };
    }
}

static class Golden {
    // Same compares a value of the client with one of the file. Whole numbers beyond 2^53 are texts there.
    static bool Same(object a, object b) {
        var digits = b as Json.Number;
        if (digits != null) b = digits.Digits;
        if (a is Entity) a = new Dictionary<string, object> { { "index", (long)((Entity)a).Index }, { "generation", (long)((Entity)a).Generation } };
        if (a is long) return Equals(b, a.ToString()) || Equals(b, ((ulong)(long)a).ToString()); // a u64 may be negative here
        if (a is double) return digits != null && (double)a == double.Parse(digits.Digits, CultureInfo.InvariantCulture);
        if (a is double[]) return Same(((double[])a).Cast<object>().ToList(), b);
        if (a is List<Row>) return Same(((List<Row>)a).Cast<object>().ToList(), b);
        if (a is List<object>) return b is List<object> && ((List<object>)a).Count == ((List<object>)b).Count && ((List<object>)a).Zip((List<object>)b, Same).All(x => x);
        if (a is Dictionary<string, Row>) a = ((Dictionary<string, Row>)a).ToDictionary(r => r.Key, r => (object)r.Value);
        if (a is Dictionary<string, object>) {
            var x = (Dictionary<string, object>)a; var y = b as Dictionary<string, object>;
            return y != null && x.Count == y.Count && x.All(e => y.ContainsKey(e.Key) && Same(e.Value, y[e.Key]));
        }
        return Equals(a, b);
    }
    static object Plain(object v) { // a value of the file as one that is sent
        var n = v as Json.Number;
        if (n == null) return v;
        long whole;
        return long.TryParse(n.Digits, out whole) ? (object)whole : double.Parse(n.Digits, CultureInfo.InvariantCulture);
    }
    static Row RowOf(object o) { var row = new Row(); foreach (var e in (Dictionary<string, object>)o) row[e.Key] = Plain(e.Value); return row; }
    static byte[] Hex(object s) => Enumerable.Range(0, ((string)s).Length / 2).Select(i => Convert.ToByte(((string)s).Substring(2 * i, 2), 16)).ToArray();
    static string Hex(byte[] b) => BitConverter.ToString(b).Replace("-", "").ToLowerInvariant();
    static IEnumerable<object> List(Dictionary<string, object> line, string key) => line.ContainsKey(key) ? (List<object>)line[key] : new List<object>();
    static void Check(string what, bool same, int line, object got) {
        if (same) return;
        Console.WriteLine("line " + line + ": " + what + " differs: " + got);
        Environment.Exit(1);
    }

    static void Main(string[] args) {
        string[] lines = File.ReadAllLines(args[0]);
        var head = (Dictionary<string, object>)Json.Parse(lines[0]);
        long nonce = BitConverter.ToInt64(Hex(head["nonce"]), 0);
        var client = new Client((string)head["plain"], nonce, Hex(head["payload"]), 0);
        var known = new Dictionary<string, object>();
        for (int i = 1; i < lines.Length; i++) {
            var line = (Dictionary<string, object>)Json.Parse(lines[i]);
            double ms = Convert.ToDouble(Plain(line["ms"]), CultureInfo.InvariantCulture);
            foreach (object datagram in List(line, "in")) client.Receive(Hex(datagram), ms);
            foreach (Dictionary<string, object> m in List(line, "send")) client.Send((string)m["name"], RowOf(m["row"]));
            if (line.ContainsKey("input")) client.SetInput(ms, List(line, "input").Select(RowOf).ToArray());
            if (line.ContainsKey("close")) client.Closing = 3;
            byte[] due = client.Update(ms);
            var sent = due == null ? new List<string>() : new List<string> { Hex(due) };
            Check("what is sent", sent.SequenceEqual(List(line, "out").Cast<string>()), i + 1, string.Join(" ", sent));
            if (line.ContainsKey("world")) foreach (var e in (Dictionary<string, object>)line["world"]) known[e.Key] = e.Value;
            var entities = client.Entities;
            Check("the number of entities", entities.Count == known.Count, i + 1, entities.Count);
            foreach (var e in entities) {
                object got = e.Value.Rows == null ? null : new Dictionary<string, object> { { "generation", (long)e.Value.Generation }, { "tick", e.Value.Tick }, { "rows", e.Value.Rows } };
                Check("entity " + e.Key, Same(got, known[e.Key.ToString()]), i + 1, "");
            }
            var messages = List(line, "messages").Cast<Dictionary<string, object>>().ToList();
            Check("the number of messages", client.Messages.Count == messages.Count, i + 1, client.Messages.Count);
            for (int k = 0; k < messages.Count; k++) {
                var m = client.Messages[k];
                Check(m.Name, m.Name == (string)messages[k]["name"] && Same(m.Row, messages[k]["row"]), i + 1, "");
            }
            client.Messages.Clear();
            Check("the end", client.Closed == (line.ContainsKey("closed") ? (string)line["closed"] : ""), i + 1, client.Closed);
        }
        Console.WriteLine(lines.Length + " lines, " + known.Count + " entities: all as in the file");
    }
}
