// Checks values that the game gives: inputs, messages, components that it writes. An error names type and field.

const shown = (v) => (typeof v === 'string' ? JSON.stringify(v) : typeof v === 'bigint' ? `${v}n` : Array.isArray(v) ? 'an array' : v !== null && typeof v === 'object' ? 'an object' : String(v));

/** wrong throws an error that names a field and what it should be. */
export function wrong(path, v, what) {
  throw new Error(`netcode: ${path}: ${shown(v)} is not ${what}`);
}

/** checkNumber throws if v is no number. big: a bigint will do, whole: nothing else than a whole number. */
export function checkNumber(path, v, { big = false, whole = false, finite = true } = {}) {
  if (big && typeof v === 'bigint') return;
  if (typeof v !== 'number' || (finite && Number.isNaN(v))) wrong(path, v, 'a number');
  if (finite && !Number.isFinite(v)) wrong(path, v, 'a finite number');
  if (whole && !Number.isInteger(v)) wrong(path, v, 'a whole number');
}

/** checkBool throws if v is neither a boolean nor a number. */
export function checkBool(path, v) {
  if (typeof v !== 'boolean' && (typeof v !== 'number' || Number.isNaN(v))) wrong(path, v, 'a boolean');
}

/** checkText throws if v is no string. */
export function checkText(path, v) {
  if (typeof v !== 'string') wrong(path, v, 'a text');
}

/** checkList throws if v is no array. */
export function checkList(path, v, most = Infinity) {
  if (!Array.isArray(v) && !ArrayBuffer.isView(v)) wrong(path, v, 'an array');
  if (v.length > most) throw new Error(`netcode: ${path}: ${v.length} elements; it has ${most}`);
}

/** treeOf makes a tree of the names of fields; a leaf is a field. */
export function treeOf(fields) {
  const root = new Map();
  for (const f of fields) {
    let node = root;
    for (const [i, step] of f.steps.entries()) {
      if (i === f.steps.length - 1) node.set(step, f);
      else {
        if (!node.has(step)) node.set(step, new Map());
        node = node.get(step);
        if (!(node instanceof Map)) break; // the field as a whole
      }
    }
  }
  return root;
}

/** checkTree throws if a value has a field that the tree lacks. leaf(field, path, v) checks the others. */
export function checkTree(node, path, value, leaf) {
  const names = [...node.keys()];
  if (typeof names[0] === 'number') checkList(path, value, names.length);
  else if (typeof value !== 'object' || value === null || Array.isArray(value)) wrong(path, value, `an object${names.length > 0 ? ` of ${names.join(', ')}` : ''}`);
  for (const key of Object.keys(value)) {
    const index = typeof names[0] === 'number';
    const at = index ? `${path}[${key}]` : `${path}.${key}`;
    const inner = node.get(index ? Number(key) : key);
    if (inner === undefined) throw new Error(`netcode: ${at}: there is no such field; it has ${names.join(', ') || 'none'}`);
    if (value[key] === undefined) continue; // it stays zero
    if (inner instanceof Map) checkTree(inner, at, value[key], leaf);
    else leaf(inner, at, value[key]);
  }
}

/** checkRow throws if a value does not fit the fields of a row. Numbers out of bounds fit: they are clamped. */
export function checkRow(plan, path, value) {
  if (value === undefined) return; // all is zero
  if (plan.scalar) return void checkField(plan.fields[0] ?? plan.tail[0], path, value);
  plan.names ??= treeOf([...plan.fields, ...plan.tail]);
  checkTree(plan.names, path, value, checkField);
}

function checkField(f, path, v) {
  if (f.tail === 'text') checkText(path, v);
  else if (f.tail) {
    checkList(path, v);
    v.forEach((e, i) => checkRow(f.element, `${path}[${i}]`, e));
  } else if (f.quat) {
    if (v?.length !== 4) wrong(path, v, 'an array of four numbers');
    for (let i = 0; i < 4; i++) checkNumber(`${path}[${i}]`, v[i]);
  } else if (f.entity) {
    if (v !== null && !(Number.isInteger(v.index) && Number.isInteger(v.generation))) wrong(path, v, 'an entity, { index, generation } or null');
  } else if (/^bool/.test(f.kind)) checkBool(path, v);
  else checkNumber(path, v, { big: !/^f/.test(f.kind), whole: /^[iu]64/.test(f.kind) });
}
