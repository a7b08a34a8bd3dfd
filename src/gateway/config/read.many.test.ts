import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readGatewayConfig } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-gateway-many-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type EntryOf = (at: number) => readonly [name: string, entry: object]

const url = 'http://127.0.0.1/mcp'

/** The CPU time of this thread for reading a file with that many servers, in microseconds. */
async function cpuTimeFor(count: number, entryOf: EntryOf): Promise<number> {
  const file = join(folder, 'mcp.json')
  const servers = Object.fromEntries(Array.from({ length: count }, (_, at) => entryOf(at)))
  writeFileSync(file, JSON.stringify({ mcpServers: servers }, undefined, 2))
  const start = process.threadCpuUsage()
  const config = await readGatewayConfig(file, {})
  const { user: taken } = process.threadCpuUsage(start)
  expect(config.servers).toHaveLength(count)
  return taken
}

// A comparison of each server with all others takes ten times as long.
test.each<[string, EntryOf]>([
  ['names without underscores', (at) => [`server${at}`, { url }]],
  ['names with underscores', (at) => [`server_${at % 50}_${at}`, { url }]],
  ['prefixes of their own', (at) => [`server${at}`, { url, pannier: { prefix: `p${at}` } }]],
  ['something that is warned of', (at) => [`server${at}`, { url, cmd: 'node' }]],
])('a file of 12,000 servers is read in less than two seconds of CPU time, which have %s', async (_, entryOf) => {
  expect(await cpuTimeFor(12_000, entryOf)).toBeLessThan(2_000_000)
})
