/** The servers that every runtime serves for test/runtimes/checks.ts, each at a path of its own. */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { createServer as createModernServer } from 'pannier/modern'
import { requestStateCodec, withJournal } from 'pannier/sdk'
import { bearer, type BearerOptions, createServer, type Server, type ServerOptions } from 'pannier/server'
import * as z from 'zod'

/** What the driver gives each runtime. */
export interface Given {
  readonly keys: string
  readonly issuer: string
  readonly audience: string
  /** The address of the key set. */
  readonly jwks: string
  readonly jwk: JsonWebKey
}

type Fetch = (request: Request) => Promise<Response>

export function checkedServers(given: Given): { readonly both: Server; readonly fetch: Fetch } {
  const { keys, issuer, audience, jwks, jwk } = given
  const both = withTools(createServer({ name: 'checked', version: '1.0.0', keys }))
  const known = (key: Partial<BearerOptions>): Fetch =>
    withTools(
      createModernServer({ name: 'known', version: '1.0.0', keys, principal: bearer({ issuer, audience, ...key }) }),
    ).fetch
  const paths: Record<string, Fetch> = {
    '/mcp': both.fetch,
    // The audience is the name, so a state of one opens at the other.
    '/modern': withTools(createModernServer({ name: 'checked', version: '1.0.0', keys })).fetch,
    '/limited': withTools(limited(keys)).fetch,
    '/sdk': sdkHandler(keys),
    '/key': known({ key: { ...jwk, kty: String(jwk.kty) } }),
    '/key-set': known({ jwks }),
  }
  return {
    both,
    fetch: (request) =>
      paths[new URL(request.url).pathname]?.(request) ?? Promise.resolve(new Response(null, { status: 404 })),
  }
}

function limited(keys: string): Server {
  const limits: ServerOptions['limits'] = { requestsPerMinute: 2, clientAddress: ({ header }) => header('x-address') }
  const server = createServer({ name: 'limited', version: '1.0.0', keys, limits, maxResultBytes: 10_000 })
  return server.use(async (call, next) => ({ ...(await next()), _meta: { round: call.round } }))
}

function withTools(server: Server): Server {
  let [ran, aborted] = [0, 0]
  const booking = z.object({ day: z.string() })
  const people = z.object({ people: z.int().min(1) })
  const sure = z.object({ sure: z.boolean() })
  server.tool('book', { description: 'Asks twice.', input: booking }, async ({ day }, ctx) => {
    const table = await ctx.step('table', () => `table ${day.length}`)
    const { people: guests } = await ctx.ask('people', { message: 'How many?', schema: people })
    const { sure: agreed } = await ctx.ask('sure', { message: `The ${table} for ${guests}?`, schema: sure })
    return agreed ? `${table} for ${guests} on ${day}` : 'nothing'
  })
  const parcel = { type: 'object', properties: { kilos: { type: 'integer', maximum: 30 } }, required: ['kilos'] }
  server.tool('pack', { description: 'Has a JSON Schema.', input: parcel }, async ({ kilos }, ctx) => {
    // Made while a request is served, when some runtimes generate no code.
    const schema = { type: 'object', properties: { zip: { type: 'string', pattern: '^[0-9]{5}$' } }, required: ['zip'] }
    const { zip } = await ctx.ask('zip', { message: 'To which postal code?', schema })
    return `${String(kilos)} kg to ${String(zip)}`
  })
  server.tool(
    'charge',
    { description: 'Runs once.', input: z.object({ order: z.string() }) },
    async ({ order }, ctx) => {
      const paid = await ctx.once('charge', () => ++ran, { id: order })
      return `run ${paid}`
    },
  )
  server.tool('count', { description: 'Reports progress.' }, async (_, ctx) => {
    for (let step = 1; step <= 3; step++) {
      ctx.progress(step, 3)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return 'counted'
  })
  server.tool('wait', { description: 'Works until it is stopped.' }, async (_, ctx) => {
    ctx.signal.addEventListener('abort', () => aborted++)
    ctx.progress(1)
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    return 'stopped'
  })
  server.tool('aborted', { description: 'Counts what was stopped.' }, () => String(aborted))
  server.tool('whoami', { description: 'Names the caller.' }, (_, ctx) => String(ctx.principal?.claims?.['sub']))
  server.tool('touch', { description: 'Changes a resource.' }, () => {
    server.updated('checked://text')
    return 'touched'
  })
  server.tool('large', { description: 'Gives much.' }, () => 'ü'.repeat(20_000))
  server.prompt(
    'greet',
    { description: 'Greets.', input: z.object({ name: z.string() }) },
    ({ name }) => `Hello, ${name}`,
  )
  server.resource('checked://text', { name: 'text', mimeType: 'text/plain' }, () => 'Grüße')
  server.resource('checked://bytes', { name: 'bytes' }, () => Uint8Array.of(0, 255, 128))
  return server
}

function sdkHandler(keys: string): Fetch {
  const state = requestStateCodec({ audience: 'sdk', keys })
  const journaled = withJournal({ state })
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: 'sdk', version: '1.0.0' }, { requestState: { verify: state.verify } })
    const inputSchema = z.object({ env: z.string() })
    server.registerTool(
      'deploy',
      { description: 'Asks.', inputSchema },
      journaled('deploy', async ({ env }, ctx) => {
        const build = await ctx.step('build', () => `build for ${env}`)
        const { sure } = await ctx.ask('sure', {
          message: `Deploy the ${build}?`,
          schema: z.object({ sure: z.boolean() }),
        })
        return sure ? `deployed the ${build}` : 'nothing'
      }),
    )
    return server
  })
  return (request) => fetch(request)
}
