// What a player does: two thumbs on glass, or keys and a mouse.
import { buttons, scale, top } from '/js/picture.js'

const reach = 60 // Pixels of the canvas from the middle of a stick to its edge.
const unit = (x, y) => { const l = Math.hypot(x, y); return l > 1 ? [x / l, y / l] : [x, y] }

/** Hands reads pointers and keys. A finger on the left half moves, one on the right half aims and shoots. */
export class Hands {
  constructor(canvas) {
    Object.assign(this, { canvas, keys: new Set(), sticks: [null, null], mouse: null, aim: [1, 0], once: new Set(), glass: false })
    addEventListener('keydown', (e) => { if (!e.repeat && e.code === 'Space') this.once.add('Dash'); if (!e.repeat && e.code === 'KeyE') this.once.add('Rail'); this.keys.add(e.code) })
    addEventListener('keyup', (e) => this.keys.delete(e.code))
    canvas.addEventListener('contextmenu', (e) => e.preventDefault())
    canvas.addEventListener('pointerdown', (e) => this.down(e))
    canvas.addEventListener('pointermove', (e) => this.moved(e))
    for (const end of ['pointerup', 'pointercancel']) addEventListener(end, (e) => this.up(e))
  }

  // place is the pixel of the canvas under a pointer: the canvas keeps its shape within its box.
  place(e) {
    const { width, height } = this.canvas
    const box = this.canvas.getBoundingClientRect()
    const zoom = Math.min(box.width / width, box.height / height)
    return [(e.clientX - box.left - (box.width - width * zoom) / 2) / zoom, (e.clientY - box.top - (box.height - height * zoom) / 2) / zoom]
  }

  down(e) {
    const [x, y] = this.place(e)
    if (e.pointerType === 'mouse') {
      if (e.button === 2) this.once.add('Rail')
      this.mouse = { x, y, fires: e.button === 0 }
      return
    }
    this.glass = true
    const button = buttons.find((b) => Math.hypot(x - b.x, y - b.y) < b.radius)
    if (button) this.once.add(button.name)
    else this.sticks[x < this.canvas.width / 2 ? 0 : 1] = { id: e.pointerId, from: [x, y], to: [0, 0] }
  }

  moved(e) {
    const [x, y] = this.place(e)
    if (e.pointerType === 'mouse') this.mouse = { x, y, fires: this.mouse?.fires ?? false }
    for (const s of this.sticks) if (s?.id === e.pointerId) s.to = unit((x - s.from[0]) / reach, (y - s.from[1]) / reach)
  }

  up(e) {
    if (this.mouse && e.pointerType === 'mouse') this.mouse.fires = false
    this.sticks = this.sticks.map((s) => (s?.id === e.pointerId ? null : s))
  }

  /** control is the input of a frame. Presses are taken once. */
  control(own) {
    const axis = (less, more) => (more.some((k) => this.keys.has(k)) ? 1 : 0) - (less.some((k) => this.keys.has(k)) ? 1 : 0)
    let [X, Y] = [axis(['KeyA', 'ArrowLeft'], ['KeyD', 'ArrowRight']), axis(['KeyW', 'ArrowUp'], ['KeyS', 'ArrowDown'])]
    let Fire = this.keys.has('KeyF') || (this.mouse?.fires ?? false)
    if (this.mouse && own && !this.glass) this.aim = [this.mouse.x - own.X * scale, this.mouse.y - top - own.Y * scale]
    const [left, right] = this.sticks
    if (left) [X, Y] = left.to
    if (right && Math.hypot(...right.to) > .2) [this.aim, Fire] = [right.to, true]
    const far = Math.hypot(...this.aim) || 1
    const [Dash, Rail] = ['Dash', 'Rail'].map((name) => this.once.delete(name))
    return { X, Y, AimX: this.aim[0] / far, AimY: this.aim[1] / far, Fire, Dash, Rail }
  }
}
