import { newKey } from 'pannier/state'
import { expect, test } from 'vitest'
import { connect } from './fixtures/clients.ts'
import { startSdkHost } from './fixtures/host.ts'

test.each(['modern', 'legacy'] as const)('examples/official-sdk/server.ts asks and deploys (%s)', async (era) => {
  process.env['PANNIER_KEYS'] ??= newKey()
  const { makeServer } = await import('../../examples/official-sdk/server.ts')
  const host = await startSdkHost(makeServer)
  const client = await connect(era, [host], { answer: () => ({ action: 'accept', content: { sure: true } }) })
  const { content } = await client.callTool({ name: 'deploy', arguments: { env: 'prod' } })
  expect(content).toEqual([{ type: 'text', text: 'Deployed the build for prod.' }])
  await client.close()
  await host.close()
})
