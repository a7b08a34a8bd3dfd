/** The examples of the guide "Serve where nothing stays", each called twice at two instances. */
import { parse } from 'jsonc-parser'
import { newKey } from 'pannier/state'
import { afterEach, expect, test, vi } from 'vitest'
import { buffered, type LambdaEvent, type LambdaResult } from '../../examples/lambda/adapter.ts'
import { orders } from '../../examples/workers/orders.ts'
import { readText } from '../../scripts/repository.ts'
import { startWorkerd } from '../runtimes/workerd.ts'
import { accept, Caller, type Door } from './fixtures/caller.ts'

const answers = { amount: accept({ amount: 3 }), sure: accept({ sure: true }) }
const keys = newKey()

afterEach(() => {
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.resetModules()
})

async function ordered(doors: Door | readonly Door[], url?: string): Promise<void> {
  const caller = new Caller(doors, url === undefined ? {} : { url })
  const { text, asked } = await caller.call('order', { item: 'plums' }, answers)
  expect([text, asked]).toEqual(['Ordered 3 plums.', [['amount'], ['sure']]])
}

const refused: LambdaEvent = {
  rawPath: '/mcp',
  headers: {},
  requestContext: { domainName: 'server.example', http: { method: 'GET' } },
}

async function eventOf(request: Request): Promise<LambdaEvent> {
  const { pathname, host } = new URL(request.url)
  return {
    rawPath: pathname,
    headers: Object.fromEntries(request.headers),
    body: Buffer.from(await request.text()).toString('base64'),
    isBase64Encoded: true,
    requestContext: { domainName: host, http: { method: request.method } },
  }
}

const responseOf = ({ statusCode, headers, body }: LambdaResult): Response =>
  new Response(body, { status: statusCode, headers })

test('the Worker, without a module of Node', async () => {
  const settings: unknown = parse(readText('examples/workers/wrangler.jsonc'))
  const { main, compatibility_date: date } = settings as { main: string; compatibility_date: string }
  expect(main).toBe('worker.ts')
  const runtime = await startWorkerd({
    entry: 'examples/workers/worker.ts',
    compatibilityDates: [date],
    bindings: { PANNIER_KEYS: keys },
    hasNode: false,
  })
  await ordered(fetch, runtime.urls.get(date))
  expect(runtime.output()).toBe('')
  await runtime.close()
})

test('the Lambda function, which streams', async () => {
  type Write = (event: LambdaEvent, stream: { head?: object; text: string }) => Promise<void>
  vi.stubEnv('PANNIER_KEYS', keys)
  vi.stubGlobal('awslambda', {
    streamifyResponse: (handler: Write) => handler,
    HttpResponseStream: {
      from: (stream: { head?: object; text: string }, head: object) => {
        stream.head = head
        return { write: (chunk: Uint8Array) => (stream.text += Buffer.from(chunk).toString()), end: () => undefined }
      },
    },
  })
  const instance = async (): Promise<Door> => {
    vi.resetModules()
    const { handler } = (await import('../../examples/lambda/function.ts')) as { handler: Write }
    return async (request) => {
      const stream = { head: undefined as unknown as LambdaResult, text: '' }
      await handler(await eventOf(request), stream)
      return responseOf({ ...stream.head, body: stream.text })
    }
  }
  await ordered([await instance(), await instance()])
})

test('the same behind API Gateway, in one piece', async () => {
  const instance = (): Door => {
    const handler = buffered(orders({ keys }).fetch)
    return async (request) => responseOf(await handler(await eventOf(request)))
  }
  await ordered([instance(), instance()])
  expect(await buffered(orders({ keys }).fetch)(refused)).toMatchObject({ statusCode: 405 })
})

test('the route handler of Next.js', async () => {
  vi.stubEnv('PANNIER_KEYS', keys)
  const instance = async (): Promise<Door> => {
    vi.resetModules()
    return (await import('../../examples/next/app/mcp/route.ts')).POST
  }
  await ordered([await instance(), await instance()])
})
