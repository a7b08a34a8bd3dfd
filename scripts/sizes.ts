/** Prints how large minimal servers for Workers are, and what is in them. `-- --accept` writes the sizes that a test holds. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bundle, bundle, type ProgramName, PROGRAMS } from './sizes/bundles.ts'
import { root } from './repository.ts'

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1).padStart(8)

const bundles = new Map<ProgramName, Bundle>()
for (const name of Object.keys(PROGRAMS) as ProgramName[]) bundles.set(name, await bundle(name))
const sdk = bundles.get('SDK v2, zod')?.gzip ?? NaN

console.log('A minimal server for Workers, in kB (1,000 bytes), beside that of the official SDK\n')
console.log('    gzip  of SDK  minified')
for (const [name, { gzip, minified }] of bundles)
  console.log(`${kilobytes(gzip)}${(gzip / sdk).toFixed(2).padStart(8)}${kilobytes(minified)}    ${name}`)

for (const [name, { parts, imports }] of bundles) {
  console.log(`\n${name}: its parts, each minified alone; ${imports.join(', ') || 'no module of Node'}`)
  const largest = Object.entries(parts).toSorted(([, a], [, b]) => b - a)
  for (const [part, bytes] of largest) console.log(`${kilobytes(bytes)}    ${part}`)
}

if (process.argv.includes('--accept')) {
  const ours = [...bundles].filter(([name]) => name !== 'SDK v2, zod')
  const accepted = Object.fromEntries(ours.map(([name, { gzip, parts }]) => [name, { gzip, parts }]))
  writeFileSync(join(root, 'test/repo/sizes.json'), `${JSON.stringify(accepted, null, 2)}\n`)
}
