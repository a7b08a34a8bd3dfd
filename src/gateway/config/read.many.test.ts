/** Reading a file takes steps in proportion to its servers. V8 counts them, so that a busy machine changes nothing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { afterAll, expect, test } from 'vitest'
import { readGatewayConfig } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-many-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type EntryOf = (at: number) => readonly [name: string, entry: object]

const url = 'http://127.0.0.1/mcp'
const SERVERS = 600
/** A step for each pair of servers is taken twice as often, one for each server far less. */
const MOST_STEPS = SERVERS ** 2 / 4

/** How often each block of the sources runs while a file with these servers is read. */
async function stepsFor(entryOf: EntryOf): Promise<readonly (readonly [block: string, steps: number])[]> {
  const file = join(folder, 'mcp.json')
  const servers = Object.fromEntries(Array.from({ length: SERVERS }, (_, at) => entryOf(at)))
  writeFileSync(file, JSON.stringify({ mcpServers: servers }, undefined, 2))
  const session = new Session()
  session.connect()
  // Code that is optimized does not count what is inlined.
  for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag)
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    const config = await readGatewayConfig(file, {})
    const { result } = await session.post('Profiler.takePreciseCoverage')
    expect(config.servers).toHaveLength(SERVERS)
    return result.flatMap(({ url: script, functions }) =>
      functions.flatMap(({ functionName, ranges }) =>
        ranges.map((range) => [`${script} ${functionName} ${range.startOffset}`, range.count] as const),
      ),
    )
  } finally {
    for (const flag of ['--opt', '--maglev']) setFlagsFromString(flag)
    session.disconnect()
  }
}

test.each<[string, EntryOf]>([
  ['names without underscores', (at) => [`server${at}`, { url }]],
  ['names with underscores', (at) => [`server_${at % 50}_${at}`, { url }]],
  ['prefixes of their own', (at) => [`server${at}`, { url, pannier: { prefix: `p${at}` } }]],
  ['something that is warned of', (at) => [`server${at}`, { url, cmd: 'node' }]],
])('a file of many servers is read without comparing each with all others, where they have %s', async (_, entryOf) => {
  const steps = (await stepsFor(entryOf)).filter(([block]) => block.includes('/src/'))
  expect(Math.max(...steps.map(([, count]) => count))).toBeGreaterThan(SERVERS)
  expect(steps.filter(([, count]) => count > MOST_STEPS)).toEqual([])
})
