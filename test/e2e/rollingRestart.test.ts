import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type AnswerMessage, post, type RequestMessage } from '../../examples/work-items/wire.ts'
import { proves } from '../proves.ts'
import { type Instance, useInstances } from './fixtures/instances.ts'

const { folder, startAll } = useInstances()

const program = 'test/e2e/programs/jobs.ts'
const ledger = join(folder, 'steps')
const STEPS = 5
const CALLERS = 12

/** A plain load balancer: round robin, and the next one where nothing listens. A call that is cut off fails. */
function balancer(instances: readonly Instance[]) {
  let turn = 0
  return async (message: RequestMessage): Promise<AnswerMessage> => {
    for (let tries = 0; tries < 50; tries++) {
      try {
        return await post(instances[turn++ % instances.length]!.url, message)
      } catch (error) {
        const { code } = (error as Error).cause as NodeJS.ErrnoException
        if (code !== 'ECONNREFUSED') throw error
      }
    }
    throw new Error('No instance listens.')
  }
}

proves('MRTR-13', 'a rolling restart of three processes under load loses no call and repeats no step', async () => {
  writeFileSync(ledger, '')
  const env = { LEDGER: ledger }
  const [instances, replacements] = await Promise.all([
    startAll(['A', 'B', 'C'], program, env),
    startAll(['A2', 'B2', 'C2'], program, env),
  ])
  const serving: Instance[] = [...instances]
  const send = balancer(serving)
  const restarted = new AbortController()
  const texts = new Map<string, string | undefined>()
  let handedOver = 0

  async function runJob(job: string): Promise<void> {
    let requestState: string | undefined
    for (let round = 1; round <= 20; round++) {
      const params = {
        name: 'compute',
        arguments: { job, steps: STEPS, stepMs: 10 },
        ...(requestState && { requestState }),
      }
      const { result, error } = await send({ jsonrpc: '2.0', id: round, method: 'tools/call', params })
      if (error !== undefined) throw new Error(error.message)
      if (result?.resultType === 'complete') return void texts.set(job, result.content?.[0]?.text)
      requestState = result?.requestState
      handedOver++
    }
    throw new Error(`${job} did not end.`)
  }

  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    for (let n = 0; !restarted.signal.aborted; n++) await runJob(`${caller}-${n}`)
  })
  const restart = async (): Promise<void> => {
    for (const [index, replacement] of replacements.entries()) {
      expect(await instances[index]!.end('SIGTERM')).toEqual({ code: 0, signal: null })
      serving[index] = replacement
    }
  }
  await Promise.all([restart().finally(() => restarted.abort()), ...callers])

  const sum = (STEPS * (STEPS + 1)) / 2
  for (const [job, text] of texts) expect(text).toBe(`${job}: ${sum}`)
  const steps = readFileSync(ledger, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(0, 2).join(' '))
  const wanted = [...texts.keys()].flatMap((job) => Array.from({ length: STEPS }, (_, index) => `${job} ${index + 1}`))
  expect(steps.toSorted()).toEqual(wanted.toSorted())
  expect(handedOver).toBeGreaterThan(0)
})
