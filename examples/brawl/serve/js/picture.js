// Draws a scene on a canvas.
export const scale = 20 // Pixels per metre.
export const top = 44 // Pixels of the scores.
/** The buttons on glass. */
export const buttons = [{ name: 'Rail', x: 880, y: 444, radius: 46 }, { name: 'Dash', x: 80, y: 444, radius: 46 }]

const teams = ['#ff5a4d', '#3fa7ff']
const white = '#f4f6f8'

/** Picture draws on a canvas of 960 x 684 pixels. */
export class Picture {
  constructor(canvas) {
    this.context = canvas.getContext('2d')
    this.walls = new Map()
    this.rails = new Map() // The count of each avatar's shots, and the newest beam.
  }

  draw(s, hands) {
    const { context: c } = this
    c.globalAlpha = 1
    c.drawImage(this.wallsOf(s.level), 0, 0)
    for (const p of s.pickups) this.label(p, p.kind === 1 ? 'x4' : '+', p.kind === 1 ? '#d8b4ff' : '#ff8787', 6)
    for (const b of s.bolts) this.disc(b, 5, '#fff1c9')
    if (s.ball) this.disc(s.ball, 18, white)
    for (const a of s.avatars) this.avatar(a)
    this.head(s)
    if (hands?.glass) this.glass(hands)
  }

  // wallsOf is the picture of a level, drawn once.
  wallsOf(level) {
    let image = this.walls.get(level)
    if (image) return image
    image = Object.assign(document.createElement('canvas'), { width: 960, height: 684 })
    const c = image.getContext('2d')
    const colours = { '#': '#34424f', R: '#602f33', B: '#21506f' }
    for (let y = 1; y < 32; y += 2) {
      for (let x = 1; x < 48; x += 2) {
        c.fillStyle = colours[level.at(x, y)] ?? '#10161d'
        c.fillRect((x - 1) * scale, (y - 1) * scale + top, 2 * scale, 2 * scale)
      }
    }
    this.walls.set(level, image)
    return image
  }

  disc(at, radius, colour) {
    const { context: c } = this
    c.fillStyle = colour
    c.beginPath()
    c.arc(at.X * scale, at.Y * scale + top, radius, 0, 7)
    c.fill()
  }

  ring(x, y, radius, colour, width) {
    const { context: c } = this
    Object.assign(c, { strokeStyle: colour, lineWidth: width })
    c.beginPath()
    c.arc(x, y, radius, 0, 7)
    c.stroke()
  }

  line(from, to, colour, width) {
    const { context: c } = this
    Object.assign(c, { strokeStyle: colour, lineWidth: width })
    c.beginPath()
    c.moveTo(from.X * scale, from.Y * scale + top)
    c.lineTo(to.X * scale, to.Y * scale + top)
    c.stroke()
  }

  label(at, text, colour, up = 22) {
    const { context: c } = this
    Object.assign(c, { fillStyle: colour, font: '12px system-ui, sans-serif', textAlign: 'center' })
    c.fillText(text, at.X * scale, at.Y * scale + top - up + 10)
  }

  avatar(a) {
    const { context: c } = this
    const [x, y] = [a.X * scale, a.Y * scale + top]
    this.beam(a)
    c.globalAlpha = a.dead ? .35 : 1
    this.line(a, { X: a.X + a.look.X, Y: a.Y + a.look.Y }, '#cfd8e0', 7)
    this.disc(a, 12, teams[a.Team % 2])
    if (a.own) this.ring(x, y, 15, white, 3)
    c.globalAlpha = 1
    if (a.health < 100) {
      c.fillStyle = '#4ade80'
      c.fillRect(x - 16, y + 17, 32 * a.health / 100, 4)
    }
    this.label(a, a.Name, white, 30)
  }

  // beam shows a shot of a rail for some frames, once its count has changed.
  beam(a) {
    const last = this.rails.get(a.id)
    const now = { count: a.beam?.Count ?? 0, left: last && last.count !== a.beam?.Count ? 24 : Math.max((last?.left ?? 0) - 1, 0) }
    this.rails.set(a.id, now)
    if (now.left > 0) this.line(a, a.beam, teams[a.Team % 2], now.left / 4)
  }

  head(s) {
    const { context: c } = this
    c.fillStyle = '#0c1014'
    c.fillRect(0, 0, 960, top)
    const seconds = Math.ceil(s.clock.Ticks / 60)
    Object.assign(c, { font: 'bold 24px system-ui, sans-serif', textAlign: 'center' })
    const texts = [[s.score.Red, 380, teams[0]], [`${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`, 480, white], [s.score.Blue, 580, teams[1]], [s.phase, 800, '#8b98a5']]
    for (const [text, x, colour] of texts) {
      c.fillStyle = colour
      c.fillText(text, x, 30)
    }
    Object.assign(c, { font: '13px system-ui, sans-serif', textAlign: 'left' })
    s.news.forEach((n, i) => {
      c.fillStyle = teams[n.team % 2]
      c.fillText(n.text, 52, top + 56 + 18 * i)
    })
  }

  // glass shows the sticks and the buttons.
  glass(hands) {
    const { context: c } = this
    c.globalAlpha = .4
    for (const b of buttons) {
      this.ring(b.x, b.y, b.radius, white, 3)
      this.label({ X: b.x / scale, Y: (b.y - top) / scale }, b.name, white, 6)
    }
    for (const s of hands.sticks) {
      if (!s) continue
      this.ring(...s.from, 60, white, 3)
      this.disc({ X: (s.from[0] + s.to[0] * 60) / scale, Y: (s.from[1] + s.to[1] * 60 - top) / scale }, 24, white)
    }
    c.globalAlpha = 1
  }
}
