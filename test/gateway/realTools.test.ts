/** The catalogue over the tools of more than 200 published servers at once. */
import { expect, test } from 'vitest'
import { readRecordings } from '../../probe-corpus/recordings.ts'
import type { Json } from '../../src/protocol/index.ts'
import { createNames, createToolSearch, savedBytes } from '../../src/gateway/catalog/index.ts'

const servers = readRecordings()
const names = createNames(servers)
// Some servers list a name twice; the first one counts.
const listed = servers.flatMap(({ name: server, tools }) =>
  Array.from(new Map(tools.map((tool) => [String(tool['name']), tool])), ([own, tool]) => {
    const name = names.exposed(server, own)
    const exposed: Json = { ...tool, name }
    return { server, own, name, tool: exposed }
  }),
)

test('every tool has a name of its own that leads back to it, nearly always without a list', () => {
  expect(listed.length).toBeGreaterThan(3000)
  expect(new Set(listed.map(({ name }) => name)).size).toBe(listed.length)
  const unread = listed.filter(({ server, own, name }) => {
    const resolved = names.resolve(name)
    expect(resolved?.server).toBe(server)
    return resolved?.kind !== 'name' || resolved.name !== own
  })
  expect(unread.length / listed.length).toBeLessThan(0.01)
})

test('the three tools take less than a hundredth of the list, and find what a tool says of itself', async () => {
  const tools = listed.map(({ tool }) => tool)
  const { before, after } = savedBytes(tools)
  expect(after).toBeLessThan(before / 100)
  const search = createToolSearch(tools)
  const asked = tools.filter(({ description }, at) => at % 200 === 0 && typeof description === 'string')
  let found = 0
  for (const { name, description } of asked) {
    const query = String(description).split(/[.\n]/, 1)[0]
    const { structuredContent } = await search.find({ query, limit: 5 })
    if (JSON.stringify(structuredContent).includes(`"name":${JSON.stringify(name)}`)) found++
  }
  expect(found / asked.length).toBeGreaterThan(0.9)
})
