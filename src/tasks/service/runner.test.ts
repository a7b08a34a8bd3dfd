import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { newJournal } from '../../journal/index.ts'
import type { TaskHost, TaskWork } from '../../server/index.ts'
import type { Lease } from '../engine.ts'
import { TaskRunner } from './runner.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function hostThat(run: TaskHost['run']): TaskHost {
  return {
    audience: 'x',
    notices: () => undefined,
    logger: () => silent,
    knowsCallers: false,
    holderOf: () => 'ann',
    assertMayCall() {},
    mayAnswer: () => false,
    write: () => '',
    run,
  }
}

/** A lease that notes how it ended. */
function newLease(): { lease: Lease; abort: AbortController; ends: string[] } {
  const abort = new AbortController()
  const ends: string[] = []
  const lease = {
    id: 'a',
    tool: 'chore',
    args: {},
    caller: {},
    journal: newJournal('call'),
    signal: abort.signal,
    isOver: () => abort.signal.aborted,
    note: async () => {},
    end: async ({ status }: { status: string }) => void ends.push(status),
    giveBack: async () => void ends.push('given back'),
  }
  return { lease: lease as unknown as Lease, abort, ends }
}

/** Runs until its signal is aborted; gives why. */
async function hang({ signal }: TaskWork): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

test('the signal of a run aborts when its lease is lost, with the reason', async () => {
  let heard: unknown
  const runner = new TaskRunner(
    hostThat((work) => hang(work).catch((error: unknown) => ((heard = error), { kind: 'handed-over' }))),
  )
  const { lease, abort, ends } = newLease()
  const running = runner.run(lease)
  abort.abort(new Error('taken'))
  await running
  expect(heard).toEqual(new Error('taken'))
  expect(ends).toEqual([])
})

test('a run whose lease is over by the clock knows it before its signal is aborted, and one that comes too late is not begun', async () => {
  const known: boolean[] = []
  const { lease, abort, ends } = newLease()
  let isOver = false
  const late = { ...lease, isOver: () => isOver }
  const runner = new TaskRunner(
    hostThat(async (work) => {
      isOver = true
      known.push(work.isOver(), work.signal.aborted)
      abort.abort(new Error('taken'))
      return { kind: 'completed', result: {} }
    }),
  )
  await runner.run(late)
  await runner.run(late)
  expect([known, ends]).toEqual([[true, false], []])
})

test('an outcome that a store refuses for another reason than what it holds does not end the task: it is run again', async () => {
  const sentences: string[] = []
  const host = hostThat(async () => ({ kind: 'completed', result: {} }))
  const logger = { ...silent, error: (_: object, sentence: string) => void sentences.push(sentence) }
  const { lease, ends } = newLease()
  const end = async ({ status }: { status: string }) => {
    ends.push(status)
    throw new Error('a mistake of the engine')
  }
  await new TaskRunner({ ...host, logger: () => logger }).run({ ...lease, end })
  expect(ends).toEqual(['completed'])
  expect(sentences).toEqual(['The outcome of a task could not be stored; the task is run again.'])
})

test('giveBackAll aborts every run and gives its task back, and nothing more of it is written', async () => {
  const runner = new TaskRunner(hostThat((work) => hang(work).catch(() => ({ kind: 'completed', result: {} }))))
  const leases = [newLease(), newLease()]
  const running = Promise.all(leases.map(({ lease }) => runner.run(lease)))
  await runner.giveBackAll()
  await running
  expect(leases.map(({ ends }) => ends)).toEqual([['given back'], ['given back']])
})

test('a run that is over leaves nothing in memory, although its handler still listens to the signal', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const signals: WeakRef<AbortSignal>[] = []
  const runner = new TaskRunner(
    hostThat(async ({ signal }) => {
      signal.addEventListener('abort', () => {})
      signals.push(new WeakRef(signal))
      return { kind: 'completed', result: {} }
    }),
  )
  for (let count = 0; count < 10; count++) await runner.run(newLease().lease)
  await turn()
  collect()
  expect(signals.filter((signal) => signal.deref() !== undefined).length).toBeLessThan(2)
})
