/** What this client finds wrong with a result is its own error, and not one that the server sent. */
import { text } from 'node:stream/consumers'
import { connect } from 'pannier/client'
import { expect, test } from 'vitest'
import { startPannier } from '../cli/fixtures/program.ts'
import { listening } from './fixtures/servers/oldServers.ts'

const tool = (name: string) => ({ name, inputSchema: { type: 'object' }, outputSchema: SUM })
const SUM = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
const CALLS: Readonly<Record<string, object>> = {
  wrong: { result: { content: [], structuredContent: { sum: 'three' } } },
  missing: { result: { content: [] } },
  refused: { error: { code: -32602, message: 'No such thing.' } },
}

/** Its tools do not keep what their output schemas promise. */
function carelessServer(): Promise<string> {
  return listening(async (req, res) => {
    const { id, method, params } = JSON.parse((await text(req)) || '{}') as Record<string, never>
    const answers: Readonly<Record<string, object | undefined>> = {
      initialize: {
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'c', version: '1' } },
      },
      'tools/list': { result: { tools: Object.keys(CALLS).map(tool) } },
      'tools/call': CALLS[(params as { name?: string } | undefined)?.name ?? ''],
    }
    const answer = answers[method ?? '']
    if (answer === undefined) return res.writeHead(id === undefined ? 202 : 404).end()
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
}

test('a result that does not fit its output schema is an error of this side', async () => {
  const client = await connect(await carelessServer())
  await client.listTools()
  const call = (name: string) => client.callTool({ name })
  await expect(call('wrong')).rejects.toMatchObject({ code: 'RESULT_INVALID', message: expect.stringContaining('sum') })
  await expect(call('missing')).rejects.toMatchObject({ code: 'RESULT_INVALID' })
  await expect(call('refused')).rejects.toMatchObject({ code: -32602 })
  await client.close()
})

test('the program does not call it the server’s', async () => {
  const ran = await startPannier(['call', await carelessServer(), 'wrong', '--no-jar']).ended
  expect(ran).toMatchObject({
    status: 4,
    stderr: expect.stringMatching(/^error: The result of the tool "wrong" does not fit its output schema/),
  })
})
