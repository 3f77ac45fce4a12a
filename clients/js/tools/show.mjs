// What a client has of the world, in a form that a server can compare.

const tailOf = (f, v) => (f.tail === 'text' ? new TextDecoder().decode(v) : v.map((e) => ({ Row: [...e.l], Tail: e.tail ? e.tail.map((t, i) => tailOf(f.element.tail[i], t)) : null })));

/** entityOf returns an entity: the numbers of each row, its texts and lists, its collections. */
export function entityOf(client, e) {
  const out = { Index: e.index, Generation: e.generation, Rows: {}, Tails: {}, Collections: {} };
  const { record } = e.state;
  const { shape } = record;
  for (const c of shape.components) {
    const at = shape.offset[c.row];
    const own = client.own.rowOf(e, c); // what this client writes is as it wrote it
    out.Rows[c.name] = [...(own ? own.lanes : record.lanes.slice(at, at + c.plan.size))];
    if (c.plan.tail.length > 0) out.Tails[c.name] = (own ? own.tail : record.tails[shape.place.get(c.row)]).map((t, i) => tailOf(c.plan.tail[i], t));
  }
  for (const name of client.world.collections.names()) {
    const rows = client.world.collections.of(e, name);
    if (rows?.length > 0) out.Collections[name] = rows;
  }
  return out;
}

/** worldOf returns all entities, by index. */
export function worldOf(client) {
  const out = {};
  for (const e of client.entities.values()) out[e.index] = entityOf(client, e);
  return out;
}
