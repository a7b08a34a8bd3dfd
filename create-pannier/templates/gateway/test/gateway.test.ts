import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connect, fixed } from 'pannier/client'
import { createGateway, readGatewayConfig } from 'pannier/gateway'
import { newKey } from 'pannier/state'

process.env['PANNIER_LOG_LEVEL'] = 'error'
process.env['PORT'] = '0' // any free port
const releases = await import('../servers/releases.ts')
process.env['RELEASES_URL'] = releases.url
process.env['BRANCHES_KEYS'] ??= newKey()

const gateway = createGateway(await readGatewayConfig('mcp.json'))
const { url } = await gateway.listen()
const answers = fixed({ sure: { sure: true }, tag: { tag: 'v1.0.0' } })
const client = await connect(url, { answerers: { form: answers } })

after(async () => {
  await client.close()
  await gateway.drain()
  await releases.server.drain()
})

for (const [name, args, expected] of [
  ['branches_delete_branch', { branch: 'old-idea' }, 'The branch old-idea was deleted.'],
  ['releases_release', {}, 'Released v1.0.0.'],
] as const) {
  test(`${name} asks through the gateway`, async () => {
    const { content } = await client.callTool({ name, arguments: args })
    assert.deepEqual(content, [{ type: 'text', text: expected }])
  })
}
