/** Reading a file takes steps in proportion to its servers. V8 counts them, so that a busy machine changes nothing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readGatewayConfig } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-many-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type EntryOf = (at: number) => readonly [name: string, entry: object]

const url = 'http://127.0.0.1/mcp'
const FEW = 300

/** How often each block of the sources runs while a file with that many servers is read. */
async function stepsFor(count: number, entryOf: EntryOf): Promise<ReadonlyMap<string, number>> {
  const file = join(folder, 'mcp.json')
  const servers = Object.fromEntries(Array.from({ length: count }, (_, at) => entryOf(at)))
  writeFileSync(file, JSON.stringify({ mcpServers: servers }, undefined, 2))
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    const config = await readGatewayConfig(file, {})
    const { result } = await session.post('Profiler.takePreciseCoverage')
    expect(config.servers).toHaveLength(count)
    const blocks = result.flatMap(({ url: script, functions }) =>
      functions.flatMap(({ functionName, ranges }) =>
        ranges.map((range) => [`${script} ${functionName} ${range.startOffset}`, range.count] as const),
      ),
    )
    return new Map(blocks.filter(([block]) => block.includes('/src/')))
  } finally {
    session.disconnect()
  }
}

test.each<[string, EntryOf]>([
  ['names without underscores', (at) => [`server${at}`, { url }]],
  ['names with underscores', (at) => [`server_${at % 50}_${at}`, { url }]],
  ['prefixes of their own', (at) => [`server${at}`, { url, pannier: { prefix: `p${at}` } }]],
  ['something that is warned of', (at) => [`server${at}`, { url, cmd: 'node' }]],
])('a file of twice as many servers takes no more than twice the steps, where they have %s', async (_, entryOf) => {
  await stepsFor(FEW, entryOf) // what runs once
  const few = await stepsFor(FEW, entryOf)
  const many = await stepsFor(2 * FEW, entryOf)
  expect(Math.max(...many.values())).toBeGreaterThan(FEW)
  // A comparison of each server with all others runs four times as often. V8 does not count every call of a getter.
  const grown = [...many].filter(([block, steps]) => steps > 10 * FEW && steps > 3 * (few.get(block) ?? Infinity))
  expect(grown).toEqual([])
})
