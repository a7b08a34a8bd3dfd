import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readGatewayConfig } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-many-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type EntryOf = (at: number) => readonly [name: string, entry: object]

const url = 'http://127.0.0.1/mcp'

/** How long it takes to read a file with so many servers. */
async function millisecondsFor(count: number, entryOf: EntryOf): Promise<number> {
  const file = join(folder, 'mcp.json')
  const servers = Object.fromEntries(Array.from({ length: count }, (_, at) => entryOf(at)))
  writeFileSync(file, JSON.stringify({ mcpServers: servers }, undefined, 2))
  const start = performance.now()
  const config = await readGatewayConfig(file, {})
  const taken = performance.now() - start
  expect(config.servers).toHaveLength(count)
  return taken
}

// Eight times as many servers would take 64 times as long, if each were compared with all others.
test.each<[string, EntryOf]>([
  ['names without underscores', (at) => [`server${at}`, { url }]],
  ['names with underscores', (at) => [`server_${at % 50}_${at}`, { url }]],
  ['prefixes of their own', (at) => [`server${at}`, { url, pannier: { prefix: `p${at}` } }]],
  ['something that is warned of', (at) => [`server${at}`, { url, cmd: 'node' }]],
])('the time to read a file grows as its servers do, which have %s', async (_, entryOf) => {
  const least = { few: Infinity, many: Infinity }
  for (let time = 0; time < 3; time++) {
    least.few = Math.min(least.few, await millisecondsFor(1500, entryOf))
    least.many = Math.min(least.many, await millisecondsFor(12_000, entryOf))
  }
  expect(least.many / least.few).toBeLessThan(30)
})
