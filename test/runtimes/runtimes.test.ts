/** The runtimes that are installed with the repository. `npm run runtimes` checks all of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHECKS } from './checks.ts'
import { type Driver, startDriver } from './driver.ts'
import { bun, lambda, node, type Served, workers } from './places.ts'

const PLACES = [
  node('Node', process.execPath),
  bun,
  workers('Workers with nodejs_compat', '2025-09-15', true),
  workers('Workers without', '2025-09-15', false),
  lambda('buffered'),
  lambda('streaming'),
]

let driver: Driver
const served = new Map<string, Served>()

beforeAll(async () => {
  driver = await startDriver()
  for (const place of PLACES) served.set(place.name, await place.start(driver.given))
})

afterAll(async () => {
  driver?.close()
  for (const place of served.values()) await place.close()
})

describe.each(PLACES)('in $name', ({ name, without }) => {
  const possible = Object.entries(CHECKS).filter(([check]) => without[check] === undefined)

  test.each(possible)('%s', async (_, run) => {
    const { url = () => '' } = served.get(name) ?? {}
    const others = [...served].filter(([other]) => other !== name).map(([, other]) => other.url)
    await run({ url, others, token: driver.token })
  })
})

test('what a runtime cannot do is said of a check that there is', () => {
  for (const { without } of PLACES) expect(Object.keys(CHECKS)).toEqual(expect.arrayContaining(Object.keys(without)))
})
