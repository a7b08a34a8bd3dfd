/** A Pannier server in Fastify. Start it with `node --conditions=pannier-source examples/mount/fastify.ts`. */
import { type FastifyInstance, fastify } from 'fastify'
import type { Server } from 'pannier/server'
import { restaurant } from './restaurant.ts'

// #region mount
/**
 * Fastify reads JSON bodies itself, by rules of its own. In a scope of its own this route has no parser, so the handler
 * reads the body, and your other routes keep theirs.
 */
export function mount(app: FastifyInstance, server: Server): void {
  const handle = server.nodeHandler()
  void app.register((scope, _, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, unread) => unread(null))
    scope.all('/mcp', (request, reply) => {
      reply.hijack() // the handler writes the response
      handle(request.raw, reply.raw)
    })
    done()
  })
}
// #endregion mount

// #region parsed
/** Where a hook needs the parsed body first, hand it over. Fastify's parser does not mind a key that comes twice. */
export function mountParsed(app: FastifyInstance, server: Server): void {
  const handle = server.nodeHandler()
  app.all('/mcp', (request, reply) => {
    reply.hijack()
    handle(Object.assign(request.raw, { body: request.body }), reply.raw)
  })
}
// #endregion parsed

if (import.meta.main) {
  const app = fastify()
  app.get('/', () => 'Tables until ten.')
  const server = restaurant()
  mount(app, server)

  const address = await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' })
  console.log(`Listening at ${address}/mcp`)
  // Calls under way end or hand over before the process does.
  process.once('SIGTERM', () => void server.drain().then(() => app.close()))
}
