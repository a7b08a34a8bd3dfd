/**
 * A tool that asks one question after another. Its n-th round has n - 1 answers in its state. The whole call is made
 * once and the request of each round is kept; the server is stateless, so each can then be sent again and timed.
 */
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { z } from 'zod'
import { httpHeaders, MCP_PATH, type Retry, toolCall } from '../../load/messages.ts'
import { serveRequests } from '../ipc.ts'

export interface RoundTiming {
  round: number
  stateLength: number
  micros: number[]
}

const TOOL = 'interview'
const server = createServer({ name: 'bench', version: '1.0.0', keys: newKey() })
const form = z.object({ answer: z.string() })

server.tool(TOOL, { description: 'Asks and asks', input: z.object({ questions: z.number() }) }, async (args, ctx) => {
  for (let index = 1; index <= args.questions; index++) {
    await ctx.ask(`question_${index}`, { message: `Question ${index}?`, schema: form })
  }
  return { content: [{ type: 'text', text: 'Thank you' }] }
})

async function send(body: string): Promise<{ result: Record<string, unknown> }> {
  const url = `http://127.0.0.1${MCP_PATH}`
  const response = await server.fetch(new Request(url, { method: 'POST', headers: httpHeaders(TOOL), body }))
  return response.json() as Promise<{ result: Record<string, unknown> }>
}

/** The requests of all rounds, the first at index 1. */
async function collectRequests(questions: number): Promise<{ body: string; stateLength: number }[]> {
  const requests = [{ body: '', stateLength: 0 }]
  let retry: Retry | undefined
  for (let round = 1; round <= questions; round++) {
    const body = toolCall(round, TOOL, { questions }, retry)
    requests.push({ body, stateLength: retry?.requestState.length ?? 0 })
    const { result, ...rest } = await send(body)
    if (result?.['resultType'] !== 'input_required')
      throw new Error(`Round ${round}: ${JSON.stringify(result ?? rest)}`)
    const content = { answer: `The answer to question ${round}` }
    const inputResponses = { [`question_${round}`]: { action: 'accept' as const, content } }
    retry = { requestState: String(result['requestState']), inputResponses }
  }
  return requests
}

let requests: { body: string; stateLength: number }[] = []

/** Sends the requests of these rounds in turn, until the time is over. */
async function timeRounds(detail: { rounds: number[]; ms: number }): Promise<{ timings: RoundTiming[] }> {
  if (requests.length === 0) requests = await collectRequests(Math.max(...detail.rounds))
  const timings = detail.rounds.map((round) => ({
    round,
    stateLength: requests[round]?.stateLength ?? 0,
    micros: [] as number[],
  }))
  const end = performance.now() + detail.ms
  do {
    for (const timing of timings) timing.micros.push(await batchMicros(requests[timing.round]?.body ?? ''))
  } while (performance.now() < end)
  return { timings }
}

async function batchMicros(body: string): Promise<number> {
  const batch = 10
  const started = performance.now()
  for (let turn = 0; turn < batch; turn++) await send(body)
  return ((performance.now() - started) * 1000) / batch
}

serveRequests({ time: timeRounds })
