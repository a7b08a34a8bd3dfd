/**
 * Two instances of our own server in each configuration: what they declare, what the probe finds with a replica, and what
 * becomes of a call that is asked at one and answered at the other.
 */
import { type Logger, localBus, type ServerOptions } from 'pannier/server'
import { memoryCarryStore, memoryLedger, ephemeralKeyring, newKey } from 'pannier/state'
import { probe, type Verdict } from 'pannier/probe'
import { expect, onTestFinished, test } from 'vitest'
import { post } from '../fixtures/modernClient.ts'
import { type Instance, quiet, startHere } from '../interop/fixtures/instances.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'

interface Configuration {
  /** What both instances have. */
  readonly both?: Partial<ServerOptions>
  /** What each has of its own. */
  readonly each?: () => Partial<ServerOptions>
  /** Instances that find out only after their start that they are elsewhere than they say. */
  readonly isAstray?: boolean
}

interface Pooling {
  /** Whether a call may go to both instances, in the session era and in the one without sessions. */
  readonly legacy: boolean
  readonly modern: boolean
}

const NOBODY = 'http://127.0.0.1:9/mcp'
const YES: Pooling = { legacy: true, modern: true }
const NO: Pooling = { legacy: false, modern: false }

interface Row {
  readonly what: string
  readonly configuration: Configuration
  readonly truth: Pooling
  /** Where it is not the truth. */
  readonly declared?: Pooling
}

const rows: readonly Row[] = [
  { what: 'the same keys', configuration: {}, truth: YES },
  { what: 'the same keys and a bus', configuration: { both: { bus: localBus() } }, truth: YES },
  {
    what: 'the same keys and a store',
    configuration: { both: { store: memoryCarryStore(), ledger: memoryLedger() } },
    truth: YES,
  },
  {
    what: 'a wrong address',
    configuration: { both: { advertise: NOBODY }, isAstray: true },
    truth: { legacy: false, modern: true },
  },
  {
    what: 'a wrong address and a bus',
    configuration: { both: { advertise: NOBODY, bus: localBus() }, isAstray: true },
    truth: YES,
  },
  {
    what: 'a wrong address and a store',
    configuration: { both: { advertise: NOBODY, store: memoryCarryStore(), ledger: memoryLedger() }, isAstray: true },
    truth: { legacy: false, modern: true },
  },
  {
    what: 'no keys, so that each makes its own',
    configuration: { each: () => ({ keys: ephemeralKeyring() }) },
    truth: NO,
  },
  {
    what: 'handlers that keep something between calls',
    configuration: { both: { architecture: 'stateful' } },
    truth: NO,
  },
  // No instance can know the keys of another: here only a probe tells the truth.
  { what: 'different keys', configuration: { each: () => ({ keys: newKey() }) }, truth: NO, declared: YES },
  {
    what: 'different audiences',
    configuration: { each: () => ({ audience: newKey().slice(0, 8) }) },
    truth: NO,
    declared: YES,
  },
]

async function start({ both, each, isAstray }: Configuration): Promise<Instance> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const logger: Logger = { ...quiet, warn: (_, message) => /does not reach itself/.test(message) && resolve() }
  const instance = await startHere({ ...both, ...each?.(), logger })
  onTestFinished(() => instance.close())
  if (isAstray) await promise
  return instance
}

test.each(rows)(
  'instances with $what declare, are found and act alike',
  async ({ configuration, truth, declared = truth }) => {
    const [one, two] = [await start(configuration), await start(configuration)]
    const verdict = await probe(one.url, { replicas: [two.url], call: { name: 'greet' } })
    expect({
      declared: { legacy: await legacyDeclared(one.url), modern: verdict.declared?.session?.poolable },
      found: foundIn(verdict),
      happens: { legacy: await legacyPools(one.url, two.url), modern: await modernPools(one.url, two.url) },
      holds: verdict.evidence.find(({ check }) => check === 'declared')?.details?.['holds'],
    }).toEqual({ declared, found: truth, happens: truth, holds: declared === truth })
  },
)

test('different keys are found without calling a tool, where the server has sessions to take along', async () => {
  const [one, two] = [await start({ each: () => ({ keys: newKey() }) }), await start({})]
  const { evidence } = await probe(one.url, { replicas: [two.url] })
  const [taken, ...others] = evidence.filter(({ check }) => check === 'replica')
  expect(taken).toMatchObject({
    sentence: expect.stringContaining(`The session is not accepted by ${two.url}: it answers`),
    details: { taken: 'session', isAccepted: false, isDeclared: true },
  })
  expect(others).toEqual([])
  expect(evidence.find(({ check }) => check === 'declared')?.sentence).toContain('a replica does not accept')
})

test('where there is nothing to take along, that is said', async () => {
  const [one, two] = [await start({ both: { legacy: false } }), await start({ both: { legacy: false } })]
  const { evidence } = await probe(one.url, { replicas: [two.url] })
  expect(evidence.find(({ check }) => check === 'replica')).toMatchObject({
    sentence: expect.stringContaining('Nothing was taken there that was given out here: name a tool'),
    details: { taken: 'request', isAccepted: true },
  })
})

/** A call is pooled where everything is accepted that was taken from one instance to the other. */
function foundIn({ evidence }: Verdict): Pooling {
  const pieces = evidence.filter(({ check }) => check === 'replica').map(({ details }) => details)
  const accepted = (taken: string): boolean =>
    pieces.some((piece) => piece?.['taken'] === taken) &&
    pieces.every((piece) => piece?.['taken'] !== taken || piece['isAccepted'] === true)
  return { legacy: accepted('session') && accepted('answer'), modern: accepted('request-state') }
}

async function legacyDeclared(url: string): Promise<unknown> {
  const { initialized } = await RawSession.begin(url)
  return (initialized.result as { capabilities: { session: { poolable: boolean } } }).capabilities.session.poolable
}

async function legacyPools(asked: string, answered: string): Promise<boolean> {
  const session = await RawSession.begin(asked, { capabilities: { elicitation: {} } })
  const call = await session.call('greet')
  const question = await call.next()
  session.url = answered
  const { ok } = await session.answer(question, { action: 'accept', content: { name: 'Ann' } })
  if (ok) expect(await call.next()).toMatchObject({ result: { content: [{ text: 'Hello Ann' }] } })
  call.close()
  return ok
}

async function modernPools(asked: string, answered: string): Promise<boolean> {
  const { inputRequests, requestState } = (await post(asked, { params: { name: 'greet' } })).message.result ?? {}
  if (inputRequests === undefined) return false // it does not serve that era
  const [key = ''] = Object.keys(inputRequests)
  const inputResponses = { [key]: { action: 'accept', content: { name: 'Ann' } } }
  const { message } = await post(answered, { params: { name: 'greet', inputResponses, requestState } })
  return message.result?.resultType === 'complete'
}
