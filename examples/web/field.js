// Draws the field of both pages: the ground, where bodies came from, and the bodies.
const trailLength = 12
const hues = Array.from({ length: 256 }, (_, hue) => `hsl(${Math.floor(hue * 360 / 256)} 75% 60%)`)

/** Field draws on a canvas of 800 x 600 pixels. A body is { id, x, y, hue, own }, in pixels. */
export class Field {
  constructor(canvas) {
    this.context = canvas.getContext('2d')
    this.trails = new Map() // by id: places of the last pictures, the newest last
  }

  draw(bodies) {
    const { context } = this
    this.ground()
    const here = new Set()
    for (const b of bodies) {
      here.add(b.id)
      this.trail(b)
    }
    for (const id of this.trails.keys()) if (!here.has(id)) this.trails.delete(id)
    for (const b of bodies) this.body(b)
    context.globalAlpha = 1
  }

  ground() {
    const { context } = this
    context.fillStyle = '#101820'
    context.fillRect(0, 0, 800, 600)
    context.strokeStyle = '#1c2833'
    context.lineWidth = 1
    context.beginPath()
    for (let x = 0; x <= 800; x += 50) { context.moveTo(x + .5, 0); context.lineTo(x + .5, 600) }
    for (let y = 0; y <= 600; y += 50) { context.moveTo(0, y + .5); context.lineTo(800, y + .5) }
    context.stroke()
  }

  // trail draws where a body was. A leap, as of an id that is used again, begins a new one.
  trail(b) {
    const { context } = this
    let trail = this.trails.get(b.id)
    const last = trail?.at(-1)
    if (!trail || Math.hypot(last.x - b.x, last.y - b.y) > 60) this.trails.set(b.id, trail = [])
    trail.push({ x: b.x, y: b.y })
    if (trail.length > trailLength) trail.shift()
    context.strokeStyle = b.own ? '#ffffff' : hues[b.hue]
    context.lineWidth = b.own ? 4 : 2
    for (let i = 1; i < trail.length; i++) {
      context.globalAlpha = .35 * i / trail.length
      context.beginPath()
      context.moveTo(trail[i - 1].x, trail[i - 1].y)
      context.lineTo(trail[i].x, trail[i].y)
      context.stroke()
    }
  }

  body(b) {
    const { context } = this
    const size = b.own ? 8 : 4
    context.globalAlpha = .4
    context.fillStyle = '#000000'
    context.beginPath()
    context.ellipse(b.x + 3, b.y + 4, size, size * .7, 0, 0, 7)
    context.fill()
    context.globalAlpha = 1
    context.fillStyle = b.own ? '#ffffff' : hues[b.hue]
    context.beginPath()
    context.arc(b.x, b.y, size, 0, 7)
    context.fill()
    if (!b.own) return
    context.strokeStyle = '#80b0ff'
    context.lineWidth = 2
    context.beginPath()
    context.arc(b.x, b.y, size + 4, 0, 7)
    context.stroke()
  }
}
