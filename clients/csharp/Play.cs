// A sample: joins a server by UDP and prints what its world has. In Unity, put what is in the loop into Update of a MonoBehaviour.
//     dotnet run HOST:PORT GAME.plain        or: mcs Client.cs Play.cs && mono Play.exe HOST:PORT GAME.plain
// "netcode schema plain game.lock -o GAME.plain" writes that file.
using System;
using System.Diagnostics;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Threading;
using NetcodePlain;

static class Play {
    static void Main(string[] args) {
        int colon = args[0].LastIndexOf(':');
        var clock = Stopwatch.StartNew(); var random = new byte[8];
        using (var numbers = RandomNumberGenerator.Create()) numbers.GetBytes(random);
        using (var socket = new UdpClient(args[0].Substring(0, colon), int.Parse(args[0].Substring(colon + 1)))) {
            var client = new Client(File.ReadAllText(args[1]), BitConverter.ToInt64(random, 0), new byte[0], 0);
            var from = new IPEndPoint(IPAddress.Any, 0);
            for (double told = 0; client.Closed == ""; Thread.Sleep(5)) { // a frame of the game
                double now = clock.Elapsed.TotalMilliseconds;
                try {
                    while (socket.Available > 0) client.Receive(socket.Receive(ref from), now);
                    byte[] datagram = client.Update(now);
                    if (datagram != null) socket.Send(datagram, datagram.Length);
                } catch (SocketException) {} // no server there yet
                foreach (var m in client.Messages) Console.WriteLine(m.Name);
                client.Messages.Clear();
                if (!client.Connected || now - told < 1000) continue;
                told = now;
                Console.WriteLine("tick " + client.Tick + ", " + client.Entities.Count + " entities");
                foreach (var e in client.Entities)
                    if (e.Value.Rows != null) Console.WriteLine("  " + e.Key + ": " + string.Join(", ", e.Value.Rows.Keys));
            }
            Console.WriteLine(client.Closed);
        }
    }
}
