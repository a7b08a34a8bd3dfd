import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Claim, type Ledger, memoryLedger } from '../../../state/stores/index.ts'
import { Self, writeInstance } from '../../replicas/instance.ts'
import { Participants } from '../streams/participants.ts'
import { Generations } from './generations.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function begin(ledger: Ledger = memoryLedger()) {
  const errors: string[] = []
  const logger = () => ({
    debug() {},
    info() {},
    warn() {},
    error: (_: object, text: string) => void errors.push(text),
  })
  const self = new Self('http://me/mcp')
  return { ledger, self, errors, logger, generations: new Generations({ self, ledger, ttlSeconds: 60, logger }) }
}

describe('a generation of a call', () => {
  test('belongs to who claims it first, and the others are told who that is', async () => {
    const one = begin()
    const two = begin(one.ledger)
    expect(await one.generations.claim('call', 0, 'ann')).toBe('fresh')
    expect(await two.generations.claim('call', 0, 'ann')).toMatchObject({ id: one.self.id, url: one.self.url })
    expect(await two.generations.claim('call', 1, 'ann')).toBe('fresh')
    expect(await two.generations.claim('other', 0, 'ann')).toBe('fresh')
  })

  test('that has ended belongs to nobody', async () => {
    const { generations } = begin()
    generations.end('call', 0, undefined)
    await vi.advanceTimersByTimeAsync(0)
    expect(await generations.claim('call', 0, undefined)).toBe('ended')
  })

  test('is looked for after those whose instances are gone', async () => {
    const [gone, there] = [begin(), begin()]
    const ledger = gone.ledger
    const other = begin(ledger)
    await gone.generations.claim('call', 3, undefined)
    await begin(ledger).generations.claim('later', 3, undefined)
    const dead = new Set([gone.self.id])
    expect(await other.generations.claimAfter('call', 3, dead, undefined)).toBe(4)
    expect(await begin(ledger).generations.claimAfter('call', 3, dead, undefined)).toMatchObject({ id: other.self.id })
    expect(await there.generations.claimAfter('call', 3, dead, undefined)).toBe(3)
  })

  test('that is claimed and not signed yet is looked at again for a second', async () => {
    const claims: Claim[] = []
    const signed = { state: 'done', value: writeInstance(new Self('http://other/mcp')) } as const
    const asked: unknown[] = []
    const ledger = {
      claim: async (...given: unknown[]) => {
        asked.push(given)
        return claims.shift() ?? { state: 'running' }
      },
      settle: async () => {},
    } as unknown as Ledger
    const { generations } = begin(ledger)
    claims.push({ state: 'running' }, { state: 'running' }, signed)
    const found = generations.claim('call', 0, 'ann')
    await vi.advanceTimersByTimeAsync(40)
    expect(await found).toMatchObject({ url: 'http://other/mcp' })
    expect(asked).toEqual(Array.from({ length: 3 }, () => ['push/call/0', 120, 'ann']))
    asked.length = 0
    const never = generations.claim('call', 0, 'ann')
    await vi.advanceTimersByTimeAsync(1019)
    expect(asked).toHaveLength(51)
    await vi.advanceTimersByTimeAsync(1)
    expect([await never, asked.length]).toEqual(['unknown', 51])
    claims.push({ state: 'done', value: 'nonsense' })
    expect(await generations.claim('call', 0, 'ann')).toBe('unknown')
  })

  test('is signed when it is claimed', async () => {
    let isSigned = false
    const ledger = {
      claim: async () => ({ state: 'fresh' }),
      settle: async () => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        isSigned = true
      },
    } as unknown as Ledger
    const claimed = begin(ledger).generations.claim('call', 0, undefined)
    await vi.advanceTimersByTimeAsync(5)
    expect([await claimed, isSigned]).toEqual(['fresh', true])
  })

  test('is unknown while the ledger is away, and the log says so', async () => {
    const { generations, errors } = begin({ claim: () => Promise.reject(new Error('away')) } as unknown as Ledger)
    expect(await generations.claim('call', 0, undefined)).toBe('unknown')
    expect(errors).toEqual(['The ledger could not be asked about a call.'])
  })
})

describe('the participants of a stream', () => {
  const join = async (ledger: Ledger | undefined, stream = 'stream') => {
    const { self, logger } = begin()
    const met: string[] = []
    const peers = { meet: ({ id }: { id: string }) => void met.push(id) }
    const participants = new Participants({ self, ledger, ttlSeconds: 60, logger, peers })
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
