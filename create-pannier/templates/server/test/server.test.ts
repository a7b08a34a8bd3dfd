import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertSound, exercise, testClient } from 'pannier/testing'
import { createMyServer } from '../src/server.ts'

const call = { name: 'delete_branch', arguments: { branch: 'old-idea' } }

for (const [sure, expected] of [
  [true, /^The branch old-idea was deleted at /],
  [false, /^The branch old-idea stays\.$/],
] as const) {
  test(`delete_branch asks first, and the answer is ${sure}`, async () => {
    const client = await testClient(createMyServer(), { answers: { sure: { sure } } })
    const { content } = await client.callTool(call)
    await client.close()
    const [block] = content
    assert.match(block?.type === 'text' ? block.text : '', expected)
  })
}

test('delete_branch works when each round reaches another instance, when messages come twice, and when keys change', async () => {
  const tool = { tool: call.name, arguments: call.arguments }
  assertSound(await exercise(createMyServer, tool, { sure: { sure: true } }))
})
