import { expect, test } from 'vitest'
import type { ResponseMessage } from '../../../protocol/index.ts'
import { createSealer, ephemeralKeyring } from '../../../state/seal/index.ts'
import type { Caller } from '../../call.ts'
import { localBus } from '../../lifecycle/eventBus.ts'
import { legacyPeer } from '../session.ts'
import { PushRelay } from './relay.ts'

const sealer = createSealer({ keyring: ephemeralKeyring(), audience: 'test' })
const peer = { ...legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} }), session: 's' }
const withRole = (role: string): Caller => ({ peer, principal: { id: 'mia', claims: { role } } })
const response: ResponseMessage = {
  kind: 'response',
  id: 'q',
  result: { roots: [] },
  error: undefined,
  state: undefined,
}

test('who asked learns the claims that an answer came with at another instance', async () => {
  const bus = localBus()
  const taken: unknown[] = []
  const take = async (_: string, { result }: ResponseMessage, { principal }: Caller): Promise<boolean> => {
    taken.push([result, principal])
    return true
  }
  new PushRelay({ bus, sealer, callerOf: () => withRole('manager'), take })
  const other = new PushRelay({ bus, sealer, callerOf: () => undefined, take })
  expect(await other.offer('q', response, withRole('clerk'))).toBe(true)
  expect(taken).toEqual([[{ roots: [] }, { id: 'mia', claims: { role: 'clerk' } }]])
})

test('an answer that cannot be taken because a rule throws ends no process', async () => {
  const bus = localBus()
  const take = (): Promise<boolean> => Promise.reject(new Error('a rule'))
  new PushRelay({ bus, sealer, callerOf: () => withRole('manager'), take })
  const other = new PushRelay({ bus, sealer, callerOf: () => undefined, take })
  expect(await other.offer('q', response, withRole('clerk'))).toBe(false)
})
