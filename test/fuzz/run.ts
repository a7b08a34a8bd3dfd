/**
 * `npm run fuzz`: hostile servers behind a gateway, and hostile clients before it, for a minute. `-- --seed 7 --seconds 300`
 * repeats the choices of a run, for as long.
 */
import { parseArgs } from 'node:util'
import '../../scripts/compileCache.ts'
import bundlePrograms from '../bundle/build.ts'

const { values } = parseArgs({
  options: { seed: { type: 'string' }, seconds: { type: 'string', default: '60' } },
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
await bundlePrograms()
// What programs need to start quickly is read when this module is loaded.
const { fuzz } = await import('./fuzz.ts')

console.log(`seed ${seed}`)
const { violations, sent, calls, slowestMs, worstMs, rssBytes } = await fuzz({
  seed,
  until: { seconds: Number(values.seconds) },
})
console.log(`${sent} requests of hostile clients; ${calls} good calls, the slowest in ${Math.round(slowestMs)} ms`)
console.log(`the event loop stood still for ${Math.round(worstMs)} ms at most; ${Math.round(rssBytes / 2 ** 20)} MB`)
for (const violation of violations) console.log(`violation: ${violation}`)
process.exit(violations.length === 0 ? 0 : 1)
