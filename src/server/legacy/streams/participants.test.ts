import { describe, expect, test } from 'vitest'
import { Self, writeInstance } from '../../../cluster/index.ts'
import { type Ledger, memoryLedger } from '../../../state/stores/index.ts'
import { Participants } from './participants.ts'

describe('the participants of a stream', () => {
  const join = async (ledger: Ledger | undefined, stream = 'stream') => {
    const self = new Self('http://me/mcp')
    const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
    const met: string[] = []
    const members = { meet: ({ id }: { id: string }) => void met.push(id) }
    const participants = new Participants({ self, ledger, ttlSeconds: 60, logger, members })
    await participants.join(stream, 'ann')
    return { self, met, participants }
  }

  test('meet those that came before them, each once', async () => {
    const ledger = memoryLedger()
    const one = await join(ledger)
    const two = await join(ledger)
    const three = await join(ledger)
    expect([one.met, two.met, three.met]).toEqual([[], [one.self.id], [one.self.id, two.self.id]])
    await one.participants.join('stream', 'ann')
    expect(one.met).toEqual([])
    expect((await join(ledger, 'another')).met).toEqual([])
  })

  test('meet nobody without a common ledger', async () => {
    expect((await join(undefined)).met).toEqual([])
  })

  test('are a hundred at most', async () => {
    const other = writeInstance(new Self('http://other/mcp'))
    const ledger = { claim: async () => ({ state: 'done', value: other }) } as unknown as Ledger
    expect((await join(ledger)).met).toHaveLength(100)
  })
})
