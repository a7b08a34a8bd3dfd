/** A Worker whose `once` claims in the SQLite of a Durable Object, by one request for each statement. */
import { createServer, type Server } from 'pannier/modern'
import { type RunSql, sqlLedger } from 'pannier/state'

interface Env {
  readonly PANNIER_KEYS: string
  readonly Claims: { idFromName(name: string): unknown; get(id: unknown): { fetch: typeof fetch } }
}

interface Storage {
  readonly sql: { exec(statement: string, ...parameters: unknown[]): { toArray(): object[] } }
}

/** Answers statements, as services of SQL over HTTP do. */
export class Claims {
  readonly #storage: Storage

  constructor({ storage }: { readonly storage: Storage }) {
    this.#storage = storage
  }

  async fetch(request: Request): Promise<Response> {
    const { statement, parameters } = (await request.json()) as { statement: string; parameters: unknown[] }
    return Response.json(this.#storage.sql.exec(statement, ...parameters).toArray())
  }
}

let runs = 0

function serverOf(env: Env): Server {
  const object = env.Claims.get(env.Claims.idFromName('claims'))
  const run: RunSql = async (statement, parameters) => {
    const body = JSON.stringify({ statement, parameters })
    return (await (await object.fetch('http://claims/', { method: 'POST', body })).json()) as never
  }
  const server = createServer({ name: 'orders', version: '1.0.0', keys: env.PANNIER_KEYS, ledger: sqlLedger(run) })
  server.tool('order', { description: 'Orders.' }, async (_, ctx) => {
    await ctx.ask('sure', { message: 'Sure?', schema: { type: 'object', properties: { sure: { type: 'boolean' } } } })
    return `Order ${await ctx.once('order', () => ++runs)}`
  })
  return server
}

export default {
  // Each request has a server of its own, as if each came to another instance.
  fetch: async (request: Request, env: Env): Promise<Response> =>
    new URL(request.url).pathname === '/sql'
      ? env.Claims.get(env.Claims.idFromName('contract')).fetch(request)
      : serverOf(env).fetch(request),
}
