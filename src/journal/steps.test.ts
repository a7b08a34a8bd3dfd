import { describe, expect, test } from 'vitest'
import { newJournal } from './journal.ts'
import { RoundLifecycle } from './roundLifecycle.ts'
import { type SingleUse, type StepOptions, Steps } from './steps.ts'

/** Writes down what it is asked, and that a moment later it has done it. */
function recordingLedger(state: 'fresh' | 'running' = 'fresh'): SingleUse & { readonly log: string[] } {
  const log: string[] = []
  const done = async (what: string): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    log.push(what)
  }
  return {
    log,
    claim: async (_, ttlSeconds, holder) => {
      log.push(`claimed for ${ttlSeconds} s by ${holder}`)
      return { state }
    },
    settle: () => done('settled'),
    release: () => done('released'),
  }
}

function stepsOver(ledger: SingleUse, options: Partial<StepOptions> = {}): Steps {
  const lifecycle = new RoundLifecycle(setImmediate, { roundEnded: () => {} })
  const shared = { ledger, scope: () => 'everyone', caller: () => 'ann' }
  return new Steps(newJournal('call'), lifecycle, ledger, { shared, ...options })
}

describe.each(['step', 'once'] as const)('%s', (kind) => {
  test('refuses what is no function, and claims nothing for it', async () => {
    const ledger = recordingLedger()
    const refused = stepsOver(ledger)[kind]('pay', 'not a function' as never)
    await expect(refused).rejects.toThrow(TypeError)
    await expect(refused).rejects.toThrow(`ctx.${kind}(key, fn)`)
    expect(ledger.log).toEqual([])
  })

  test.each(['', 'x'.repeat(257), 7 as never])('refuses the key %j, and does nothing for it', async (key) => {
    const ledger = recordingLedger()
    let times = 0
    await expect(stepsOver(ledger)[kind](key, () => times++)).rejects.toMatchObject({ code: 'KEY_INVALID' })
    expect([times, ledger.log]).toEqual([0, []])
  })

  test('goes on only when its result is in durable storage', async () => {
    const log: string[] = []
    const commit = async (key: string, result: unknown): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      log.push(`${key} ${JSON.stringify(result)}`)
    }
    const steps = stepsOver(recordingLedger(), { commit })
    await steps[kind]('pay', () => 'paid')
    log.push('went on')
    await steps[kind]('nothing', () => undefined)
    expect(log).toEqual(['pay {"value":"paid"}', 'went on', 'nothing {}'])
    expect(steps.gained).toBe(2)
  })
})

describe('a claim of once', () => {
  test('lasts as long as the call says, else as the server says, else two days', async () => {
    const [given, configured, usual] = [recordingLedger(), recordingLedger(), recordingLedger()]
    await stepsOver(given, { claimSeconds: 60 }).once('pay', () => 1, { ttlSeconds: 7 })
    await stepsOver(configured, { claimSeconds: 60 }).once('pay', () => 1)
    await stepsOver(usual).once('pay', () => 1)
    expect([given, configured, usual].map(({ log }) => log[0])).toEqual([
      'claimed for 7 s by ann',
      'claimed for 60 s by ann',
      'claimed for 172800 s by ann',
    ])
  })

  test('is settled before the handler goes on', async () => {
    const ledger = recordingLedger()
    await stepsOver(ledger).once('pay', () => 1)
    expect(ledger.log.at(-1)).toBe('settled')
  })

  test.each([
    ['fresh', 'released'],
    ['running', 'claimed for 172800 s by ann'],
  ] as const)('that is %s, in a run that is over by then, leaves the log at "%s"', async (state, last) => {
    const ledger = recordingLedger(state)
    let asked = 0
    const steps = stepsOver(ledger, { isStopped: () => ++asked > 1 })
    const began: string[] = []
    const late = steps.once('pay', () => began.push('paid'), { retryUnsettled: true })
    await expect(late).rejects.toMatchObject({ code: 'SCOPE_CLOSED' })
    expect([ledger.log.at(-1), began]).toEqual([last, []])
  })

  test('that cannot be given back does not hide why the work failed', async () => {
    const ledger = { ...recordingLedger(), release: () => Promise.reject(new Error('no ledger')) }
    await expect(stepsOver(ledger).once('pay', () => Promise.reject(new Error('declined')))).rejects.toThrow('declined')
  })

  test('with an id is one for all calls of a caller, by key and id, and another without', async () => {
    const claimed: string[] = []
    const ledger: SingleUse = {
      ...recordingLedger(),
      claim: async (id) => {
        claimed.push(id)
        return { state: 'fresh' }
      },
    }
    const claim = async (key: string, id: string | undefined, scope: unknown = 'ann'): Promise<string | undefined> => {
      const shared = { ledger, scope: () => scope, caller: () => undefined }
      await stepsOver(ledger, { shared }).once(key, () => 1, id === undefined ? {} : { id })
      return claimed.pop()
    }
    const one = await claim('pay', 'order 7')
    expect(await claim('pay', 'order 7')).toBe(one)
    const others = [await claim('pay', 'order 8'), await claim('ship', 'order 7'), await claim('pay', 'order 7', 'bob')]
    expect(new Set([one, ...others]).size).toBe(4)
    expect(await claim('pay', undefined)).toBe('call/pay')
    await expect(claim('pay', '')).rejects.toMatchObject({ code: 'KEY_INVALID' })
  })
})
