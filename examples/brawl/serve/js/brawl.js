// Brawl by the JavaScript client: a spectator, or with ?play=1 a player, as on a phone. It predicts the own body alone; shots, hits and the ball
// are the server's.
import { Client, OwnBody, Protocol, WebSocketTransport, connectTransport } from 'arche-netcode-client'
import { Hands } from '/js/hands.js'
import { Picture } from '/js/picture.js'

const query = new URLSearchParams(location.search)
const phases = ['warm-up', 'loading', 'get ready', '', 'the end']

/** Level has the walls of a map, as rules/level.go reads it. */
class Level {
  constructor(text) { [this.name, ...this.rows] = text.split('\n') }
  at(x, y) { return this.rows[Math.floor(y / 2)]?.[Math.floor(x / 2)] ?? '#' }
  wall(x, y) { return '#RB'.includes(this.at(x, y)) }

  // push moves a disc out of the walls, and returns the direction of the push.
  push(at, radius) {
    let [nx, ny] = [0, 0]
    for (let dy = -1; dy <= 1; dy++) {
      for (let dx = -1; dx <= 1; dx++) {
        const [x, y] = [at.X + dx * radius, at.Y + dy * radius]
        if (!this.wall(x, y)) continue
        const [left, up] = [Math.floor(x / 2) * 2, Math.floor(y / 2) * 2]
        const [ax, ay] = [at.X - Math.min(Math.max(at.X, left), left + 2), at.Y - Math.min(Math.max(at.Y, up), up + 2)]
        const length = Math.hypot(ax, ay)
        if (length >= radius || length === 0) continue
        ;[nx, ny] = [ax / length, ay / length]
        at.X += nx * (radius - length)
        at.Y += ny * (radius - length)
      }
    }
    return [nx, ny]
  }
}

/** Game is one connection with what it shows. */
class Game {
  constructor(client, levels, by) {
    Object.assign(this, { client, levels, by, news: [], chat: [], avatar: null, state: null, shots: 0, frames: 0 })
    this.own = new OwnBody(client, { component: 'Body', input: 'Control', step: (at, c, seconds) => this.move(at, c, seconds) })
    client.on('spawn', (e) => {
      if (e.has('Clock')) this.state = e
      if (e.has('Avatar') && e.get('Owner')?.Client === client.id) this.avatar = e
      if (e.has('Fuse') && e.get('Owner')?.Client === client.id) this.shots++
    })
    client.on('despawn', (e) => { if (e === this.avatar) this.avatar = null })
    client.onMessage('News', (n) => this.told(n))
    // "All have loaded" waits for spectators, too: this page has all levels.
    client.onMessage('netcode.loading.state', (m) => client.send('netcode.loading.loaded', { Round: m.Round }))
  }

  get clock() { return this.state?.get('Clock') ?? { Phase: 0, Level: 0, Ticks: 0 } }
  get level() { return this.levels[this.clock.Level % this.levels.length] }
  get mayMove() { return [0, 3, 4].includes(this.clock.Phase) && !this.avatar?.get('Dead') }

  // move is the rule of rules/move.go, without the dash: its state stays at the server, which corrects.
  move(at, control, seconds) {
    let { vx, vy } = at.vx === undefined ? { vx: this.avatar.get('Pace')?.X ?? 0, vy: this.avatar.get('Pace')?.Y ?? 0 } : at
    if (!this.mayMove) return { X: at.X, Y: at.Y, vx: 0, vy: 0 }
    let [x, y] = [control?.X ?? 0, control?.Y ?? 0]
    const length = Math.hypot(x, y)
    if (length > 1) [x, y] = [x / length, y / length]
    vx += (x * 8 - vx) * .3
    vy += (y * 8 - vy) * .3
    const to = { X: at.X + vx * seconds, Y: at.Y + vy * seconds }
    const [nx, ny] = this.level.push(to, .6)
    const into = Math.min(vx * nx + vy * ny, 0)
    return { ...to, vx: vx - nx * into, vy: vy - ny * into }
  }

  told(n) {
    const lines = [`${n.Who}: ${n.Text}`, `${n.Who} is here`, `${n.Who} has left`, `${n.Who} > ${n.Whom}`, `goal for ${['red', 'blue'][n.Team % 2]}`]
    if (n.Kind === 0) this.chat.push(lines[0])
    this.news.push({ text: lines[n.Kind] ?? '', team: n.Team, until: performance.now() + 8000 })
    this.news = this.news.filter((line) => line.until > performance.now()).slice(-7)
  }

  // scene is what a frame shows.
  scene(now) {
    const scene = { level: this.level, score: this.state?.get('Score') ?? { Red: 0, Blue: 0 }, clock: this.clock, phase: phases[this.clock.Phase], news: this.news, avatars: [], bolts: [], pickups: [], ball: null }
    const at = this.own.update(this.avatar, now)
    for (const e of this.client.entities.values()) {
      const place = e === this.avatar ? at : e.shown('Body')
      if (!place) continue
      if (e.has('Avatar')) {
        const { Name, Team } = e.get('Avatar')
        scene.avatars.push({ ...place, Name, Team, look: e.shown('Facing') ?? { X: 1, Y: 0 }, health: e.get('Health')?.Points ?? 100, beam: e.shown('Rail'), dead: e.has('Dead'), own: e === this.avatar, id: e.index })
      } else if (e.has('Fuse')) scene.bolts.push(place)
      else if (e.has('Ball')) scene.ball = place
      else if (e.has('Pickup') && !e.get('Pickup').Gone) scene.pickups.push({ ...place, kind: e.get('Pickup').Kind })
    }
    return scene
  }

  // report has the figures that tests read.
  report(scene) {
    const own = scene.avatars.find((a) => a.own)
    globalThis.brawlPanel = JSON.stringify({
      By: this.by, Connected: true, Phase: this.clock.Phase, Own: own?.Name ?? '', X: own?.X ?? 0, Y: own?.Y ?? 0, Names: scene.avatars.map((a) => a.Name), Chat: this.chat,
      Shots: this.shots, Corrected: this.own.corrections, Frames: ++this.frames,
    })
  }
}

/** play joins and shows the game until it ends. */
export async function play() {
  const settings = globalThis.netcodeSettings
  const plays = query.has('play')
  const [lock, maps] = await Promise.all(['/game.lock', '/levels.txt'].map(async (file) => (await fetch(file)).text()))
  const hash = Uint8Array.from(settings.Hash.match(/../g), (x) => parseInt(x, 16))
  const transport = await connectTransport({ webTransport: settings.WebTransport, webSocket: settings.WebSocket, certificateHashes: [hash], patience: settings.Wait })
  const by = transport instanceof WebSocketTransport ? 'WebSocket' : 'WebTransport'
  // The secret is that of this tab: a page that is loaded again is the same player.
  const secret = (sessionStorage.brawl ??= Array.from(crypto.getRandomValues(new Uint8Array(13)), (b) => b.toString(16).padStart(2, '0')).join(''))
  const name = (query.get('name') ?? `guest ${secret.slice(0, 3)}`).slice(0, 16)
  const client = new Client(new Protocol(lock), transport, { payload: `${secret}\n${name}\n${!plays}` })
  const game = new Game(client, maps.trim().split('\n\n').map((text) => new Level(text)), by)
  const canvas = document.getElementById('arena')
  const picture = new Picture(canvas)
  const hands = new Hands(canvas)
  const said = document.getElementById('said')
  const ready = document.getElementById('ready')
  ready.onclick = () => client.send('Ready', { Is: !game.avatar?.get('Avatar').Ready })
  client.on('close', (err) => { said.textContent = globalThis.netcodeError = `${err.message}. Load the page again to come back.` })

  const frame = () => {
    const now = performance.now()
    client.update(now)
    if (!client.connected) return
    const scene = game.scene(now)
    if (plays) client.input('Control', hands.control(scene.avatars.find((a) => a.own)))
    picture.draw(scene, plays ? hands : null)
    ready.hidden = !game.avatar || game.clock.Phase !== 0
    ready.textContent = game.avatar?.get('Avatar').Ready ? 'waiting for the others' : 'ready'
    said.textContent = game.clock.Phase === 0 ? plays ? 'two thumbs, or WASD and the mouse' : 'you watch' : ''
    game.report(scene)
  }
  const loop = () => { requestAnimationFrame(loop); frame() } // An error in a frame does not stop the game.
  requestAnimationFrame(loop)
  setInterval(() => { if (document.hidden) frame() }, 100) // A tab that nobody sees gets no pictures, and stays connected.
  addEventListener('pagehide', () => client.close('the page was left', { leaving: true }))
}
