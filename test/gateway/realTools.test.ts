/** The catalogue over the tools of more than 200 published servers at once. */
import { expect, test } from 'vitest'
import { readRecordings } from '../../probe-corpus/recordings.ts'
import type { Json } from '../../src/protocol/index.ts'
import { createNames, createToolSearch, savedBytes } from '../../src/gateway/catalog/index.ts'
import { QUESTIONED_SERVERS, TOOL_QUESTIONS, type ToolQuestion } from './fixtures/toolQuestions.ts'

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

test('find_tools has a right tool among the first five for nine questions of ten', async () => {
  const tools = Object.entries(QUESTIONED_SERVERS).flatMap(([server, name]) => {
    const recorded = servers.find((each) => each.name === name)?.tools ?? []
    return recorded.map((tool): Json => ({ ...tool, name: `${server} ${String(tool['name'])}` }))
  })
  expect(tools.length).toBe(1310)
  const search = createToolSearch(tools)
  const isFound = async ([query, ...right]: ToolQuestion): Promise<boolean> => {
    const { structuredContent } = (await search.find({ query, limit: 5 })) as { structuredContent: { tools: Json[] } }
    return structuredContent.tools.some(({ name }) => right.includes(String(name)))
  }
  const found = await Promise.all(TOOL_QUESTIONS.map(isFound))
  const shareOf = (all: readonly boolean[]): number => all.filter(Boolean).length / all.length
  expect(shareOf(found)).toBeGreaterThanOrEqual(0.9)
  // The questions that were not used for tuning.
  expect(shareOf(found.filter((_, at) => at % 2 === 1))).toBeGreaterThanOrEqual(0.9)
})
