/**
 * `npm run demo -- shedding`: an instance with too many calls gives one away. The client gets a state and no question, and
 * sends the call again, which another instance continues.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { newKey } from 'pannier/state'
import { type Instance, startInstance } from '../../work-items/fleet.ts'
import { headline, instanceName, note, say, showAnswer, showRequest } from '../../work-items/show.ts'
import { type AnswerMessage, post, type RequestMessage, servedBy } from '../../work-items/wire.ts'

const MAX_ROUNDS = 20
const REQUEST_MS = 10_000
const SHOPS = ['the first shop', 'the second shop']

/** What the document says of the two rounds of a call that moves. */
const STEPS = [
  '1, 2. … server instance A. … sends an incomplete response with its accumulated state … but without the inputRequests field.',
  '3, 4. Client retries the request with the requestState field … Server instance B … picking up the computation …',
]

interface Leg {
  readonly request: RequestMessage
  readonly answer: AnswerMessage
  readonly server: string
}

export async function sheddingDemo(): Promise<void> {
  headline('SEP-2322, use case 2, load shedding: a busy instance gives a call away, and another one continues it')
  note(
    'Instance A has room for one call and gets two. The first one that finds it too full at a checkpoint is given away,',
  )
  note('and the other one stays. The client sends on what A gives away.')
  const keys = newKey()
  const start = (name: string, more = {}) => {
    const program = join(import.meta.dirname, 'server.ts')
    return startInstance({ name, program, env: { PANNIER_KEYS: keys, ...more } })
  }
  const [a, b] = await Promise.all([start('A', { MAX_IN_FLIGHT: '1', CALLS: String(SHOPS.length) }), start('B')])
  const begun: Promise<Leg[]>[] = []
  for (const [index, shop] of SHOPS.entries()) {
    const here = says(a, 'here', shop)
    begun.push(runCall([a, b], shop, index + 1))
    await Promise.race([here, ...begun]) // in this order
  }
  const calls = await Promise.all(begun)
  for (const legs of calls) showCall(legs)
  const shed = calls.filter((legs) => legs.length > 1).length
  say()
  say(
    `Shown: A kept ${SHOPS.length - shed} of ${SHOPS.length} calls and gave ${shed} away. Nobody was asked, no step ran twice, and A and B share`,
  )
  say('nothing but a key: the finished steps went from A to B inside the state, with the client.')
  say('Read next: examples/demos/shedding/server.ts (the tool), and docs/how-to/rolling-restarts.md.')
}

/** Resolves when an instance says `{ [what]: value }`. */
async function says({ child }: Instance, what: string, value: string): Promise<void> {
  for (;;) {
    const [message] = (await once(child, 'message')) as [Record<string, unknown>]
    if (message[what] === value) return
  }
}

// #region call
/** The client's side: a result with a state and without questions is sent again at once, here to the other instance. */
async function runCall([first, other]: readonly [Instance, Instance], shop: string, id: number): Promise<Leg[]> {
  const legs: Leg[] = []
  let carried: { requestState?: string } = {}
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const instance = round === 0 ? first : other
    const params = { name: 'compare', arguments: { shop }, ...carried }
    const request = { jsonrpc: '2.0', id: id * 10 + round, method: 'tools/call', params } as const
    const answer = await post(instance.url, request, AbortSignal.timeout(REQUEST_MS))
    legs.push({ request, answer, server: servedBy(answer) ?? instance.name })
    const { result } = answer
    if (result === undefined) throw new Error(`the call was answered with an error: ${answer.error?.message}`)
    if (result.resultType === 'complete') return legs
    carried = result.requestState === undefined ? {} : { requestState: result.requestState }
  }
  throw new Error(`the call was not done after ${MAX_ROUNDS} rounds.`)
}
// #endregion call

function showCall(legs: readonly Leg[]): void {
  say()
  headline(
    `A call in ${legs.length} ${legs.length === 1 ? 'round' : 'rounds'}: ${legs.map(({ server }) => instanceName(server)).join(', then ')}`,
  )
  const words = legs.length === 2 ? STEPS : []
  for (const [index, { request, answer, server }] of legs.entries()) {
    if (words[index] !== undefined) note(words[index])
    showRequest(request)
    showAnswer(answer, server)
  }
}
