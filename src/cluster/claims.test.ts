import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Claim, type Ledger, memoryLedger } from '../state/stores/index.ts'
import { Self, writeInstance } from './instance.ts'
import { Claims } from './claims.ts'

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
  return { ledger, self, errors, logger, generations: new Claims({ self, ledger, ttlSeconds: 60, logger }) }
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
    await generations.end('call', 0, undefined)
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
