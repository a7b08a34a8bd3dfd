/** A Pannier server in Fastify. Start it with `node --conditions=pannier-source examples/mount/fastify.ts`. */
import { type FastifyInstance, fastify } from 'fastify'
import type { Server } from 'pannier/server'
import { restaurant } from './restaurant.ts'

// #region mount
/**
 * Fastify parses JSON bodies itself, by its own rules. This scope has no parser, so the handler reads the body of its
 * route, and your other routes keep Fastify's parser.
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
/** Where a hook needs the parsed body, pass it on. Unlike ours, Fastify's parser accepts a key that comes twice. */
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
  // Calls under way finish, or another instance continues them, before the process ends.
  process.once('SIGTERM', () => void server.drain().then(() => app.close()))
}
