/**
 * `npm run soak`: an hour of clients that come and go at one gateway. Once a minute it prints the memory of the gateway, and in
 * the end how the second half rose, in MB a minute; it fails where the heap, after garbage was collected, rose by more than 0.1.
 * `-- --minutes 5 --rate 20` is shorter and harder: 20 visits a second instead of 2. `kill -PROF` with the number of the
 * gateway's process writes a heap snapshot to the folder for temporary files.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import '../../scripts/compileCache.ts'
import bundlePrograms from '../bundle/build.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '2' },
    every: { type: 'string', default: '60' },
  },
})
const MOST_MB_A_MINUTE = 0.1
const MB = 1024 * 1024

interface Sample {
  readonly minute: number
  readonly heapMb: number
  readonly rssMb: number
}

/** The least-squares slope of the second half, in MB a minute. */
function slope(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const half = samples.slice(Math.floor(samples.length / 2))
  const mean = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0) / numbers.length
  const minutes = mean(half.map(({ minute }) => minute))
  const level = mean(half.map(of))
  const rise = half.reduce((sum, each) => sum + (each.minute - minutes) * (of(each) - level), 0)
  return rise / half.reduce((sum, { minute }) => sum + (minute - minutes) ** 2, 0)
}

await bundlePrograms()
// What programs need to start quickly is read when these modules are loaded.
const { SoakFleet } = await import('./fleet.ts')
const { visit } = await import('./visits.ts')

const fleet = await SoakFleet.start()
console.log(`The gateway is process ${fleet.pid}.`)
const over = new AbortController()
const visits = visit(fleet, Number(values.rate), over.signal)
const began = performance.now()
const samples: Sample[] = []
while (performance.now() - began < Number(values.minutes) * 60_000 && !fleet.hasEnded) {
  await sleep(Number(values.every) * 1000)
  const { heapUsed, rss, resources, parked, inFlight, links } = await fleet.vitals()
  const minute = (performance.now() - began) / 60_000
  const handles = Object.values(resources).reduce((sum, count) => sum + count, 0)
  samples.push({ minute, heapMb: heapUsed / MB, rssMb: rss / MB })
  console.log(
    `${minute.toFixed(1)} min: heap ${(heapUsed / MB).toFixed(2)} MB, RSS ${(rss / MB).toFixed(1)} MB, ` +
      `${handles} handles, ${links} links, ${parked} parked, ${inFlight} in flight`,
  )
}
over.abort()
const { good, left, wrong, examples } = await visits
for (const each of examples) console.log(`  ${each}`)
const heapSlope = slope(samples, ({ heapMb }) => heapMb)
const rssSlope = slope(samples, ({ rssMb }) => rssMb)
console.log(`${good} visits went well, ${left} left in the middle, ${wrong} went wrong.`)
console.log(`Second half: heap ${heapSlope.toFixed(3)} MB/min, RSS ${rssSlope.toFixed(3)} MB/min.`)
const isFlat = !fleet.hasEnded && heapSlope <= MOST_MB_A_MINUTE
await fleet.stop()
// Connections of clients that left may be open still.
process.exit(isFlat ? 0 : 1)
