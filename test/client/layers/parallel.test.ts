/** Many calls at once on one client, each in several rounds, and each round at another instance. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { memoryJar } from 'pannier/state'
import { type Asked, compose, echo, echoFetch, jar, rounds, scope } from 'pannier/client'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Instance } from '../../interop/fixtures/instances.ts'
import { amount } from '../../amount.ts'
import { proves } from '../../proves.ts'
import { type AnyClient, callTool, startLayersServer, text } from '../fixtures/clients.ts'

const CALLS = amount(60, 200)
const me = { name: 'layers-test', version: '1' }
let instances: Instance[]

beforeAll(async () => {
  instances = await Promise.all([startLayersServer(), startLayersServer(), startLayersServer()])
})
afterAll(() => instances.forEach((instance) => instance.close()))

/** Each request goes to the next instance. */
function roundRobin() {
  const served = [0, 0, 0]
  let next = 0
  const fetching: typeof fetch = (_, init) => {
    const at = next++ % instances.length
    if (init?.method === 'POST') served[at]!++
    return fetch(instances[at]!.url, init)
  }
  return { served, fetching: fetching as never }
}

/** Answers by what the question says, after a moment that is different each time. */
async function answer({ request }: Asked) {
  const { message } = request.params as { message: string }
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
  const [, which, n, after = ''] = /^(\w+) of (\d+)(?: after (.*))?$/.exec(message)!
  return { action: 'accept', content: { word: `${which}-${n}${after && `(${after})`}` } }
}

async function callAll(client: AnyClient): Promise<void> {
  const numbers = Array.from({ length: CALLS }, (_, n) => n)
  const results = await Promise.all(numbers.map((n) => callTool(client, 'relay', { n })))
  for (const n of numbers) {
    expect(results[n]).toMatchObject(text(`${n}: first-${n}, second-${n}(first-${n})`))
  }
}

const layers = () =>
  compose(
    rounds({ answerers: { form: answer } }),
    scope(),
    jar(memoryJar(), { server: 'layers.example', principal: 'ann', context: 'c' }),
    echo(),
  )

async function prove(connecting: ClientV1 | ClientV2, transport: object, served: readonly number[]): Promise<void> {
  await connecting.connect(layers()(transport) as never)
  await callAll(connecting as unknown as AnyClient)
  for (const count of served) expect(count).toBeGreaterThanOrEqual(CALLS)
  await connecting.close()
}

proves(
  'MRTR-9 MRTR-11',
  'many calls at once of a v1 client, in three rounds at three instances, each get their own answers',
  async () => {
    const { served, fetching } = roundRobin()
    await prove(new ClientV1(me), new HttpV1(new URL(instances[0]!.url), { fetch: echoFetch(fetching) }), served)
  },
)

proves('MRTR-9 MRTR-11', 'so do those of a v2 client', async () => {
  const { served, fetching } = roundRobin()
  const client = new ClientV2(me, { versionNegotiation: { mode: 'auto' } })
  await prove(client, new HttpV2(new URL(instances[0]!.url), { fetch: fetching }), served)
})
