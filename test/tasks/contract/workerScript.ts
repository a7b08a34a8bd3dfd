/**
 * What a worker process does with each task: it commits a step, claims a single use, and keeps the lease until it is
 * lost. Then it tries every kind of write and prints the outcomes. A task with the argument `finish` it ends, one with
 * `workMs` it ends after that time, one with `crash` kills the process, and one with `freeze` suspends it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, TaskEngine } from '../../../src/tasks/engine.ts'

export type WorkerEvent =
  | { readonly event: 'ready' }
  /** It has ended a task. */
  | { readonly event: 'ended'; readonly id: string }
  /** It holds a lease and has committed its step. */
  | { readonly event: 'holds'; readonly id: string }
  /** It was suspended; `isOver` is what its lease said right after that. */
  | { readonly event: 'woken'; readonly isOver: boolean; readonly isAborted: boolean }
  /** Its lease is lost; `codes` are the errors of its writes afterwards. */
  | { readonly event: 'lost'; readonly id: string; readonly codes: readonly unknown[] }

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Opens the engine and works until the process is killed. */
export async function workByScript(engine: TaskEngine, audience: string): Promise<void> {
  await engine.open({ audience, logger: () => silent })
  engine.work({ tools: ['chore'], concurrency: 10, run: hold })
  print({ event: 'ready' })
  // The engine's own timers do not keep a process alive.
  setInterval(() => {}, 60_000)
}

async function hold(lease: Lease): Promise<void> {
  const { id, args, signal } = lease
  if (args['crash'] === true) return void process.kill(process.pid, 'SIGKILL')
  if (typeof args['workMs'] === 'number') await sleep(args['workMs'])
  if (signal.aborted) return
  if (args['finish'] === true) {
    await lease.end({ status: 'completed', result: {} })
    return print({ event: 'ended', id })
  }
  await lease.step('first', { value: process.pid })
  await lease.claim('claimed')
  print({ event: 'holds', id })
  if (args['freeze'] === true) {
    process.kill(process.pid, 'SIGSTOP')
    print({ event: 'woken', isOver: lease.isOver(), isAborted: signal.aborted })
  }
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  print({ event: 'lost', id, codes: await tryAll(lease) })
}

async function tryAll(lease: Lease): Promise<unknown[]> {
  const tries = await Promise.allSettled([
    lease.step('late', {}),
    lease.claim('late'),
    lease.unclaim('claimed'),
    lease.note('late'),
    lease.ask([], 'late'),
    lease.end({ status: 'completed', result: { by: 'the lost worker' } }),
    lease.giveBack(),
  ])
  return tries.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as { code: unknown }).code : 'wrote'))
}

function print(event: WorkerEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
