/** Mistakes of handlers with what their context gives them: seen by the caller or in the log, in both eras. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Declined, type Server, type ToolHandler } from 'pannier/server'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Instance, startHere } from '../interop/fixtures/instances.ts'
import { open } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { ERAS } from './fixtures/bothEras.ts'
import { recordedLog } from './fixtures/recordedLog.ts'

const form = { message: 'Sure?', schema: z.object({ sure: z.boolean() }) }
const yes = { action: 'accept', content: { sure: true } }
const { logger, lines } = recordedLog()

let instance: Instance
/** What tools without an `await` did. */
const done: string[] = []

function offerMistakes(server: Server): void {
  const tool = (name: string, handler: ToolHandler) => server.tool(name, { description: 'Has a mistake.' }, handler)
  tool('late', (_, ctx) => {
    setTimeout(() => {
      ctx.progress(1)
      ctx.log('error', 'too late')
      ctx.hangUp()
      done.push('late')
    })
    return 'returned'
  })
  tool('ask', (_, ctx) => {
    void ctx.ask('sure', form)
    return 'wiped'
  })
  tool('ask_then', async (_, ctx) => {
    void ctx.ask('sure', form).then(() => done.push('wiped'))
    return 'wiped'
  })
  tool('ask_helper', async (_, ctx) => {
    const confirm = async (): Promise<void> => {
      await ctx.ask('sure', form)
      done.push('wiped')
    }
    void confirm()
    return 'wiped'
  })
  tool('ask_answered', async (_, ctx) => {
    void ctx.ask({ sure: form }).then(() => done.push('wiped'))
    await sleep(20)
    await ctx.ask('other', form)
    return 'wiped'
  })
  tool('step', async (_, ctx) => {
    void ctx.step('wipe', () => sleep(1))
    return 'wiped'
  })
  tool('step_ended', async (_, ctx) => {
    void ctx.step('wipe', () => 'gone')
    await sleep(5)
    return 'wiped'
  })
  tool('step_fails', async (_, ctx) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- handlers reject with anything
    void ctx.step('wipe', () => Promise.reject('only a text')).finally(() => {})
    await sleep(5)
    return 'wiped'
  })
  const fails = (reason: unknown) => async (): Promise<never> => {
    throw reason
  }
  tool('failing_helper', async (_, ctx) => {
    const pay = async (): Promise<void> => {
      await ctx.once('pay', fails(new Error('refused')))
    }
    void pay()
    await sleep(5)
    return 'paid'
  })
  tool('failing_helper_at_once', async (_, ctx) => {
    const pay = async (): Promise<void> => {
      await ctx.step('pay', fails(new Error('refused')))
    }
    void pay()
    await ctx.step('other', () => sleep(1))
    return 'paid'
  })
  tool('failing_all', async (_, ctx) => {
    void Promise.all([ctx.step('pay', fails('only a text')), ctx.step('mail', () => 1)])
    await sleep(5)
    return 'paid'
  })
  tool('failing_each', async (_, ctx) => {
    // oxlint-disable-next-line typescript/no-misused-promises -- this is the mistake
    ;['pay'].forEach(async (key) => {
      await ctx.step(key, fails(new Error('refused')))
    })
    await sleep(5)
    return 'paid'
  })
  tool('failing_wrapped', async (_, ctx) => {
    const pay = async (): Promise<void> => {
      try {
        await ctx.step('pay', fails(new Error('refused')))
      } catch (cause) {
        throw new Error('Not paid.', { cause })
      }
    }
    void pay()
    await sleep(5)
    return 'paid'
  })
  tool('failing_any', async (_, ctx) => {
    void Promise.any([ctx.step('pay', fails(new Error('a'))), ctx.step('pay_too', fails(new Error('b')))])
    await sleep(5)
    return 'paid'
  })
  tool('ask_any', async (_, ctx) => {
    void Promise.any([ctx.ask('sure', form), ctx.ask('also', form)])
    await ctx.ask('other', form)
    return 'asked'
  })
  tool('side_branches', async (_, ctx) => {
    const first = ctx.step('a', () => sleep(1))
    void first.then(() => done.push('logged'))
    void first.finally(() => done.push('released')).catch(() => {})
    await first
    return 'done'
  })
  tool('resolvers', (_, ctx) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    ctx
      .step('a', () => 'done')
      .then(resolve)
      .catch(reject)
    return promise
  })
  tool('pool', async (_, ctx) => {
    const running = new Set<Promise<unknown>>()
    const all: Promise<unknown>[] = []
    for (const key of 'abcdef') {
      const step = ctx.step(key, () => sleep(1))
      all.push(step)
      const entry: Promise<unknown> = step.finally(() => running.delete(entry))
      running.add(entry)
      if (running.size >= 2) await Promise.race(running)
    }
    await Promise.all(all)
    return 'done'
  })
  const aborted = (name: string, begin: (signal: AbortSignal) => unknown) =>
    tool(name, async (_, ctx) => {
      void begin(ctx.signal)
      ctx.signal.addEventListener('abort', () => done.push(name))
      ctx.progress(1)
      await sleep(10_000, undefined, { signal: ctx.signal, ref: false })
      return 'done'
    })
  aborted('aborted_promise', (signal) => {
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  })
  aborted('aborted_sleep', (signal) => sleep(10_000, undefined, { signal, ref: false }))
  aborted('failing_listener', (signal) => {
    signal.addEventListener('abort', () => {
      throw new Error('cannot roll back')
    })
  })
  aborted('rejecting_listener', (signal) => {
    const removed = (): void => void done.push('removed')
    signal.addEventListener('abort', removed)
    signal.removeEventListener('abort', removed)
    // oxlint-disable-next-line typescript/no-misused-promises -- this is the mistake
    signal.addEventListener('abort', async () => {
      await Promise.reject(new Error('cannot roll back'))
    })
  })
  tool('checkpoint', async (_, ctx) => {
    void ctx.checkpoint()
    return 'passed'
  })
  tool('all_awaited', async (_, ctx) => {
    const asking = ctx.ask('sure', form).catch((error: unknown) => {
      if (error instanceof Declined) return { sure: false }
      throw error
    })
    const [{ sure }] = await Promise.all([asking, ctx.step('a', () => 1).then(() => 2)])
    return (await ctx.step('b', () => sure)) ? 'yes' : 'no'
  })
}

beforeAll(async () => {
  instance = await startHere({ logger })
  offerMistakes(instance.server)
})
beforeEach(() => {
  lines.length = 0
  done.length = 0
})
afterAll(() => instance.close())

describe.each([
  ['aborted_promise', 'something that its signal aborts'],
  ['aborted_sleep', 'something that its signal aborts'],
  ['failing_listener', 'a listener of its signal'],
  ['rejecting_listener', 'a listener of its signal'],
])('%s: what fails when a signal is aborted, and nobody waits for it,', (name, what) => {
  const isTold = async (): Promise<void> => {
    const line = {
      level: 'error',
      fields: expect.objectContaining({ name }),
      message: expect.stringContaining(`did not wait for ${what}`),
    }
    await expect.poll(() => lines).toContainEqual(line)
  }

  test('ends no process when a client of 2026-07-28 disconnects, and is in the log', async () => {
    const leaving = new AbortController()
    const response = await open(instance.url, { params: { name }, meta: { progressToken: 1 }, signal: leaving.signal })
    await response.body?.getReader().read()
    leaving.abort()
    await expect.poll(() => done).toEqual([name])
    await isTold()
  })

  test('ends no process when a client of 2025-11-25 cancels, and is in the log', async () => {
    const session = await RawSession.begin(instance.url)
    const call = await session.open('tools/call', { name, arguments: {}, _meta: { progressToken: 1 } })
    await call.next()
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    await expect.poll(() => done).toEqual([name])
    await isTold()
  })
})

describe.each(ERAS)('at $revision', (era) => {
  const call = async (name: string, answer: object) => (await era.call(instance.url, name, [answer])).result

  test('progress, log messages and a hang-up after the answer do nothing, and are warned about once', async () => {
    expect(await call('late', yes)).toMatchObject({ content: [{ text: 'returned' }] })
    await expect.poll(() => done).toEqual(['late'])
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('after its call had ended; ctx.progress had no effect'),
      }),
    ])
  })

  test.each(['ask', 'ask_then', 'ask_helper'])(
    '%s: a call whose handler does not wait for its question fails, and nobody is asked for nothing',
    async (name) => {
      const result = await call(name, yes)
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('did not wait for the question "sure" before it returned') }],
      })
      await sleep(20)
      expect(done).toEqual([])
    },
  )

  test('a question that was declined while nobody waited for it does not end in success', async () => {
    expect(await call('ask_answered', { action: 'decline' })).toMatchObject({ isError: true })
    expect(done).toEqual([])
  })

  test.each(['step', 'step_ended'])('%s: a call whose handler does not wait for its step fails', async (name) => {
    expect(await call(name, yes)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('did not wait for the step "wipe"') }],
    })
  })

  test('a step that fails while nobody waits for it is in the log, and the process goes on', async () => {
    expect(await call('step_fails', yes)).toMatchObject({ isError: true })
    expect(lines[0]).toMatchObject({
      level: 'error',
      fields: { err: { type: 'string', message: 'only a text' } },
      message: 'A handler did not wait for the step "wipe", which failed.',
    })
  })

  test.each([
    'failing_helper',
    'failing_helper_at_once',
    'failing_all',
    'failing_each',
    'failing_wrapped',
    'failing_any',
  ])('%s: what fails where nobody handles it fails the call, is in the log, and ends no process', async (name) => {
    expect(await call(name, yes)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('did not wait for the step "pay') }],
    })
    expect(lines).toContainEqual({
      level: 'error',
      fields: expect.anything(),
      message: expect.stringContaining('did not wait for the step "pay'),
    })
  })

  test('questions that nobody waits for end no process when their round ends', async () => {
    expect(await call('ask_any', yes)).toBeDefined()
  })

  test.each(['side_branches', 'resolvers', 'pool'])('%s: code that waits for everything succeeds', async (name) => {
    expect(await call(name, yes)).toMatchObject({ content: [{ text: 'done' }] })
  })

  test('a checkpoint counts as well', async () => {
    expect(await call('checkpoint', yes)).toMatchObject({ isError: true })
  })

  test.each([
    [yes, 'yes'],
    [{ action: 'decline' } as const, 'no'],
  ])('whoever waits in any usual way gets a result: %j', async (answer, text) => {
    expect(await call('all_awaited', answer)).toMatchObject({ content: [{ text }] })
  })
})
