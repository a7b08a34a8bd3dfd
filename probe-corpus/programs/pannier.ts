/** A server of ours, served as the first argument says. The stateful one counts in its process. */
import { createServer } from 'pannier/server'

const [mode = 'stdio', port = '0'] = process.argv.slice(2)
const isStateful = mode.endsWith('stateful')
let count = 0

const server = createServer({
  name: 'own',
  version: '1.0.0',
  architecture: isStateful ? 'stateful' : 'stateless',
  ...(mode === 'http-modern' && { legacy: false }),
}).tool('hello', { description: 'Says hello.' }, () => (isStateful ? `Hello ${++count}.` : 'Hello.'))

if (mode.startsWith('http')) await server.listen({ port: Number(port) })
else await server.stdio()
