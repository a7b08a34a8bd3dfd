import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createKeyring, createSealer, newKey } from '../../state/index.ts'
import { INSTANCE_HEADER } from './messenger.ts'
import { Replicas } from './replicas.ts'

const sealer = createSealer({ keyring: createKeyring(newKey()), audience: 'test' })
const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })

test('a stop goes on where the instance that is to take a call dies while it replies', async () => {
  const dying = createServer((_, res) => {
    res.writeHead(200, { [INSTANCE_HEADER]: 'dying', 'content-length': '100' })
    res.write('{')
    setTimeout(() => res.destroy(), 10)
  })
  await new Promise<void>((resolve) => dying.listen(0, '127.0.0.1', resolve))
  const advertise = 'http://127.0.0.1:1/mcp'
  const replicas = new Replicas({
    advertise,
    sealer,
    addresses: undefined,
    bus: undefined,
    ledger: undefined,
    clock: Date.now,
    logger,
  })
  replicas.peers.note({ id: 'dying', url: `http://127.0.0.1:${(dying.address() as AddressInfo).port}/mcp` })
  expect(await replicas.handOver({})).toBeUndefined()
  dying.close()
})
