// Writes src/shipped.js from delta/shipped.tables: node make-shipped.mjs
import { readFileSync, writeFileSync } from 'node:fs';
import { parseTables } from './src/tables.js';

const { tables, sum } = parseTables(readFileSync(new URL('../../delta/shipped.tables', import.meta.url), 'utf8'));
const lines = [];
const numbers = new Map();
const out = [];
for (const [name, t] of tables) {
  const contexts = t.lines.map((line) => {
    if (!numbers.has(line)) numbers.set(line, lines.push(line) - 1);
    return numbers.get(line);
  });
  out.push(`${name} ${t.symbols} ${contexts.join(',')}`);
}
writeFileSync(
  new URL('./src/shipped.js', import.meta.url),
  `// The tables that ship with arche-netcode, delta/shipped.tables. Written by make-shipped.mjs.
const lines = ${JSON.stringify(lines.join(' '))}.split(' ');
const tables = new Map();
for (const row of ${JSON.stringify(out.join('|'))}.split('|')) {
  const [name, symbols, contexts] = row.split(' ');
  const of = contexts.split(',').map((i) => lines[i]);
  tables.set(name, { symbols: Number(symbols), lines: of });
}

/** shipped is the set of tables of a protocol that chooses none. */
export const shipped = { tables, sum: ${JSON.stringify(sum)} };
`,
);
