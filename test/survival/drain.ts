/** Requests to instances that are stopped (SIGTERM) one after the other, and how many of them had no answer. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type ClientKind, clients, type Send } from './requests.ts'

const answerer = fileURLToPath(new URL('programs/answerer.ts', import.meta.url))
const busy = fileURLToPath(new URL('programs/busy.ts', import.meta.url))

export interface DrainPlan {
  readonly client: ClientKind
  /** At least so many are answered or not. */
  readonly requests: number
  /** At least so many instances are stopped meanwhile. */
  readonly stops: number
  /** How many clients send at the same time. */
  readonly atOnce: number
  /** How many processes compute meanwhile. */
  readonly busyProcesses: number
}

export interface DrainOutcome {
  answered: number
  /** Went to another instance, because nothing listened at the first. */
  refused: number
  /** Had a connection, and no answer. */
  reset: number
  stops: number
  /** Of those without an answer, a few reasons. */
  readonly examples: string[]
}

interface Instance {
  readonly child: ChildProcess
  readonly url: string
}

export async function stopUnderLoad({
  client,
  requests,
  stops,
  atOnce,
  busyProcesses,
}: DrainPlan): Promise<DrainOutcome> {
  const outcome: DrainOutcome = { answered: 0, refused: 0, reset: 0, stops: 0, examples: [] }
  const isOver = (): boolean => outcome.stops >= stops && outcome.answered + outcome.reset >= requests
  const others = Array.from({ length: busyProcesses }, () => start(busy))
  const instances = await Promise.all([startInstance(), startInstance()])
  try {
    const work = Array.from({ length: atOnce }, () => runClient(clients[client](), instances, outcome, isOver))
    while (!isOver()) {
      instances.push(await startInstance())
      await stop(instances[0])
      instances.shift()
      outcome.stops++
    }
    await Promise.all(work)
  } finally {
    for (const child of [...others, ...instances.map((instance) => instance.child)]) child.stdin?.end()
  }
  return outcome
}

/** A client goes through the addresses by turns, those of instances that were told to stop, too. */
async function runClient(
  send: Send,
  instances: readonly Instance[],
  outcome: DrainOutcome,
  isOver: () => boolean,
): Promise<void> {
  for (let turn = 0; !isOver(); turn++) {
    const { url = '' } = instances[turn % instances.length] ?? {}
    const end = await send(url, turn % 2 === 0 ? 0 : 5)
    outcome[end.kind]++
    if (end.kind === 'reset' && outcome.examples.length < 5) outcome.examples.push(end.why)
    if (turn % 5 === 0) await sleep(Math.random() * 20) // so that clients do not move in step
  }
}

function start(program: string): ChildProcess {
  const { PATH = '', NODE_COMPILE_CACHE = '', NODE_OPTIONS = '' } = process.env
  return spawn(process.execPath, ['--conditions=pannier-source', program], {
    env: { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS, PANNIER_LOG_LEVEL: 'silent' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

async function startInstance(): Promise<Instance> {
  const child = start(answerer)
  if (child.stdout) for await (const url of createInterface(child.stdout)) return { child, url }
  throw new Error('An instance ended before it said where it listens.')
}

async function stop(instance: Instance | undefined): Promise<void> {
  if (instance === undefined) return
  const gone = once(instance.child, 'exit')
  instance.child.kill('SIGTERM')
  await gone
}
