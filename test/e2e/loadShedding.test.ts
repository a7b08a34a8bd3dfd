import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, expect } from 'vitest'
import { type AnswerMessage, post, servedBy, withEnvelope } from '../../examples/work-items/wire.ts'
import { proves } from '../proves.ts'
import { root } from '../../scripts/repository.ts'
import { env, type Instance, keys, useInstances } from './fixtures/instances.ts'

const { folder, start } = useInstances()

const program = 'test/e2e/programs/jobs.ts'
const ledger = join(folder, 'steps')
let a: Instance
let b: Instance

beforeAll(async () => {
  writeFileSync(ledger, '')
  // A is busy with two calls under way.
  ;[a, b] = await Promise.all([
    start('A', program, { LEDGER: ledger, MAX_IN_FLIGHT: '1' }),
    start('B', program, { LEDGER: ledger }),
  ])
})

interface Job {
  readonly job: string
  readonly steps: number
  readonly holdAt?: number
}

let id = 0

function compute({ url }: Instance, job: Job, before?: AnswerMessage): Promise<AnswerMessage> {
  const requestState = before?.result?.requestState
  const params = { name: 'compute', arguments: job, ...(requestState && { requestState }) }
  return post(url, { jsonrpc: '2.0', id: ++id, method: 'tools/call', params })
}

/** Waits until the instance says `{ [what]: value }`. */
async function says({ child }: { child: ChildProcess }, what: string, value: string): Promise<void> {
  for (;;) {
    const [message] = (await once(child, 'message')) as [Record<string, string>]
    if (message[what] === value) return
  }
}

/** Who ran each step of a job, in the order they ran. */
function stepsOf(job: string): string[] {
  const lines = readFileSync(ledger, 'utf8').split('\n')
  return lines.filter((line) => line.startsWith(`${job} `)).map((line) => line.slice(job.length + 1))
}

function expectHandedOver({ result }: AnswerMessage): void {
  expect(result).toEqual({
    resultType: 'input_required',
    requestState: expect.any(String),
    _meta: expect.anything(),
  })
}

proves(
  'MRTR-13 MRTR-17',
  'a busy instance hands a call over with a state and no question, and another goes on',
  async () => {
    const waiting = compute(a, { job: 'first', steps: 2, holdAt: 1 })
    await says(a, 'holding', 'first')
    const shed = await compute(a, { job: 'second', steps: 3 })
    expectHandedOver(shed)
    expect(stepsOf('second')).toEqual(['1 A'])

    const done = await compute(b, { job: 'second', steps: 3 }, shed)
    expect(done.result!.content![0]!.text).toBe('second: 6')
    expect(servedBy(done)).toBe('B')
    expect(stepsOf('second')).toEqual(['1 A', '2 B', '3 B'])

    a.child.send({ release: 'first' })
    expect((await waiting).result!.content![0]!.text).toBe('first: 3')
    expect(stepsOf('first')).toEqual(['1 A', '2 A'])
  },
)

proves('MRTR-13', 'a call that comes back to a busy instance moves on by a step each time, so it ends', async () => {
  const waiting = compute(a, { job: 'blocker', steps: 1, holdAt: 1 })
  await says(a, 'holding', 'blocker')
  let answer: AnswerMessage | undefined
  for (let round = 1; round <= 3; round++) {
    answer = await compute(a, { job: 'patient', steps: 3 }, answer)
    expect(stepsOf('patient')).toHaveLength(round)
    expectHandedOver(answer)
  }
  answer = await compute(a, { job: 'patient', steps: 3 }, answer)
  expect(answer.result!.content![0]!.text).toBe('patient: 6')
  a.child.send({ release: 'blocker' })
  await waiting
})

proves(
  'MRTR-13',
  'an instance that gets SIGTERM hands the call under way over at its next checkpoint and ends, and no step is lost or repeated',
  async () => {
    const underWay = compute(a, { job: 'moved', steps: 4, holdAt: 2 })
    await says(a, 'holding', 'moved')
    const draining = says(a, 'draining', 'A')
    const ended = a.end('SIGTERM')
    await draining
    a.child.send({ release: 'moved' })

    const shed = await underWay
    expectHandedOver(shed)
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(stepsOf('moved')).toEqual(['1 A', '2 A'])

    const done = await compute(b, { job: 'moved', steps: 4, holdAt: 2 }, shed)
    expect(done.result!.content![0]!.text).toBe('moved: 10')
    expect(stepsOf('moved')).toEqual(['1 A', '2 A', '3 B', '4 B'])
  },
)

proves(
  'MRTR-13',
  'on standard input and output, too, a call under way at SIGTERM gets its answer before the process ends',
  async () => {
    const child = spawn(process.execPath, ['--conditions=pannier-source', join(root, program)], {
      env: {
        ...env,
        PANNIER_KEYS: keys,
        PANNIER_LOG_LEVEL: 'warn',
        INSTANCE: 'piped',
        LEDGER: ledger,
        HOST: 'stdio',
      },
      stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    })
    const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
    const ended = once(child, 'exit')
    const job = { job: 'piped', steps: 2, holdAt: 1 }
    const request = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'compute', arguments: job },
    } as const
    const holding = says({ child }, 'holding', 'piped')
    child.stdin!.write(`${JSON.stringify(withEnvelope(request))}\n`)
    await holding
    const draining = says({ child }, 'draining', 'piped')
    child.kill('SIGTERM')
    await draining
    child.send({ release: 'piped' })

    const { value } = await lines.next()
    const shed = JSON.parse(value as string) as AnswerMessage
    expectHandedOver(shed)
    expect(await ended).toEqual([0, null])
    const done = await compute(b, job, shed)
    expect(done.result!.content![0]!.text).toBe('piped: 3')
    expect(stepsOf('piped')).toEqual(['1 piped', '2 B'])
  },
)
